#include "simulator/io/kva_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "simulator/attention/tensor_rows.h"
#include "simulator/io/kva_contents.h"
#include "simulator/io/kva_limits.h"
#include "simulator/io/number_formats.h"
#include "simulator/io/row_check.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::Part;

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
  double sink{0};                   ///< of the current row, if the layer has sinks
  [[nodiscard]] bool holds(std::int64_t t) const { return t >= first && t < first + count; }
  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(8 * (f64.size() + begin.size() + spread.size()) + 4 * f32.size() +
                                     raw.size());
  }
};

class RowLayer final : public attention::LayerRows {
 public:
  RowLayer(LayerPlan plan, std::vector<std::span<const ChunkEntry>> heads, Part part)
      : plan_(std::move(plan)),
        heads_(std::move(heads)),
        element_(*plan_.shape->element(part)),
        top_(plan_.shape->lists_top(part)),
        decoded_(heads_.size()) {}

  Status seek(std::int64_t t) override {
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      if (!decoded_[h].holds(t)) KVPLAN_TRY_DO(load(h, t));
      if (top_) spread_row(decoded_[h], t);
    }
    t_ = t;
    if (!plan_.layer.sink_logits.empty())
      for (std::size_t h = 0; h < heads_.size(); ++h)
        decoded_[h].sink = missing(static_cast<std::int32_t>(h));
    return Done{};
  }

  [[nodiscard]] attention::RowView row(std::int32_t head) const override {
    const DecodedRows& rows = decoded_[static_cast<std::size_t>(head)];
    attention::RowView out{.sink = rows.sink};
    const std::int64_t at = weights_in_rows(rows.first, t_ - rows.first);
    if (!rows.spread.empty()) {
      out.f64 = rows.spread.data();
    } else if (!rows.f64.empty()) {
      out.f64 = rows.f64.data() + at;
    } else {
      out.f32 = rows.f32.data() + at;
    }
    return out;
  }

 private:
  /// The mass that a row lacks to the sum 1.
  [[nodiscard]] double missing(std::int32_t head) const {
    const attention::RowView view = row(head);
    double sum = 0;
    for (std::int64_t i = plan_.layer.first_seen(t_); i <= t_; ++i)
      sum += view.f64 != nullptr ? view.f64[i] : static_cast<double>(view.f32[i]);
    return std::max(0.0, 1 - sum);
  }

  Status load(std::size_t head, std::int64_t t) {
    const auto chunks = heads_[head];
    const auto after =
        std::upper_bound(chunks.begin(), chunks.end(), t,
                         [](std::int64_t at, const auto& entry) { return at < entry.first_token; });
    if (chunks.empty())
      return bad_input("was not recorded, but other heads of this layer were")
          .at_file(plan_.source.file->name())
          .at_field("layer " + std::to_string(plan_.entries.front().layer) + ", query head " +
                    std::to_string(plan_.layer.model_query_head(static_cast<std::int32_t>(head))));
    if (after == chunks.begin() || t >= (after - 1)->first_token + (after - 1)->tokens)
      return bad_input("row " + std::to_string(t) + " of query head " +
                       std::to_string(plan_.layer.model_query_head(static_cast<std::int32_t>(head))) +
                       " is needed but was not recorded")
          .at_file(plan_.source.file->name());
    const ChunkEntry& entry = *(after - 1);
    DecodedRows& rows = decoded_[head];
    held_bytes_ -= rows.bytes();
    rows = {};
    KVPLAN_TRY(std::string raw, read_chunk(plan_.source, *plan_.shape, entry));
    auto status = top_ ? decode_top(entry, std::move(raw), rows) : decode_dense(entry, raw, rows);
    if (!status.ok()) {
      rows = {};
      return std::move(status).error().at_file(plan_.source.file->name()).at_byte(entry.offset);
    }
    if (top_) rows.spread.resize(static_cast<std::size_t>(entry.first_token + entry.tokens));
    held_bytes_ += rows.bytes();
    if (held_bytes_ > plan_.max_bytes) {
      rows = {};
      return too_large(plan_, held_bytes_);
    }
    rows.first = entry.first_token;
    rows.count = entry.tokens;
    return Done{};
  }

  [[nodiscard]] RowRule row_rule(std::int64_t t) const {
    return {.first_seen = plan_.layer.first_seen(t), .has_sink = !plan_.layer.sink_logits.empty()};
  }

  Status decode_dense(const ChunkEntry& entry, const std::string& raw, DecodedRows& out) const {
    const Element element = element_;
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
      const RowRule rule = row_rule(t);
      KVPLAN_TRY_DO(out.f64.empty()
                        ? check_row(std::span<const float>(out.f32).subspan(begin, length), t, rule)
                        : check_row(std::span<const double>(out.f64).subspan(begin, length), t, rule));
      begin += length;
    }
    return Done{};
  }

  Status decode_top(const ChunkEntry& entry, std::string raw, DecodedRows& out) const {
    const Element element = element_;
    const auto width = element_bytes(element);
    const auto size = static_cast<std::int64_t>(raw.size());
    std::int64_t at = 0;
    const auto wrong = [](std::int64_t t, const std::string& message) {
      return bad_input(message).at_field("row " + std::to_string(t));
    };
    for (std::int64_t t = entry.first_token; t < entry.first_token + entry.tokens; ++t) {
      out.begin.push_back(at);
      if (size - at < 4 + width) return wrong(t, "the chunk ends within the row");
      const std::int64_t count = load_raw<std::uint32_t>(raw.data() + at);
      if (count > t + 1 || count * (4 + width) > size - at - 4 - width)
        return wrong(t, "claims " + std::to_string(count) + " entries, more than the row or the chunk has");
      std::vector<double> values{load_number(raw.data() + at + 4, element)};
      const char* positions = raw.data() + at + 4 + width;
      const std::int64_t seen = t + 1 - plan_.layer.first_seen(t);
      std::int64_t before = plan_.layer.first_seen(t) - 1;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t position = load_raw<std::uint32_t>(positions + 4 * i);
        if (position <= before || position > t)
          return wrong(t, "expected ascending positions up to the row's own");
        before = position;
        values.push_back(load_number(positions + 4 * count + width * i, element));
      }
      KVPLAN_TRY_DO(check_row(std::span<const double>(values), t,
                              {.first_seen = 0, .has_sink = !plan_.layer.sink_logits.empty()}));
      if (count == seen && values.front() != 0)
        return wrong(t, "a remaining mass, although every entry is listed");
      at += 4 + width + count * (4 + width);
    }
    if (at != size) return wrong(entry.first_token + entry.tokens - 1, "there are bytes after the last row");
    out.raw = std::move(raw);
    return Done{};
  }

  /// Spreads the remaining mass evenly over the tokens that are not listed, then sets the listed weights.
  void spread_row(DecodedRows& rows, std::int64_t t) const {
    const Element element = element_;
    const auto width = element_bytes(element);
    const char* at = rows.raw.data() + rows.begin[static_cast<std::size_t>(t - rows.first)];
    const std::int64_t count = load_raw<std::uint32_t>(at);
    const double rest = load_number(at + 4, element);
    const std::int64_t begin = plan_.layer.first_seen(t);
    const std::int64_t seen = t + 1 - begin;
    const double each = count < seen ? rest / static_cast<double>(seen - count) : 0.0;
    std::fill_n(rows.spread.begin(), begin, 0.0);
    std::fill_n(rows.spread.begin() + begin, seen, each);
    const char* positions = at + 4 + width;
    for (std::int64_t i = 0; i < count; ++i)
      rows.spread[load_raw<std::uint32_t>(positions + 4 * i)] =
          load_number(positions + 4 * count + width * i, element);
  }

  LayerPlan plan_;
  std::vector<std::span<const ChunkEntry>> heads_;  ///< chunks of each query head
  Element element_;
  bool top_;  ///< rows list their largest weights
  std::vector<DecodedRows> decoded_;
  std::int64_t held_bytes_{0};  ///< by decoded_
  std::int64_t t_{0};
};

