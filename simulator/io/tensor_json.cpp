#include "simulator/io/tensor_json.h"

#include <simdjson.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "simulator/attention/tensor_recording.h"
#include "simulator/base/utf8.h"
#include "simulator/io/kva_limits.h"

namespace kvplan::io {
namespace {

namespace dom = simdjson::dom;
using attention::LayerTensors;

static_assert(std::endian::native == std::endian::little,
              "expected an uncompressed file: raw files are read in place");

constexpr std::int64_t kMaxLayerBytes = std::int64_t{4} << 30;
constexpr std::int64_t kMostHeads = 1024;
constexpr std::int64_t kMostChannels = 65536;

Result<std::int64_t> whole(dom::object object, std::string_view key, std::int64_t high) {
  dom::element found;
  if (object[key].get(found) != simdjson::SUCCESS) return bad_input("is missing").at_field(key);
  std::int64_t number = 0;
  if (found.get_int64().get(number) != simdjson::SUCCESS || number < 1 || number > high)
    return bad_input("expected a whole number from 1 to " + std::to_string(high)).at_field(key);
  return number;
}

Result<std::string> text_at(dom::object object, std::string_view group, std::string_view key) {
  const std::string field = std::string(group) + "." + std::string(key);
  dom::object inner;
  if (object[group].get_object().get(inner) != simdjson::SUCCESS)
    return bad_input("expected an object").at_field(group);
  std::string_view text;
  const auto error = inner[key].get_string().get(text);
  if (error == simdjson::NO_SUCH_FIELD) return bad_input("is missing").at_field(field);
  if (error != simdjson::SUCCESS || text.empty()) return bad_input("expected a string").at_field(field);
  return std::string(text);
}

std::string digest(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

struct Layout {
  std::int64_t query_heads, kv_heads, channels, tokens;
};

class TensorJsonReader {
 public:
  TensorJsonReader(dom::object object, std::string path, Layout layout, const FileOpener& open)
      : object_(object), path_(std::move(path)), layout_(layout), open_(open) {}

  /// [head][token * channels + channel]
  Result<std::vector<std::vector<float>>> tensor(std::string_view name, std::int64_t heads) const {
    KVPLAN_TRY(const std::string file, text_at(object_, "files", name));
    const std::string at = (std::filesystem::path(path_).parent_path() / file).string();
    KVPLAN_TRY(const auto source, open_(at));
    const std::int64_t numbers = heads * layout_.tokens * layout_.channels;
    if (source->size() != numbers * 4)
      return bad_input("expected " + std::to_string(numbers * 4) + " bytes: " + std::to_string(heads) +
                       " heads x " + std::to_string(layout_.tokens) + " tokens x " +
                       std::to_string(layout_.channels) + " channels x 4, found " +
                       std::to_string(source->size()))
          .at_file(at)
          .at_field("files." + std::string(name));
    std::string bytes(static_cast<std::size_t>(numbers * 4), '\0');
    KVPLAN_TRY_DO(source->read(0, bytes.data(), numbers * 4));
    dom::element given;
    if (object_["fnv"].get(given) == simdjson::SUCCESS) {
      KVPLAN_TRY(const std::string expected, text_at(object_, "fnv", name));
      if (const std::string found = digest(bytes); found != expected)
        return bad_input("expected the digest " + expected + ", found " + found)
            .at_file(at)
            .at_field("fnv." + std::string(name));
    }
    std::vector<std::vector<float>> out;
    const auto of_head = static_cast<std::size_t>(layout_.tokens * layout_.channels);
    for (std::int64_t h = 0; h < heads; ++h) {
      out.emplace_back(of_head);
      const std::size_t begin = static_cast<std::size_t>(h) * of_head;
      std::memcpy(out.back().data(), bytes.data() + begin * 4, of_head * 4);
      for (std::size_t i = 0; i < of_head; ++i)
        if (!std::isfinite(out.back()[i]))
          return bad_input("expected finite numbers")
              .at_file(at)
              .at_byte(static_cast<std::int64_t>((begin + i) * 4))
              .at_field("files." + std::string(name));
    }
    return out;
  }

 private:
  dom::object object_;
  std::string path_;
  Layout layout_;
  const FileOpener& open_;
};

Result<Layout> layout_of(dom::object object) {
  Layout out{};
  KVPLAN_TRY(out.query_heads, whole(object, "query_heads", kMostHeads));
  KVPLAN_TRY(out.kv_heads, whole(object, "kv_heads", kMostHeads));
  KVPLAN_TRY(out.channels, whole(object, "head_dim", kMostChannels));
  KVPLAN_TRY(out.tokens, whole(object, "T", kMaxTokens));
  if (out.query_heads % out.kv_heads != 0)
    return bad_input("expected a divisor of query_heads = " + std::to_string(out.query_heads) + ", found " +
                     std::to_string(out.kv_heads))
        .at_field("kv_heads");
  if ((out.query_heads + 2 * out.kv_heads) * out.tokens * 4 > kMaxLayerBytes / out.channels)
    return bad_input("expected at most 4 GiB of tensors").at_field("T");
  return out;
}

Result<std::shared_ptr<const attention::Recording>> recording_of(dom::object object, const std::string& path,
                                                                 const FileOpener& open) {
  KVPLAN_TRY(const Layout layout, layout_of(object));
  attention::RecordingInfo info;
  info.cache_element_bytes = 2;
  info.element = attention::Element::kF32;
  info.sequences.push_back({.name = "", .tokens = layout.tokens, .prompt_tokens = 0});
  dom::element prompt;
  if (object["prefill_len"].get(prompt) == simdjson::SUCCESS) {
    KVPLAN_TRY(info.sequences.front().prompt_tokens, whole(object, "prefill_len", layout.tokens));
  }
  const TensorJsonReader reader(object, path, layout, open);
  LayerTensors tensors{.tokens = layout.tokens,
                       .query_heads = static_cast<std::int32_t>(layout.query_heads),
                       .kv_heads = static_cast<std::int32_t>(layout.kv_heads),
                       .key_size = static_cast<std::int32_t>(layout.channels),
                       .value_size = static_cast<std::int32_t>(layout.channels),
                       .scale = 1 / std::sqrt(static_cast<double>(layout.channels)),
                       .queries = {},
                       .keys = {},
                       .values = {}};
  KVPLAN_TRY(tensors.queries, reader.tensor("Q", layout.query_heads));
  KVPLAN_TRY(tensors.keys, reader.tensor("K", layout.kv_heads));
  KVPLAN_TRY(tensors.values, reader.tensor("V", layout.kv_heads));
  return std::shared_ptr<const attention::Recording>(
      std::make_shared<attention::TensorRecording>(std::move(info), std::move(tensors)));
}

}  // namespace

bool is_tensor_json(std::string_view text) {
  dom::parser parser;
  dom::object object;
  dom::element files;
  return parser.parse(simdjson::padded_string(without_byte_order_mark(text))).get_object().get(object) ==
             simdjson::SUCCESS &&
         object["files"].get(files) == simdjson::SUCCESS;
}

Result<std::shared_ptr<const attention::Recording>> parse_tensor_json(std::string_view text,
                                                                      const std::string& path) {
  return parse_tensor_json(text, path, open_random_access);
}

Result<std::shared_ptr<const attention::Recording>> parse_tensor_json(std::string_view text,
                                                                      const std::string& path,
                                                                      const FileOpener& open) {
  dom::parser parser;
  dom::object object;
  if (parser.parse(simdjson::padded_string(without_byte_order_mark(text))).get_object().get(object) !=
      simdjson::SUCCESS)
    return bad_input("expected a JSON object").at_file(path);
  auto out = recording_of(object, path, open);
  if (out.ok() || !out.error().file.empty()) return out;
  return std::move(out).error().at_file(path);
}

}  // namespace kvplan::io
