// Mooncake traces: repository kvcache-ai/Mooncake, FAST25-release/README.md. JSON lines; times are milliseconds;
// `hash_ids` are prefix-chained. The block size is not in the file: 512 tokens for the published traces. Names that
// other tools write for the same fields: ai-dynamo/dynamo, lib/data-gen/src/mooncake.rs. With those a row waits for
// the rows that it names (`wait_for`, by `request_id`), else for the row before it in its session, and starts `delay`
// and `tool_wait_ms` after they have ended.
#include <algorithm>
#include <array>
#include <iterator>

#include "traces/import/csv_line.h"
#include "traces/import/importer.h"

namespace kvplan::traces::mooncake {
namespace {

constexpr std::int64_t kPublishedBlock = 512;

/// Fields of Mooncake rows and of the dialects above. A row with any other field is not recognised: Bailian's rows,
/// for example, share four names and count seconds.
constexpr std::array<std::string_view, 22> kFields{
    "timestamp",    "created_time", "input_length",    "input_tokens", "output_length",    "output_tokens",
    "hash_ids",     "delay",        "delay_ms",        "request_id",   "session_id",       "priority",
    "policy_class", "max_tokens",   "strict_priority", "extra",        "output_token_ids", "wait_for",
    "tool_wait_ms", "tool_events",  "branches",        "prefix_reset",
};

bool is_field(const std::string& column) {
  return std::find(kFields.begin(), kFields.end(), column) != kFields.end();
}

bool recognises(const Sniff& sniff) {
  if (sniff.shape != Sniff::Shape::kJsonLines || sniff.kind("hash_ids") != 'a') return false;
  if (sniff.kind("timestamp") != 'n' && sniff.kind("created_time") != 'n') return false;
  if (sniff.kind("input_length") != 'n' && sniff.kind("input_tokens") != 'n') return false;
  return std::all_of(sniff.columns.begin(), sniff.columns.end(), is_field);
}

/// A row with additional fields, or with a number in quotes, may be from another tool, so its unit would be a guess.
std::string nearly(const Sniff& sniff) {
  const auto either = [&](std::string_view a, std::string_view b) { return sniff.has(a) || sniff.has(b); };
  if (sniff.shape != Sniff::Shape::kJsonLines || !sniff.has("hash_ids") ||
      !either("timestamp", "created_time") || !either("input_length", "input_tokens") ||
      !either("output_length", "output_tokens"))
    return {};
  std::vector<std::string> others;
  std::copy_if(sniff.columns.begin(), sniff.columns.end(), std::back_inserter(others),
               [](const std::string& column) { return !is_field(column); });
  const std::string what =
      others.empty() ? "but the first row has other value types in" : "but for " + listed(others);
  return what + "; it reads times as milliseconds and ids as chained";
}

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions& options) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"timestamp", "created_time"}, TimeUnit::kMillis, true};
  map.at(Role::kInput) = {{"input_length", "input_tokens"}, {}, true};
  map.at(Role::kOutput) = {{"output_length", "output_tokens"}, {}, true};
  map.at(Role::kHashes) = {{"hash_ids"}, {}, false};
  map.at(Role::kSession) = {{"session_id"}, {}, false};
  map.at(Role::kMaxTokens) = {{"max_tokens"}, {}, false};
  map.at(Role::kId) = {{"request_id"}, {}, false};
  map.at(Role::kAfter) = {{"wait_for"}, {}, false};
  map.at(Role::kThink) = {{"delay", "delay_ms"}, TimeUnit::kMillis, false};
  map.at(Role::kToolWait) = {{"tool_wait_ms"}, TimeUnit::kMillis, false};
  map.block_tokens = options.block_tokens > 0 ? options.block_tokens : kPublishedBlock;
  return open_json_table(std::move(inputs), std::move(map), "mooncake", {.turns_wait = true});
}

}  // namespace

extern const Importer kMember;
const Importer kMember{.name = "mooncake",
                       .summary = "Mooncake request traces with prefix hashes (JSON lines)",
                       .source = "github.com/kvcache-ai/Mooncake",
                       .recognises = recognises,
                       .open = open,
                       .nearly = nearly};

}  // namespace kvplan::traces::mooncake
