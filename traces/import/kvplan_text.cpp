// The CSV and the JSON lines that `kvplan trace convert` writes: column names include units, so nothing is guessed.
// (Traces with prefix ids become Mooncake's rows: mooncake.cpp.)
#include "traces/import/importer.h"

namespace kvplan::traces::kvplan_text {
namespace {

bool has_own_columns(const Sniff& sniff) {
  return sniff.has("arrival_ns") && sniff.has("input_tokens") && sniff.has("output_tokens");
}

bool recognises_csv(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kCsv && has_own_columns(sniff);
}

bool recognises_json(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kJsonLines && has_own_columns(sniff);
}

ColumnMap own_columns() {
  ColumnMap map;
  map.at(Role::kArrival) = {{"arrival_ns"}, TimeUnit::kNanos, true};
  map.at(Role::kInput) = {{"input_tokens"}, {}, true};
  map.at(Role::kOutput) = {{"output_tokens"}, {}, true};
  map.at(Role::kSession) = {{"session"}, {}, false};
  map.at(Role::kTenant) = {{"tenant"}, {}, false};
  map.at(Role::kMaxTokens) = {{"max_tokens"}, {}, false};
  map.at(Role::kPriority) = {{"priority"}, {}, false};
  map.at(Role::kTtft) = {{"ttft_ns"}, TimeUnit::kNanos, false};
  map.at(Role::kE2e) = {{"e2e_ns"}, TimeUnit::kNanos, false};
  map.at(Role::kThink) = {{"think_ns"}, TimeUnit::kNanos, false};
  map.at(Role::kAfter) = {{"after"}, {}, false};
  return map;
}

Result<std::unique_ptr<TraceStream>> open_csv(Inputs inputs, const ImportOptions&) {
  return open_csv_table(std::move(inputs), own_columns(), "kvplan-csv");
}

Result<std::unique_ptr<TraceStream>> open_json(Inputs inputs, const ImportOptions&) {
  return open_json_table(std::move(inputs), own_columns(), "kvplan-jsonl");
}

}  // namespace

}  // namespace kvplan::traces::kvplan_text

namespace kvplan::traces::kvplan_csv {

using namespace kvplan_text;
extern const Importer kMember;
const Importer kMember{.name = "kvplan-csv",
                       .summary = "the CSV that `kvplan trace convert` writes",
                       .source = "kvplan",
                       .takes_map = false,
                       .recognises = recognises_csv,
                       .open = open_csv};
}  // namespace kvplan::traces::kvplan_csv

namespace kvplan::traces::kvplan_jsonl {

using namespace kvplan_text;
extern const Importer kMember;
const Importer kMember{
    .name = "kvplan-jsonl",
    .summary = "the JSON lines that `kvplan trace convert` writes for a trace without prefix ids",
    .source = "kvplan",
    .takes_map = false,
    .recognises = recognises_json,
    .open = open_json};

}  // namespace kvplan::traces::kvplan_jsonl
