#include "simulator/io/kva_writer.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "proto/attention.pb.h"
#include "simulator/attention/selection.h"
#include "simulator/io/kva_limits.h"
#include "simulator/io/number_formats.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::RecordedForm;

/// Chunks are cut at about this size: large enough to compress, small enough that a reader can hold one for
/// every head.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;

template <class T>
void append_raw(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}

void append_number(std::string& out, Element element, double value) {
  switch (element) {
    case Element::kF64:
      return append_raw(out, value);
    case Element::kF32:
      return append_raw(out, static_cast<float>(value));
    case Element::kF16:
      return append_raw(out, f16_from_float(static_cast<float>(value)));
    case Element::kBf16:
      return append_raw(out, bf16_from_float(static_cast<float>(value)));
  }
}

v1::AttentionElement wire(Element element) {
  switch (element) {
    case Element::kF64:
      return v1::ATTENTION_ELEMENT_F64;
    case Element::kF32:
      return v1::ATTENTION_ELEMENT_F32;
    case Element::kF16:
      return v1::ATTENTION_ELEMENT_F16;
    case Element::kBf16:
      return v1::ATTENTION_ELEMENT_BF16;
  }
  return v1::ATTENTION_ELEMENT_UNSPECIFIED;
}

v1::AttentionForm wire(RecordedForm form) {
  switch (form) {
    case RecordedForm::kDenseRows:
      return v1::ATTENTION_FORM_DENSE_ROWS;
    case RecordedForm::kTopEntries:
      return v1::ATTENTION_FORM_TOP_ENTRIES;
    case RecordedForm::kTensors:
      return v1::ATTENTION_FORM_TENSORS;
  }
  return v1::ATTENTION_FORM_UNSPECIFIED;
}

v1::AttentionHeader header_of(const attention::RecordingInfo& info) {
  v1::AttentionHeader header;
  header.set_version(1);
  auto& model = *header.mutable_model();
  model.set_name(info.model);
  const auto number = [](std::int32_t value) { return static_cast<std::uint32_t>(value); };
  model.set_layers(number(info.layers));
  model.set_query_heads(number(info.query_heads));
  model.set_kv_heads(number(info.kv_heads));
  // Assumed sizes are no facts about the recording.
  if (!info.sizes_assumed) {
    model.set_key_size(number(info.key_size));
    model.set_value_size(number(info.value_size));
    model.set_cache_element_bytes(number(info.cache_element_bytes));
  }
  header.set_form(wire(info.form));
  header.set_element(wire(info.element));
  if (info.form == RecordedForm::kTensors) header.set_logit_scale(info.logit_scale);
  header.set_has_values(info.has_values);
  header.set_positions(info.positions);
  header.set_source(info.source);
  header.set_recorded_by(info.recorded_by);
  for (const auto& sequence : info.sequences) {
    auto& out = *header.add_sequences();
    out.set_name(sequence.name);
    out.set_tokens(static_cast<std::uint32_t>(sequence.tokens));
    out.set_prompt_tokens(static_cast<std::uint32_t>(sequence.prompt_tokens));
  }
  return header;
}

}  // namespace

struct KvaWriter::State {
  struct Entry {
    PartPlace place;
    std::uint32_t part;
    std::int64_t first;
    std::int64_t tokens;
    std::int64_t offset;
    [[nodiscard]] auto key() const {
      return std::tuple(place.sequence, place.layer, part, place.head, first);
    }
  };
  attention::RecordingInfo info;
  Codec codec{Codec::kZstd};
  ByteSink sink;
  std::int64_t offset{0};
  std::vector<Entry> entries;

  Status put(std::string_view bytes) {
    offset += static_cast<std::int64_t>(bytes.size());
    return sink(bytes);
  }