/// Calls add(raw) with the bytes of one part and head, token after token, up to the plan's tokens (for output
/// weights: all of them).
template <class Add>
Status for_chunks(const LayerPlan& plan, Part part, std::uint32_t head, const Add& add) {
  const std::string what = std::string(part_name(part)) + " of head " + std::to_string(head);
  const bool weights = part == Part::kOutputWeights;
  const std::int64_t wanted = weights ? plan.layer.value_size : plan.tokens;
  const auto of_token =
      static_cast<std::size_t>(plan.shape->numbers(part, plan.layer.layer) * plan.shape->element_bytes(part));
  std::int64_t next = 0;
  const auto from = weights ? plan.weights : of_sequence(part) ? plan.sequence : plan.entries;
  for (const ChunkEntry& entry : stream_of(from, part, head)) {
    if (entry.first_token != next || next >= wanted) break;
    KVPLAN_TRY(const std::string raw, read_chunk(plan.source, *plan.shape, entry));
    const auto taken = static_cast<std::size_t>(std::min(entry.tokens, wanted - next));
    auto added = add(std::string_view(raw).substr(0, taken * of_token));
    if (!added.ok())
      return std::move(added).error().at_file(plan.source.file->name()).at_byte(entry.offset).at_field(what);
    next += static_cast<std::int64_t>(taken);
  }
  if (next == wanted) return Done{};
  const bool of_layer = !of_sequence(part);
  const std::string place =
      of_layer ? "layer " + std::to_string(plan.layer.layer) + ", " + what : std::string(part_name(part));
  if (next == 0)
    return bad_input(of_layer ? "were not recorded; other parts of this layer were"
                              : "were not recorded for this sequence")
        .at_file(plan.source.file->name())
        .at_field(place);
  return bad_input("expected all " + std::to_string(wanted) + (weights ? " rows, row " : " tokens, token ") +
                   std::to_string(next) + " is missing")
      .at_file(plan.source.file->name())
      .at_field(plan.shape->version() == 1 ? what : place);
}

