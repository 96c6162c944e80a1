#include "simulator/io/kva_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "simulator/attention/tensor_rows.h"
#include "simulator/io/kva_limits.h"
#include "simulator/io/number_formats.h"
#include "simulator/io/row_check.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::RecordedForm;

template <class T>
T load_raw(const char* from) {
  T value{};
  std::memcpy(&value, from, sizeof(T));
  return value;
}

float load_float(const char* from, Element element) {
  if (element == Element::kF32) return load_raw<float>(from);
  const auto bits = load_raw<std::uint16_t>(from);
  return element == Element::kF16 ? float_from_f16(bits) : float_from_bf16(bits);
}

double load_number(const char* from, Element element) {
  return element == Element::kF64 ? load_raw<double>(from) : static_cast<double>(load_float(from, element));
}

Error too_large(const LayerPlan& plan, std::int64_t bytes) {
  return bad_input("reading one layer would take " + std::to_string(bytes) + " bytes of memory, at most " +
                   std::to_string(plan.max_bytes) + " are allowed")
      .at_file(plan.source.file->name());
}

/// The rows of one chunk, ready to be read.
struct DecodedRows {
  std::int64_t first{0};
  std::int64_t count{0};
  std::vector<double> f64;          ///< dense rows of f64
  std::vector<float> f32;           ///< dense rows of f32 and f16
  std::string raw;                  ///< top entries, as stored
  std::vector<std::int64_t> begin;  ///< top entries: where each row begins in raw
  std::vector<double> spread;       ///< top entries: the current row made dense
  [[nodiscard]] bool holds(std::int64_t t) const { return t >= first && t < first + count; }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(8 * (f64.size() + begin.size() + spread.size()) + 4 * f32.size() +
                                     raw.size());
  }
};

class RowLayer final : public attention::LayerRows {
 public:
  RowLayer(LayerPlan plan, std::vector<std::span<const ChunkEntry>> heads)
      : plan_(std::move(plan)), heads_(std::move(heads)), decoded_(heads_.size()) {}

