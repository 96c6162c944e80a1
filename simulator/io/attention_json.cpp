#include "simulator/io/attention_json.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "simulator/attention/memory_recording.h"
#include "simulator/base/utf8.h"
#include "simulator/io/kva_limits.h"
#include "simulator/io/kva_reader.h"
#include "simulator/io/row_check.h"
#include "simulator/io/tensor_json.h"
#include "traces/io/input.h"

namespace kvplan::io {
namespace {

namespace od = simdjson::ondemand;
using attention::HeadRows;

constexpr std::int64_t kMaxJsonBytes = std::int64_t{1} << 30;
constexpr std::size_t kMaxUnpackedBytes = std::size_t{256} << 20;
constexpr std::int32_t kAssumedSize = 128;
constexpr std::int32_t kAssumedElementBytes = 2;

std::string at_index(const std::string& field, std::size_t i) {
  return field + "[" + std::to_string(i) + "]";
}

/// Parses the document; errors get their line from the parser's position.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(without_byte_order_mark(text)), padded_(text_) {}

  Result<std::shared_ptr<const attention::Recording>> parse() {
    if (parser_.iterate(padded_).get(document_) != simdjson::SUCCESS) return bad_input("expected JSON");
    od::object object;
    if (document_.get_object().get(object) != simdjson::SUCCESS) return wrong("", "expected a JSON object");
    for (auto item : object) {
      od::field field;
      if (std::move(item).get(field) != simdjson::SUCCESS) return wrong("", "broken JSON");
      std::string_view key;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return wrong("", "broken JSON");
      KVPLAN_TRY_DO(member(std::string(key), field.value()));
    }
    const char* rest = nullptr;
    if (document_.current_location().get(rest) == simdjson::SUCCESS)
      return wrong("", "expected nothing after the object");
    return finish();
  }

 private:
  Error wrong(const std::string& field, std::string message) {
    const char* at = nullptr;
    Error error = bad_input(std::move(message)).at_field(field);
    if (document_.current_location().get(at) != simdjson::SUCCESS) return error;
    const auto offset = std::min(static_cast<std::size_t>(at - padded_.data()), text_.size());
    const auto lines = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    return std::move(error).at_line(1 + lines);
  }

  Status member(const std::string& key, od::value value) {
    if (key == "query_heads") return whole(key, value, 1, 1024, query_heads_);
    if (key == "kv_heads") return whole(key, value, 1, 1024, kv_heads_);
    if (key == "T") return whole(key, value, 1, kMaxTokens, tokens_);
    if (key == "rows") return rows(value);
    // Skipped unread.
    return Done{};
  }

