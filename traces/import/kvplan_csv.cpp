// The CSV that `kvplan trace convert` writes: unit in the name of the column, so nothing is a guess.
#include "traces/import/importer.h"

namespace kvplan::traces {
namespace {

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kCsv && sniff.has("arrival_ns") && sniff.has("input_tokens") &&
         sniff.has("output_tokens");
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions&) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"arrival_ns"}, TimeUnit::kNanos, true};
  map.at(Role::kInput) = {{"input_tokens"}, {}, true};
  map.at(Role::kOutput) = {{"output_tokens"}, {}, true};
  map.at(Role::kSession) = {{"session"}, {}, false};
  map.at(Role::kTenant) = {{"tenant"}, {}, false};
  map.at(Role::kMaxTokens) = {{"max_tokens"}, {}, false};
  map.at(Role::kTtft) = {{"ttft_ns"}, TimeUnit::kNanos, false};
  map.at(Role::kE2e) = {{"e2e_ns"}, TimeUnit::kNanos, false};
  map.at(Role::kThink) = {{"think_ns"}, TimeUnit::kNanos, false};
  map.at(Role::kAfter) = {{"after"}, {}, false};
  return open_csv_table(std::move(inputs), std::move(map), "kvplan-csv");
}

}  // namespace

extern const Importer kKvplanCsv;
const Importer kKvplanCsv{.name = "kvplan-csv",
                          .summary = "the CSV that `kvplan trace convert` writes",
                          .source = "kvplan",
                          .takes_map = false,
                          .recognises = recognises,
                          .open = open};

}  // namespace kvplan::traces
