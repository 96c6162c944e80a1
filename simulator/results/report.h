// Results as files: the JSON report, the table of requests, the timeline. Keys and columns are stable
// (proto/report.proto describes each key). Numbers are plain; a missing value is null or empty.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "simulator/base/json_writer.h"
#include "simulator/run/run.h"

namespace kvplan::runs {

/// Writes the resolved scenario as a JSON object that can be used as a scenario file, and the source of each value
/// (members "scenario" and "scenario_origins" of an open object).
void write_scenario(JsonWriter& json, const Scenario& scenario);

/// Writes the reason why an engine cannot start, as an object.
void write_obstacle(JsonWriter& json, const model::Obstacle& obstacle);

/// Writes all members of a report into an open object.
void write_report(JsonWriter& json, const RunSummary& result);
/// The whole report.
std::string report_json(const RunSummary& result);

/// request,arrival_ns,input_tokens,... one line per request in trace order. The columns of held memory are empty
/// unless RunOptions::request_memory was set.
std::string requests_csv(const RunResult& result);
/// One bin of a replica's timeline as files have it: times in nanoseconds; states in bytes, then numbers of requests.
struct BinNumbers {
  std::int64_t begin_ns{0}, end_ns{0};
  std::array<double, observe::kTimelineRows> mean{};
  std::array<std::int64_t, observe::kTimelineRows> least{}, greatest{};
};
BinNumbers bin_numbers(const ReplicaDetails& replica, const observe::TimelineBin& bin);
/// Name of a row: the states, "running", "waiting".
std::string_view timeline_row_name(std::size_t row);

/// replica,begin_ns,end_ns,STATE_mean,STATE_min,STATE_max,...,running_*,waiting_*. REQUIRES: timeline bins
/// were asked for.
std::string timeline_csv(const RunResult& result);

}  // namespace kvplan::runs
