#include "simulator/cli/combinations_output.h"

#include "simulator/base/json_writer.h"
#include "simulator/cli/progress.h"
#include "simulator/report/text.h"
#include "simulator/scenario/combinations.h"

namespace kvplan::cli {
namespace {

std::string_view known_name(runs::Known known) {
  switch (known) {
    case runs::Known::kScenario:
      return "scenario";
    case runs::Known::kModel:
      return "model";
    case runs::Known::kMemory:
      return "memory";
  }
  return {};
}

std::string sentences(const runs::Combination& each) {
  std::string out(runs::together_name(each.together));
  out.append(": ").append(each.reason).append(".");
  if (!each.use.empty()) out.append(" Use ").append(each.use).append(".");
  return out;
}

}  // namespace

std::string combinations_text() {
  report::Table pairs{.title = std::string(kCombinations), .columns = {""}, .rows = {}, .numbers = false};
  for (const runs::Combination& each : runs::combinations())
    pairs.rows.push_back({.label = std::string(runs::part_kind(each.part).name) + " + " +
                                   std::string(runs::part_kind(each.other).name),
                          .cells = {sentences(each)}});
  report::Table parts{.title = "parts", .columns = {""}, .rows = {}, .numbers = false};
  for (const runs::PartKind& kind : runs::part_kinds())
    parts.rows.push_back({.label = std::string(kind.name),
                          .cells = {std::string(kind.path) + ": " + std::string(kind.about)}});
  return report::table_text(pairs, output_width()) + "\n" + report::table_text(parts, output_width()) +
         "\nEvery pair of parts that is not listed works.\n";
}

std::string combinations_json() {
  JsonWriter json;
  json.begin_object().key("combinations").begin_array();
  for (const runs::Combination& each : runs::combinations()) {
    json.begin_object().member("part", runs::part_kind(each.part).name);
    json.member("other", runs::part_kind(each.other).name);
    json.member("result", runs::together_name(each.together)).member("known", known_name(each.known));
    json.member("reason", each.reason).key("use");
    each.use.empty() ? json.null() : json.value(each.use);
    json.end_object();
  }
  json.end_array().key("parts").begin_array();
  for (const runs::PartKind& kind : runs::part_kinds())
    json.begin_object()
        .member("name", kind.name)
        .member("path", kind.path)
        .member("about", kind.about)
        .end_object();
  json.end_array().end_object();
  return json.take();
}

}  // namespace kvplan::cli