/// Bytes in memory of all that read_tensor_layer reads.
std::int64_t tensor_bytes(const LayerPlan& plan) {
  const attention::LayerInfo& layer = plan.layer;
  const auto has = [&](Part part) { return std::int64_t{layer.parts.has(part) ? 1 : 0}; };
  const std::int64_t row_bytes = 16 * (plan.tokens + 32);  // logits and weights of one query
  const std::int64_t numbers = has(Part::kQueries) * layer.query_heads * layer.key_size +
                               has(Part::kKeys) * layer.kv_heads * layer.key_size * 2 +
                               has(Part::kValues) * layer.kv_heads * layer.value_size +
                               has(Part::kValueNorms) * layer.kv_heads;
  return plan.tokens * 4 * numbers + has(Part::kQueries) * row_bytes * layer.query_heads +
         has(Part::kOutputWeights) * 4 * layer.query_heads * layer.value_size *
             plan.shape->numbers(Part::kOutputWeights, layer.layer);
}

/// The elements of the recorded heads.
std::vector<double> of_recorded(const std::vector<double>& all, const attention::LayerInfo& layer) {
  std::vector<double> out;
  for (std::int32_t h = 0; h < layer.query_heads && !all.empty(); ++h)
    out.push_back(all[static_cast<std::size_t>(layer.model_query_head(h))]);
  return out;
}

}  // namespace

Result<std::unique_ptr<attention::LayerRows>> open_row_layer(const LayerPlan& plan) {
  const Part part = plan.shape->element(Part::kRows) ? Part::kRows : Part::kTopRows;
  std::vector<std::span<const ChunkEntry>> heads;
  for (const std::int32_t head : plan.shape->recorded_heads(part, plan.layer))
    heads.push_back(stream_of(plan.entries, part, static_cast<std::uint32_t>(head)));
  return std::unique_ptr<attention::LayerRows>(std::make_unique<RowLayer>(plan, std::move(heads), part));
}

