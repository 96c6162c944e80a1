// Sessions of coding agents that AIPerf generates: repository ai-dynamo/aiperf,
// docs/tutorials/agentic-code-generator.md (`aiperf synthesize agentic-code`, "Dataset Format"). Rows look like
// Mooncake's, but lengths are increments: a row's `input_length` and `hash_ids` are those of the tokens that the turn
// adds, and the prompt is everything before it in its session, answers too, and these. The first row of a session has
// `timestamp` (milliseconds) and `group_id`, a later one `delay`, the pause after the answer before it.
//
// Here a prompt gets its whole length, and the ids of its session so far, one after the other. Answers have no ids in
// the file, so that the ids end before the prompt does; the rest of a prompt belongs to its session alone
// (workload.answers names it). A session that continues another one (`is_restart`) begins with its ids.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <unordered_map>

#include "traces/import/json_table.h"

namespace kvplan::traces::aiperf_agentic {
namespace {

constexpr std::int64_t kBlock = 512;  // of AIPerf's bundled configurations; the file does not say it

constexpr std::array<std::string_view, 8> kFields{"session_id", "input_length", "output_length",
                                                  "hash_ids",   "timestamp",    "delay",
                                                  "group_id",   "is_restart"};

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kJsonLines && sniff.kind("session_id") == 's' &&
         sniff.has("group_id") && sniff.kind("hash_ids") == 'a' && sniff.kind("input_length") == 'n' &&
         sniff.kind("output_length") == 'n' &&
         std::all_of(sniff.columns.begin(), sniff.columns.end(), [](const std::string& column) {
           return std::find(kFields.begin(), kFields.end(), column) != kFields.end();
         });
}

class Turns final : public JsonTable {
 public:
  Turns(Inputs inputs, ColumnMap map)
      : JsonTable(std::move(inputs), std::move(map), "aiperf-agentic", {.turns_wait = true},
                  OtherKeys::kRead) {}

 private:
  struct Session {
    std::int64_t begin_ns{0};
    std::int64_t tokens{0};  ///< prompt and answer of the turn before
    std::vector<std::uint64_t> ids{};
  };

  bool end_row() override {
    const auto [place, is_first] = sessions_.try_emplace(std::string(row_.session));
    Session& session = place->second;
    if (is_first) session.begin_ns = row_.arrival_ns;
    row_.arrival_ns = session.begin_ns;  // of a later turn its wait and pause say more
    const std::int64_t prompt = session.tokens + row_.input_tokens;
    session.tokens = prompt + row_.output_tokens;
    if (session.tokens > std::numeric_limits<std::int32_t>::max())
      return fail("input_length", "more than 2147483647 tokens in the turns of a session together");
    row_.input_tokens = static_cast<std::int32_t>(prompt);
    session.ids.insert(session.ids.end(), row_.hashes.begin(), row_.hashes.end());
    const auto most = static_cast<std::size_t>((prompt + map_.block_tokens - 1) / map_.block_tokens);
    row_.hashes.assign(session.ids.begin(),
                       session.ids.begin() + static_cast<std::ptrdiff_t>(std::min(session.ids.size(), most)));
    return true;
  }

  std::unordered_map<std::string, Session> sessions_;
};

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions& options) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"timestamp"}, TimeUnit::kMillis, false};
  map.at(Role::kInput) = {{"input_length"}, {}, true};
  map.at(Role::kOutput) = {{"output_length"}, {}, true};
  map.at(Role::kHashes) = {{"hash_ids"}, {}, false};
  map.at(Role::kSession) = {{"session_id"}, {}, true};
  map.at(Role::kThink) = {{"delay"}, TimeUnit::kMillis, false};
  map.block_tokens = options.block_tokens > 0 ? options.block_tokens : kBlock;
  return std::unique_ptr<TraceStream>(std::make_unique<Turns>(std::move(inputs), std::move(map)));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{
    .name = "aiperf-agentic",
    .summary = "Agent sessions of AIPerf with lengths and ids by increment, which are added up (JSON lines)",
    .source = "github.com/ai-dynamo/aiperf, docs/tutorials/agentic-code-generator.md",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces::aiperf_agentic