  Status seek(std::int64_t t) override {
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      if (!decoded_[h].holds(t)) KVPLAN_TRY_DO(load(h, t));
      if (plan_.info->form == RecordedForm::kTopEntries) spread_row(decoded_[h], t);
    }
    t_ = t;
    return Done{};
  }

  [[nodiscard]] attention::RowView row(std::int32_t head) const override {
    const DecodedRows& rows = decoded_[static_cast<std::size_t>(head)];
    if (!rows.spread.empty()) return {.f64 = rows.spread.data(), .f32 = nullptr, .logits = nullptr};
    const std::int64_t at = weights_in_rows(rows.first, t_ - rows.first);
    if (!rows.f64.empty()) return {.f64 = rows.f64.data() + at, .f32 = nullptr, .logits = nullptr};
    return {.f64 = nullptr, .f32 = rows.f32.data() + at, .logits = nullptr};
  }

 private:
  Status load(std::size_t head, std::int64_t t) {
    const auto chunks = heads_[head];
    const auto after =
        std::upper_bound(chunks.begin(), chunks.end(), t,
                         [](std::int64_t at, const auto& entry) { return at < entry.first_token; });
    if (chunks.empty())
      return bad_input("was not recorded; the other heads of this layer were")
          .at_file(plan_.source.file->name())
          .at_field("layer " + std::to_string(plan_.entries.front().layer) + ", query head " +
                    std::to_string(head));
    if (after == chunks.begin() || t >= (after - 1)->first_token + (after - 1)->tokens)
      return bad_input("row " + std::to_string(t) + " of query head " + std::to_string(head) +
                       " was not recorded, and the policy needs it")
          .at_file(plan_.source.file->name());
    const ChunkEntry& entry = *(after - 1);
    DecodedRows& rows = decoded_[head];
    held_bytes_ -= rows.bytes();
    rows = {};
    KVPLAN_TRY(std::string raw, read_chunk(plan_.source, *plan_.info, entry));
    auto status = plan_.info->form == RecordedForm::kDenseRows ? decode_dense(entry, raw, rows)
                                                               : decode_top(entry, std::move(raw), rows);
    if (!status.ok()) {
      rows = {};
      return std::move(status).error().at_file(plan_.source.file->name()).at_byte(entry.offset);
    }
    if (plan_.info->form == RecordedForm::kTopEntries)
      rows.spread.resize(static_cast<std::size_t>(entry.first_token + entry.tokens));
    held_bytes_ += rows.bytes();
    if (held_bytes_ > plan_.max_bytes) {
      rows = {};
      return too_large(plan_, held_bytes_);
    }
    rows.first = entry.first_token;
    rows.count = entry.tokens;
    return Done{};
  }

  Status decode_dense(const ChunkEntry& entry, const std::string& raw, DecodedRows& out) const {
    const Element element = plan_.info->element;
    const auto width = static_cast<std::size_t>(element_bytes(element));
    const std::size_t count = raw.size() / width;
    if (element == Element::kF64) {
      out.f64.resize(count);
      std::memcpy(out.f64.data(), raw.data(), raw.size());
    } else if (element == Element::kF32) {
      out.f32.resize(count);
      std::memcpy(out.f32.data(), raw.data(), raw.size());
    } else {
      out.f32.resize(count);
      for (std::size_t i = 0; i < count; ++i) out.f32[i] = load_float(raw.data() + i * width, element);
    }
    std::size_t begin = 0;
    for (std::int64_t t = entry.first_token; t < entry.first_token + entry.tokens; ++t) {
      const auto length = static_cast<std::size_t>(t + 1);
      KVPLAN_TRY_DO(out.f64.empty() ? check_row(std::span<const float>(out.f32).subspan(begin, length), t)
                                    : check_row(std::span<const double>(out.f64).subspan(begin, length), t));
      begin += length;
    }
    return Done{};
  }

  Status decode_top(const ChunkEntry& entry, std::string raw, DecodedRows& out) const {
    const Element element = plan_.info->element;
    const auto width = element_bytes(element);
    const auto size = static_cast<std::int64_t>(raw.size());
    std::int64_t at = 0;
    const auto wrong = [](std::int64_t t, const std::string& message) {
      return bad_input(message).at_field("row " + std::to_string(t));
    };
    for (std::int64_t t = entry.first_token; t < entry.first_token + entry.tokens; ++t) {
      out.begin.push_back(at);
      if (size - at < 4 + width) return wrong(t, "the chunk ends inside the row");
      const std::int64_t count = load_raw<std::uint32_t>(raw.data() + at);
      if (count > t + 1 || count * (4 + width) > size - at - 4 - width)
        return wrong(t, "claims " + std::to_string(count) + " entries, more than the row or the chunk has");
      std::vector<double> values{load_number(raw.data() + at + 4, element)};
      const char* positions = raw.data() + at + 4 + width;
      std::int64_t before = -1;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t position = load_raw<std::uint32_t>(positions + 4 * i);
        if (position <= before || position > t) return wrong(t, "positions are not ascending up to the row");
        before = position;
        values.push_back(load_number(positions + 4 * count + width * i, element));
      }
      KVPLAN_TRY_DO(check_row(std::span<const double>(values), t));
      if (count == t + 1 && values.front() != 0) return wrong(t, "a rest although every entry is listed");
      at += 4 + width + count * (4 + width);
    }
    if (at != size) return wrong(entry.first_token + entry.tokens - 1, "bytes are left after the last row");
    out.raw = std::move(raw);
    return Done{};
  }

  /// The rest's mass evenly over what is not listed, then the listed weights.
  void spread_row(DecodedRows& rows, std::int64_t t) const {
    const Element element = plan_.info->element;
    const auto width = element_bytes(element);
    const char* at = rows.raw.data() + rows.begin[static_cast<std::size_t>(t - rows.first)];
    const std::int64_t count = load_raw<std::uint32_t>(at);
    const double rest = load_number(at + 4, element);
    const double each = count <= t ? rest / static_cast<double>(t + 1 - count) : 0.0;
    std::fill_n(rows.spread.begin(), t + 1, each);
    const char* positions = at + 4 + width;
    for (std::int64_t i = 0; i < count; ++i)
      rows.spread[load_raw<std::uint32_t>(positions + 4 * i)] =
          load_number(positions + 4 * count + width * i, element);
  }

  LayerPlan plan_;
  std::vector<std::span<const ChunkEntry>> heads_;  ///< chunks of each query head
  std::vector<DecodedRows> decoded_;
  std::int64_t held_bytes_{0};  ///< by decoded_
  std::int64_t t_{0};
};

