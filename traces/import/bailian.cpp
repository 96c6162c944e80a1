// Bailian (Qwen): repository alibaba-edu/qwen-bailian-usagetraces-anon, README.md and
// docs/qa-context-growth-pattern.md. JSON lines; seconds; every row is a whole prompt with its history.
//
// An id is the hash of one block's content and can stand behind different prefixes, so ids are chained here, as
// alibaba/tair-kvcache does (kv_cache_manager/optimizer/trace_converter/qwen_bailian_converter.cc). The block size
// is in the file's name only (..._blksz_16.jsonl).
//
// A row names the chat before it (parent_chat_id, -1 = none). A session is a chain or tree of such rows, named by its
// first chat; of a chain that began before the file, by the chat that its first row names. A row waits for the chat
// before it.
#include <optional>
#include <unordered_map>

#include "simulator/base/component.h"
#include "traces/import/json_table.h"

namespace kvplan::traces::bailian {
namespace {

constexpr std::int64_t kPublishedBlock = 16;
constexpr std::int64_t kNoParent = -1;

bool recognises(const Sniff& sniff) {
  return sniff.shape == Sniff::Shape::kJsonLines && sniff.kind("hash_ids") == 'a' &&
         sniff.kind("timestamp") == 'n' && sniff.kind("input_length") == 'n' &&
         sniff.kind("output_length") == 'n' && sniff.kind("chat_id") == 'n' &&
         sniff.kind("parent_chat_id") == 'n';
}

/// The block size in the file's name: 16 for "qwen_traceA_blksz_16.jsonl".
std::int64_t block_in_name(std::string_view path) {
  constexpr std::string_view kMark = "_blksz_";
  const std::size_t mark = path.rfind(kMark);
  if (mark == std::string_view::npos) return kPublishedBlock;
  path.remove_prefix(mark + kMark.size());
  const auto tokens = parse_integer(path.substr(0, path.find_first_not_of("0123456789")));
  return tokens && *tokens >= 1 && *tokens <= (std::int64_t{1} << 20) ? *tokens : kPublishedBlock;
}

class Bailian final : public JsonTable {
 public:
  Bailian(Inputs inputs, ColumnMap map)
      : JsonTable(std::move(inputs), std::move(map), "bailian", {}, OtherKeys::kRead) {
    names_waits_ = true;
  }

 private:
  bool other_value(JsonCursor& json, std::string_view key) override {
    if (key == "chat_id") return read_chat(json, key, 0, chat_);
    if (key == "parent_chat_id") return read_chat(json, key, kNoParent, parent_);
    return json.skip_value();
  }
  bool end_row() override {
    if (!chat_) return fail("chat_id", "expected a whole number, found nothing");
    const std::int64_t parent = parent_.value_or(kNoParent);
    std::int64_t first = *chat_;
    if (parent != kNoParent) {
      const auto known = first_of_.find(parent);
      first = known == first_of_.end() ? parent : known->second;
    }
    if (first_of_.insert_or_assign(*chat_, first).second) row_.id = std::to_string(*chat_);
    if (parent != kNoParent) row_.after_ids = {std::to_string(parent)};
    session_ = std::to_string(first);
    row_.session = session_;
    chat_.reset();
    parent_.reset();
    return true;
  }

  bool read_chat(JsonCursor& json, std::string_view key, std::int64_t least,
                 std::optional<std::int64_t>& chat) {
    std::string_view text;
    if (json.kind() != 'n') return fail(key, "expected a whole number");
    if (!json.number(text)) return false;
    chat = parse_integer(text);
    if (!chat || *chat < least)
      return fail(key,
                  "expected a whole number of at least " + std::to_string(least) + ", found " + shown(text));
    return true;
  }

  std::optional<std::int64_t> chat_, parent_;                // of the row that is being read
  std::unordered_map<std::int64_t, std::int64_t> first_of_;  // by chat
  std::string session_;
};

Result<std::unique_ptr<TraceStream>> open(Inputs inputs, const ImportOptions& options) {
  ColumnMap map;
  map.at(Role::kArrival) = {{"timestamp"}, TimeUnit::kSeconds, true};
  map.at(Role::kInput) = {{"input_length"}, {}, true};
  map.at(Role::kOutput) = {{"output_length"}, {}, true};
  map.at(Role::kHashes) = {{"hash_ids"}, {}, false};
  map.block_tokens = options.block_tokens > 0 ? options.block_tokens : block_in_name(inputs.first->path());
  map.content_ids = true;
  return std::unique_ptr<TraceStream>(std::make_unique<Bailian>(std::move(inputs), std::move(map)));
}

}  // namespace

extern const Importer kMember;
const Importer kMember{
    .name = "bailian",
    .summary =
        "Qwen usage traces of Alibaba Bailian with block hashes, which are chained on import (JSON lines)",
    .source = "github.com/alibaba-edu/qwen-bailian-usagetraces-anon",
    .recognises = recognises,
    .open = open};

}  // namespace kvplan::traces::bailian
