#include "simulator/measured/check_output.h"

#include <utility>

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/report/content.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::measured {
namespace {

std::string value_text(const std::string& name, double value) {
  const bool time = name.starts_with("latency_s.") || name == "makespan_s";
  return time ? report::seconds_text(value) : report::rounded(value);
}

std::string signed_percent(double error) {
  return (error < 0 ? "-" : "+") + report::percent(error < 0 ? -error : error);
}

}  // namespace

std::string check_text(const Check& check, const runs::RunResult& run, std::size_t width) {
  report::Table table{
      .title = "Predicted against measured", .columns = {"predicted", "measured", "error"}, .rows = {}};
  for (const Quantity& quantity : check.quantities) {
    const auto error = quantity.error;
    table.rows.push_back({.label = quantity.name,
                          .cells = {quantity.predicted ? value_text(quantity.name, *quantity.predicted)
                                                       : std::string(report::kNoNumber),
                                    value_text(quantity.name, quantity.measured),
                                    error ? signed_percent(*error) : std::string(report::kNoNumber)}});
  }
  std::string out = report::title_of(run) + "\n\n" + report::table_text(table, width);
  const std::string cause(cause_name(check.cause));
  out += "\n" + report::list_text("Likeliest cause: " + cause, {check.why}, width);
  for (const auto& [title, lines] :
       {std::pair{"Warnings", &check.warnings}, std::pair{"Assumed", &run.assumptions}}) {
    const std::string list = report::list_text(title, *lines, width);
    if (!list.empty()) out += "\n" + list;
  }
  return out;
}

std::string check_json(const Check& check) {
  JsonWriter json;
  json.begin_object().member("version", kVersion).key("quantities").begin_array();
  for (const Quantity& quantity : check.quantities) {
    json.begin_object().member("name", quantity.name).key("predicted").value(quantity.predicted);
    json.member("measured", quantity.measured).key("error").value(quantity.error).end_object();
  }
  json.end_array().key("cause");
  check.cause == Cause::kNone ? json.null() : json.value(cause_name(check.cause));
  json.member("why", check.why).key("warnings").begin_array();
  for (const std::string& warning : check.warnings) json.value(warning);
  json.end_array().end_object();
  return json.take();
}

}  // namespace kvplan::measured