  Status whole(const std::string& key, od::value value, std::int64_t low, std::int64_t high,
               std::optional<std::int64_t>& to) {
    std::int64_t number = 0;
    if (to) return wrong(key, "given twice");
    if (value.get_int64().get(number) != simdjson::SUCCESS || number < low || number > high)
      return wrong(key,
                   "expected a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    to = number;
    return Done{};
  }

  Status rows(od::value value) {
    if (!heads_.empty()) return wrong("rows", "given twice");
    od::array heads;
    if (value.get_array().get(heads) != simdjson::SUCCESS)
      return wrong("rows", "expected an array with one entry per head");
    for (auto item : heads) {
      const std::string field = at_index("rows", heads_.size());
      od::array head;
      if (item.get_array().get(head) != simdjson::SUCCESS)
        return wrong(field, "expected an array with one entry per row");
      heads_.emplace_back();
      std::size_t t = 0;
      for (auto row : head) {
        od::array weights;
        if (row.get_array().get(weights) != simdjson::SUCCESS)
          return wrong(at_index(field, t), "expected an array of weights");
        KVPLAN_TRY_DO(one_row(field, t, weights, heads_.back().f64));
        ++t;
      }
      lengths_.push_back(static_cast<std::int64_t>(t));
    }
    return Done{};
  }

  Status one_row(const std::string& head, std::size_t t, od::array weights, std::vector<double>& to) {
    const std::size_t begin = to.size();
    for (auto item : weights) {
      double weight = 0;
      if (item.get_double().get(weight) != simdjson::SUCCESS)
        return wrong(at_index(at_index(head, t), to.size() - begin), "expected a number");
      if (to.size() - begin <= t + 1) to.push_back(weight);
    }
    const std::size_t found = to.size() - begin;
    if (found != t + 1)
      return wrong(at_index(head, t), "expected " + std::to_string(t + 1) + " weights, found " +
                                          (found > t + 1 ? "more" : std::to_string(found)));
    auto status = check_row(std::span<const double>(to).subspan(begin), static_cast<std::int64_t>(t));
    if (!status.ok()) return wrong(at_index(head, t), status.error().message);
    return Done{};
  }

  Result<std::shared_ptr<const attention::Recording>> finish() {
    const auto missing = [](std::string_view key) { return bad_input("is missing").at_field(key); };
    if (!query_heads_) return missing("query_heads");
    if (!tokens_) return missing("T");
    if (heads_.empty()) return missing("rows");
    const std::int64_t kv_heads = kv_heads_.value_or(*query_heads_);
    if (static_cast<std::int64_t>(heads_.size()) != *query_heads_)
      return bad_input("expected " + std::to_string(*query_heads_) + " heads, as query_heads says; found " +
                       std::to_string(heads_.size()))
          .at_field("rows");
    if (*query_heads_ % kv_heads != 0)
      return bad_input("expected a divisor of query_heads = " + std::to_string(*query_heads_) + ", found " +
                       std::to_string(kv_heads))
          .at_field("kv_heads");
    for (std::size_t h = 0; h < heads_.size(); ++h)
      if (lengths_[h] != *tokens_)
        return bad_input("expected " + std::to_string(*tokens_) + " rows, as T says; found " +
                         std::to_string(lengths_[h]))
            .at_field(at_index("rows", h));
    attention::RecordingInfo info;
    info.query_heads = static_cast<std::int32_t>(*query_heads_);
    info.kv_heads = static_cast<std::int32_t>(kv_heads);
    info.key_size = kAssumedSize;
    info.value_size = kAssumedSize;
    info.cache_element_bytes = kAssumedElementBytes;
    info.sizes_assumed = true;
    info.sequences.push_back({.name = "", .tokens = *tokens_, .prompt_tokens = 0});
    return std::shared_ptr<const attention::Recording>(
        std::make_shared<attention::MemoryRecording>(std::move(info), std::move(heads_)));
  }

  std::string_view text_;
  simdjson::padded_string padded_;
  od::parser parser_;
  od::document document_;
  std::optional<std::int64_t> query_heads_;
  std::optional<std::int64_t> kv_heads_;
  std::optional<std::int64_t> tokens_;
  std::vector<HeadRows> heads_;
  std::vector<std::int64_t> lengths_;
};

/// Checks for the first bytes of gzip and zstd.
Result<bool> is_packed(const RandomAccess& file) {
  std::array<char, 4> bytes{};
  KVPLAN_TRY_DO(file.read(0, bytes.data(), std::min<std::int64_t>(file.size(), 4)));
  const std::string_view start(bytes.data(), bytes.size());
  return start == "\x28\xB5\x2F\xFD" || start.substr(0, 2) == "\x1F\x8B";
}

/// A compressed file in memory: recordings are read in any order.
Result<std::string> unpacked(const std::string& path) {
  KVPLAN_TRY(const std::unique_ptr<traces::ByteSource> source, traces::open_bytes(path));
  constexpr std::size_t kPortion = std::size_t{1} << 20;
  std::string bytes;
  for (std::size_t used = 0;;) {
    if (used > kMaxUnpackedBytes)
      return bad_input(
                 "a compressed recording may have at most 256 MiB after decompression: decompress this one "
                 "first")
          .at_file(path);
    bytes.resize(used + kPortion);
    KVPLAN_TRY(const std::size_t got, source->read(bytes.data() + used, kPortion));
    used += got;
    if (got > 0) continue;
    bytes.resize(used);
    return bytes;
  }
}

Result<std::shared_ptr<const RandomAccess>> open_unpacked(const std::string& path) {
  KVPLAN_TRY(auto file, open_random_access(path));
  KVPLAN_TRY(const bool packed, is_packed(*file));
  if (!packed) return file;
  KVPLAN_TRY(std::string bytes, unpacked(path));
  return random_access_of(std::move(bytes), path);
}

}  // namespace

Result<std::shared_ptr<const attention::Recording>> parse_attention_json(std::string_view text,
                                                                         const std::string& name) {
  if (static_cast<std::int64_t>(text.size()) > kMaxJsonBytes)
    return bad_input("a JSON input may have at most 1 GiB: store longer recordings as .kva").at_file(name);
  auto parsed = Parser(text).parse();
  if (!parsed.ok()) return std::move(parsed).error().at_file(name);
  return parsed;
}

Result<std::shared_ptr<const attention::Recording>> open_attention(const std::string& path) {
  KVPLAN_TRY(auto file, open_unpacked(path));
  std::string start(static_cast<std::size_t>(std::min<std::int64_t>(file->size(), 64)), '\0');
  KVPLAN_TRY_DO(file->read(0, start.data(), static_cast<std::int64_t>(start.size())));
  const std::string_view begin = without_byte_order_mark(start);
  const std::size_t text = begin.find_first_not_of(" \t\r\n");
  const bool json = text != std::string_view::npos && begin[text] == '{';
  if (!json) {
    if (!start.empty() && start.substr(0, 4) != kKvaMagic.substr(0, 4))
      return bad_input("expected a .kva file or attention rows as JSON").at_file(path);
    return open_kva(std::move(file));
  }
  if (file->size() > kMaxJsonBytes)
    return bad_input("a JSON input may have at most 1 GiB: store longer recordings as .kva").at_file(path);
  std::string all(static_cast<std::size_t>(file->size()), '\0');
  KVPLAN_TRY_DO(file->read(0, all.data(), file->size()));
  // The JSON that names raw files is small.
  if (file->size() <= kMaxTensorJsonBytes && is_tensor_json(all)) return parse_tensor_json(all, path);
  return parse_attention_json(all, path);
}

}  // namespace kvplan::io