Result<std::vector<float>> read_numbers(const LayerPlan& plan, Part part, std::uint32_t head) {
  const Element element = *plan.shape->element(part);
  const auto width = static_cast<std::size_t>(element_bytes(element));
  std::vector<float> out;
  KVPLAN_TRY_DO(for_chunks(plan, part, head, [&](std::string_view raw) -> Status {
    for (std::size_t at = 0; at < raw.size(); at += width) {
      out.push_back(load_float(raw.data() + at, element));
      if (!std::isfinite(out.back())) return bad_input("expected finite numbers");
      if (part == Part::kValueNorms && out.back() < 0) return bad_input("expected lengths of at least 0");
    }
    return Done{};
  }));
  return out;
}

Result<std::vector<std::uint8_t>> read_classes(const LayerPlan& plan, std::int64_t classes) {
  std::vector<std::uint8_t> out;
  KVPLAN_TRY_DO(for_chunks(plan, Part::kTokenClasses, 0, [&](std::string_view raw) -> Status {
    for (const char byte : raw) {
      out.push_back(static_cast<std::uint8_t>(byte));
      if (out.back() >= classes)
        return bad_input("expected a class below " + std::to_string(classes) + ", found " +
                         std::to_string(out.back()));
    }
    return Done{};
  }));
  return out;
}

Result<std::vector<std::uint32_t>> read_positions(const LayerPlan& plan) {
  std::vector<std::uint32_t> out;
  KVPLAN_TRY_DO(for_chunks(plan, Part::kPositions, 0, [&](std::string_view raw) -> Status {
    for (std::size_t at = 0; at < raw.size(); at += 4) {
      out.push_back(load_raw<std::uint32_t>(raw.data() + at));
      if (out.back() > INT32_MAX)
        return bad_input("expected at most 2147483647, found " + std::to_string(out.back()));
    }
    return Done{};
  }));
  return out;
}

Result<attention::LayerTensors> read_tensor_layer(const LayerPlan& plan) {
  const attention::LayerInfo& layer = plan.layer;
  const std::int64_t bytes = tensor_bytes(plan);
  if (bytes > plan.max_bytes) return too_large(plan, bytes);
  attention::LayerTensors tensors{.tokens = plan.tokens,
                                  .query_heads = layer.query_heads,
                                  .kv_heads = layer.kv_heads,
                                  .key_size = layer.key_size,
                                  .value_size = layer.value_size,
                                  .scale = layer.logit_scale,
                                  .queries = {},
                                  .keys = {},
                                  .values = {},
                                  .window = layer.window,
                                  .soft_cap = layer.soft_cap,
                                  .sink_logits = of_recorded(layer.sink_logits, layer),
                                  .bias_slopes = of_recorded(layer.bias_slopes, layer),
                                  .rotary = layer.rotary};
  const auto read_all = [&](Part part, std::vector<std::vector<float>>& to) -> Status {
    if (!layer.parts.has(part)) return Done{};
    for (const std::int32_t head : plan.shape->recorded_heads(part, layer)) {
      KVPLAN_TRY(std::vector<float> tensor, read_numbers(plan, part, static_cast<std::uint32_t>(head)));
      to.push_back(std::move(tensor));
    }
    return Done{};
  };
  KVPLAN_TRY_DO(read_all(Part::kQueries, tensors.queries));
  KVPLAN_TRY_DO(read_all(Part::kKeys, tensors.keys));
  KVPLAN_TRY_DO(read_all(Part::kValues, tensors.values));
  KVPLAN_TRY_DO(read_all(Part::kValueNorms, tensors.value_norms));
  KVPLAN_TRY_DO(read_all(Part::kOutputWeights, tensors.output_weights));
  if (!tensors.output_weights.empty())
    tensors.hidden_size = static_cast<std::int32_t>(plan.shape->numbers(Part::kOutputWeights, layer.layer));
  if (plan.shape->element(Part::kPositions)) {
    KVPLAN_TRY(tensors.positions, read_positions(plan));
  }
  return tensors;
}

}  // namespace kvplan::io