  Status chunk(PartPlace place, v1::AttentionPart part, std::int64_t first, std::int64_t tokens,
               std::string_view raw) {
    KVPLAN_CHECK(tokens > 0 && static_cast<std::int64_t>(raw.size()) <= kMaxChunkBytes, tokens);
    v1::AttentionChunk chunk;
    chunk.set_sequence(static_cast<std::uint32_t>(place.sequence));
    chunk.set_layer(static_cast<std::uint32_t>(place.layer));
    chunk.set_head(static_cast<std::uint32_t>(place.head));
    chunk.set_part(part);
    chunk.set_first_token(static_cast<std::uint32_t>(first));
    chunk.set_tokens(static_cast<std::uint32_t>(tokens));
    chunk.set_codec(static_cast<v1::AttentionCodec>(codec));
    chunk.set_raw_bytes(raw.size());
    chunk.set_data(compress(raw, codec));
    entries.push_back({place, static_cast<std::uint32_t>(part), first, tokens, offset});
    return put(frame(FrameKind::kChunk, chunk.SerializeAsString()));
  }
};

KvaWriter::KvaWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
KvaWriter::~KvaWriter() = default;

Result<std::unique_ptr<KvaWriter>> KvaWriter::make(const attention::RecordingInfo& info, Codec codec,
                                                   ByteSink sink) {
  KVPLAN_TRY_DO(check_kva_limits(info));
  auto state = std::make_unique<State>();
  state->info = info;
  state->codec = codec;
  state->sink = std::move(sink);
  KVPLAN_TRY_DO(state->put(kKvaMagic));
  KVPLAN_TRY_DO(state->put(frame(FrameKind::kHeader, header_of(info).SerializeAsString())));
  return std::unique_ptr<KvaWriter>(new KvaWriter(std::move(state)));
}

Status KvaWriter::dense_rows(PartPlace place, std::int64_t first, std::span<const double> weights) {
  KVPLAN_CHECK(state_->info.form == RecordedForm::kDenseRows);
  std::string raw;
  std::int64_t begin = first;
  std::int64_t t = first;
  while (!weights.empty()) {
    const auto length = static_cast<std::size_t>(t + 1);
    KVPLAN_CHECK(weights.size() >= length, t);
    for (const double weight : weights.first(length)) append_number(raw, state_->info.element, weight);
    weights = weights.subspan(length);
    ++t;
    const std::int64_t next = (t + 1) * element_bytes(state_->info.element);
    if (weights.empty() || static_cast<std::int64_t>(raw.size()) + next > kChunkBytes) {
      KVPLAN_TRY_DO(state_->chunk(place, v1::ATTENTION_PART_ROWS, begin, t - begin, raw));
      raw.clear();
      begin = t;
    }
  }
  return Done{};
}

Status KvaWriter::top_rows(PartPlace place, std::int64_t first, std::span<const TopRow> rows) {
  KVPLAN_CHECK(state_->info.form == RecordedForm::kTopEntries);
  const Element element = state_->info.element;
  std::string raw;
  std::int64_t begin = first;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TopRow& row = rows[i];
    KVPLAN_CHECK(row.positions.size() == row.weights.size());
    append_raw(raw, static_cast<std::uint32_t>(row.positions.size()));
    append_number(raw, element, row.rest);
    for (const std::int32_t position : row.positions) append_raw(raw, static_cast<std::uint32_t>(position));
    for (const double weight : row.weights) append_number(raw, element, weight);
    const std::int64_t next = first + static_cast<std::int64_t>(i) + 1;
    const std::int64_t most = 12 + (next + 1) * 12;
    if (i + 1 == rows.size() || static_cast<std::int64_t>(raw.size()) + most > kChunkBytes) {
      KVPLAN_TRY_DO(state_->chunk(place, v1::ATTENTION_PART_ROWS, begin, next - begin, raw));
      raw.clear();
      begin = next;
    }
  }
  return Done{};
}

Status KvaWriter::tensor(PartPlace place, TensorPart part, std::span<const float> elements) {
  KVPLAN_CHECK(state_->info.form == RecordedForm::kTensors);
  const auto size =
      static_cast<std::size_t>(part == TensorPart::kValues ? state_->info.value_size : state_->info.key_size);
  KVPLAN_CHECK(elements.size() % size == 0);
  const auto token_bytes = static_cast<std::int64_t>(size) * element_bytes(state_->info.element);
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, kChunkBytes / token_bytes));
  const v1::AttentionPart wired = part == TensorPart::kQueries ? v1::ATTENTION_PART_QUERIES
                                  : part == TensorPart::kKeys  ? v1::ATTENTION_PART_KEYS
                                                               : v1::ATTENTION_PART_VALUES;
  const std::size_t tokens = elements.size() / size;
  for (std::size_t begin = 0; begin < tokens; begin += step) {
    const std::size_t count = std::min(step, tokens - begin);
    std::string raw;
    for (const float value : elements.subspan(begin * size, count * size))
      append_number(raw, state_->info.element, static_cast<double>(value));
    KVPLAN_TRY_DO(
        state_->chunk(place, wired, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(count), raw));
  }
  return Done{};
}