/// The chunks of one part and head; empty where there are none.
std::span<const ChunkEntry> chunks_of(const LayerPlan& plan, ChunkPart part, std::uint32_t head) {
  const auto in_stream = [&](const ChunkEntry& entry) { return entry.part == part && entry.head == head; };
  const auto begin = std::find_if(plan.entries.begin(), plan.entries.end(), in_stream);
  const auto end = std::find_if_not(begin, plan.entries.end(), in_stream);
  return std::span<const ChunkEntry>(begin, end);
}

/// All tokens of one tensor of one head.
Result<std::vector<float>> read_tensor(const LayerPlan& plan, ChunkPart part, std::uint32_t head) {
  static constexpr const char* kNames[] = {"", "rows", "queries", "keys", "values"};
  const std::string what =
      std::string(kNames[static_cast<std::size_t>(part)]) + " of head " + std::to_string(head);
  const Element element = plan.info->element;
  const auto width = static_cast<std::size_t>(element_bytes(element));
  std::vector<float> out;
  std::int64_t next = 0;
  for (const ChunkEntry& entry : chunks_of(plan, part, head)) {
    if (entry.first_token != next) break;
    KVPLAN_TRY(const std::string raw, read_chunk(plan.source, *plan.info, entry));
    for (std::size_t at = 0; at < raw.size(); at += width) {
      out.push_back(load_float(raw.data() + at, element));
      if (!std::isfinite(out.back()))
        return bad_input("expected finite numbers")
            .at_file(plan.source.file->name())
            .at_byte(entry.offset)
            .at_field(what);
    }
    next += entry.tokens;
  }
  if (next == 0)
    return bad_input("were not recorded; other parts of this layer were")
        .at_file(plan.source.file->name())
        .at_field("layer " + std::to_string(plan.entries.front().layer) + ", " + what);
  if (next != plan.tokens)
    return bad_input("expected all " + std::to_string(plan.tokens) + " tokens, token " +
                     std::to_string(next) + " is missing")
        .at_file(plan.source.file->name())
        .at_field(what);
  return out;
}

}  // namespace

Result<std::unique_ptr<attention::LayerRows>> open_row_layer(const LayerPlan& plan) {
  std::vector<std::span<const ChunkEntry>> heads;
  heads.reserve(static_cast<std::size_t>(plan.info->query_heads));
  for (std::int32_t h = 0; h < plan.info->query_heads; ++h)
    heads.push_back(chunks_of(plan, ChunkPart::kRows, static_cast<std::uint32_t>(h)));
  return std::unique_ptr<attention::LayerRows>(std::make_unique<RowLayer>(plan, std::move(heads)));
}

Result<attention::LayerTensors> read_tensor_layer(const LayerPlan& plan) {
  const attention::RecordingInfo& info = *plan.info;
  const std::int64_t row_bytes = 16 * (plan.tokens + 32);  // logits and weights of one query
  const std::int64_t bytes =
      plan.tokens * 4 *
          (std::int64_t{info.query_heads} * info.key_size + std::int64_t{info.kv_heads} * info.key_size * 2 +
           (info.has_values ? std::int64_t{info.kv_heads} * info.value_size : 0)) +
      row_bytes * info.query_heads;
  if (bytes > plan.max_bytes) return too_large(plan, bytes);
  attention::LayerTensors tensors{.tokens = plan.tokens,
                                  .query_heads = info.query_heads,
                                  .kv_heads = info.kv_heads,
                                  .key_size = info.key_size,
                                  .value_size = info.value_size,
                                  .scale = info.logit_scale,
                                  .queries = {},
                                  .keys = {},
                                  .values = {}};
  const auto read_all = [&](ChunkPart part, std::int32_t heads,
                            std::vector<std::vector<float>>& to) -> Status {
    for (std::int32_t h = 0; h < heads; ++h) {
      KVPLAN_TRY(std::vector<float> tensor, read_tensor(plan, part, static_cast<std::uint32_t>(h)));
      to.push_back(std::move(tensor));
    }
    return Done{};
  };
  KVPLAN_TRY_DO(read_all(ChunkPart::kQueries, info.query_heads, tensors.queries));
  KVPLAN_TRY_DO(read_all(ChunkPart::kKeys, info.kv_heads, tensors.keys));
  if (info.has_values) KVPLAN_TRY_DO(read_all(ChunkPart::kValues, info.kv_heads, tensors.values));
  return tensors;
}

}  // namespace kvplan::io
