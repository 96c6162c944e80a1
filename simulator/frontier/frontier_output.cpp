#include "simulator/frontier/frontier_output.h"

#include <algorithm>

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/frontier/page.h"
#include "simulator/report/evict_output.h"
#include "simulator/report/number_text.h"
#include "simulator/report/text.h"

namespace kvplan::frontier {
namespace {

std::string csv_number(const std::optional<double>& value) {
  return value ? shortest(*value) : "";
}

void write_point(JsonWriter& json, const Request& request, const Point& point) {
  const Lane& lane = request.lanes[point.lane];
  const attention::RecordingInfo& info = request.inputs.front().recording->info();
  json.begin_object().member("policy", lane.policy.kind->golden_name);
  report::write_params(json, lane.policy, attention::group_of(lane.policy, info).value());
  const frontier::Storage& storage = request.storages[point.storage];
  json.member("format", storage.golden_name()).member("format_as_given", storage.text);
  json.member("budget", lane.budget);
  if (lane.scheme) json.member("budget_scheme", lane.scheme->choice.to_string());
  json.member("bytes_per_token", point.bytes_per_token);
  json.member("mass_mean", point.mass_mean).member("mass_min", point.mass_min);
  json.member("output_error_mean", point.error_mean).member("output_error_p95", point.error_p95);
  json.member("sequences", point.sequences);
  json.member("metadata_bytes_per_token", point.metadata_bytes_per_token);
  json.member("attended_entries_mean", point.entries_mean).member("attended_entries_max", point.entries_max);
  json.member("oracle_mass_mean", point.oracle_mass_mean);
  json.member("mass_standard_error", point.mass_standard_error);
  json.member("output_error_standard_error", point.error_standard_error);
  json.member("needle_recall", point.needle_recall).member("overlap_mean", point.overlap_mean).end_object();
}

}  // namespace

std::string frontier_json(const Request& request, const Frontier& found) {
  JsonWriter json;
  json.begin_object().key("points").begin_array();
  for (const Point& point : found.points) write_point(json, request, point);
  json.end_array().key("oracle").begin_array();
  for (const OraclePoint& point : found.oracle)
    json.begin_object().member("entries", point.entries).member("mass_mean", point.mass_mean).end_object();
  json.end_array().key("inputs").begin_array();
  for (const frontier::Input& input : request.inputs) json.value(input.name);
  json.end_array();
  if (request.window_storage) json.member("window_format", request.window_storage->text);
  json.member("sequences", found.sequences);
  json.member("full_bytes_per_token", found.full_bytes_per_token).key("assumptions").begin_array();
  for (const std::string& assumption : found.assumptions) json.value(assumption);
  json.end_array().member("version", kVersion).end_object();
  return json.take();
}

std::string frontier_csv(const Request& request, const Frontier& found) {
  std::string out =
      "policy,params,format,budget,bytes_per_token,mass_mean,mass_min,output_error_mean,output_error_p95,"
      "sequences,metadata_bytes_per_token,attended_entries_mean,attended_entries_max,oracle_mass_mean,"
      "mass_standard_error,needle_recall,overlap_mean,output_error_standard_error";
  const bool schemes = std::any_of(request.lanes.begin(), request.lanes.end(),
                                   [](const Lane& lane) { return lane.scheme.has_value(); });
  out += schemes ? ",budget_scheme\n" : "\n";
  for (const Point& point : found.points) {
    const Lane& lane = request.lanes[point.lane];
    const std::string whole = lane.policy.choice.to_string();
    const std::size_t colon = whole.find(':');
    out += std::string(lane.policy.kind->golden_name) + "," +
           report::csv_quoted(colon == std::string::npos ? "" : whole.substr(colon + 1)) + "," +
           report::csv_quoted(request.storages[point.storage].text) + "," +
           (lane.budget ? std::to_string(*lane.budget) : "") + "," + shortest(point.bytes_per_token);
    for (const auto& value : {point.mass_mean, point.mass_min, point.error_mean, point.error_p95})
      out += "," + csv_number(value);
    out +=
        "," + std::to_string(point.sequences) + "," + shortest(point.metadata_bytes_per_token) + "," +
        csv_number(point.entries_mean) + "," + std::to_string(point.entries_max) + "," +
        csv_number(point.oracle_mass_mean) + "," + csv_number(point.mass_standard_error) + "," +
        csv_number(point.needle_recall) + "," + csv_number(point.overlap_mean) + "," +
        csv_number(point.error_standard_error) +
        (schemes ? "," + (lane.scheme ? report::csv_quoted(lane.scheme->choice.to_string()) : std::string())
                 : std::string()) +
        "\n";
  }
  return out;
}

std::string frontier_text(const Request& request, const Frontier& found) {
  constexpr std::size_t kWidth = 120;
  std::string out;
  for (const report::Table& table : frontier::tables(request, found))
    out += (out.empty() ? "" : "\n") + report::table_text(table, kWidth);
  for (const std::string& sentence : frontier::explanations(found)) out += "\n" + sentence;
  return out + "\n";
}

}  // namespace kvplan::frontier