Status KvaWriter::finish() {
  auto& entries = state_->entries;
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.key() < b.key(); });
  v1::AttentionIndex index;
  for (const auto& entry : entries) {
    index.add_sequence(static_cast<std::uint32_t>(entry.place.sequence));
    index.add_layer(static_cast<std::uint32_t>(entry.place.layer));
    index.add_head(static_cast<std::uint32_t>(entry.place.head));
    index.add_part(entry.part);
    index.add_first_token(static_cast<std::uint32_t>(entry.first));
    index.add_tokens(static_cast<std::uint32_t>(entry.tokens));
    index.add_offset(static_cast<std::uint64_t>(entry.offset));
  }
  const std::int64_t at = state_->offset;
  KVPLAN_TRY_DO(state_->put(frame(FrameKind::kIndex, index.SerializeAsString())));
  return state_->put(trailer(at));
}

namespace {

TopRow top_of(std::span<const double> row, std::int64_t top) {
  TopRow out;
  const auto count =
      static_cast<std::int32_t>(std::min<std::int64_t>(top, static_cast<std::int64_t>(row.size())));
  attention::highest(row, count, out.positions);
  std::size_t next = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (next < out.positions.size() && out.positions[next] == static_cast<std::int32_t>(i)) {
      out.weights.push_back(row[i]);
      ++next;
    } else {
      out.rest += row[i];
    }
  }
  return out;
}

/// All rows of one head, some megabytes at a time.
Status write_head(KvaWriter& writer, attention::LayerRows& rows, PartPlace place, std::int64_t tokens,
                  std::int64_t top) {
  constexpr std::size_t kBatch = std::size_t{1} << 18;
  std::vector<double> dense;
  std::vector<TopRow> tops;
  std::int64_t first = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    KVPLAN_TRY_DO(rows.seek(t));
    const attention::RowView row = rows.row(place.head);
    const std::size_t begin = dense.size();
    for (std::int64_t i = 0; i <= t; ++i)
      dense.push_back(row.f64 != nullptr ? row.f64[i] : static_cast<double>(row.f32[i]));
    if (top > 0) {
      tops.push_back(top_of(std::span<const double>(dense).subspan(begin), top));
      dense.resize(begin);
    }
    if (t + 1 == tokens || dense.size() > kBatch || tops.size() > 256) {
      KVPLAN_TRY_DO(top > 0 ? writer.top_rows(place, first, tops) : writer.dense_rows(place, first, dense));
      dense.clear();
      tops.clear();
      first = t + 1;
    }
  }
  return Done{};
}

}  // namespace

Status write_kva(const attention::Recording& recording, Element element, std::int64_t top, Codec codec,
                 const ByteSink& sink) {
  attention::RecordingInfo info = recording.info();
  KVPLAN_CHECK(info.form != RecordedForm::kTensors);
  info.element = element;
  if (top > 0) info.form = RecordedForm::kTopEntries;
  KVPLAN_TRY(const auto writer, KvaWriter::make(info, codec, sink));
  for (std::int32_t s = 0; s < static_cast<std::int32_t>(info.sequences.size()); ++s) {
    for (std::int32_t layer = 0; layer < info.layers; ++layer) {
      for (std::int32_t head = 0; head < info.query_heads; ++head) {
        KVPLAN_TRY(const auto rows, recording.open(s, layer));
        KVPLAN_TRY_DO(write_head(*writer, *rows, {s, layer, head},
                                 info.sequences[static_cast<std::size_t>(s)].tokens, top));
      }
    }
  }
  return writer->finish();
}

}  // namespace kvplan::io
