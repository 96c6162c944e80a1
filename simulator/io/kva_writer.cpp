#include "simulator/io/kva_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "proto/attention.pb.h"
#include "simulator/attention/selection.h"
#include "simulator/io/kva_header.h"
#include "simulator/io/kva_limits.h"
#include "simulator/io/kva_shape.h"
#include "simulator/io/number_formats.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::Part;
using attention::RecordedForm;

/// Chunks have about this size: large enough to compress, small enough for a reader to hold one for every head.
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
    case Element::kU8:
      return append_raw(out, static_cast<std::uint8_t>(value));
    case Element::kU32:
      return append_raw(out, static_cast<std::uint32_t>(value));
  }
}

bool finite(Element element, double value) {
  switch (element) {
    case Element::kF32:
      return std::isfinite(static_cast<float>(value));
    case Element::kF16:
      return std::isfinite(float_from_f16(f16_from_float(static_cast<float>(value))));
    case Element::kBf16:
      return std::isfinite(float_from_bf16(bf16_from_float(static_cast<float>(value))));
    default:
      return std::isfinite(value);
  }
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
  State(const attention::RecordingInfo& of, Codec with, ByteSink to)
      : info(of), shape(of), codec(with), sink(std::move(to)) {}
  attention::RecordingInfo info;
  KvaShape shape;
  Codec codec;
  ByteSink sink;
  std::int64_t offset{0};
  std::vector<Entry> entries;

  Status put(std::string_view bytes) {
    offset += static_cast<std::int64_t>(bytes.size());
    return sink(bytes);
  }

  /// Rows of the form that the file has.
  [[nodiscard]] Part rows_part(bool top) const {
    if (info.version > 1) return top ? Part::kTopRows : Part::kRows;
    KVPLAN_CHECK((info.form == RecordedForm::kTopEntries) == top);
    return Part::kRows;
  }
  [[nodiscard]] Element element(Part part) const {
    const auto found = shape.element(part);
    KVPLAN_CHECK(found.has_value(), static_cast<int>(part));
    return *found;
  }

  Status sequence_frame(std::size_t number) {
    const auto message = message_of(info.sequences[number], static_cast<std::int32_t>(number));
    return put(frame(FrameKind::kSequence, message.SerializeAsString()));
  }

  Status chunk(PartPlace place, Part part, std::int64_t first, std::int64_t tokens, std::string_view raw) {
    KVPLAN_CHECK(tokens > 0 && static_cast<std::int64_t>(raw.size()) <= kMaxChunkBytes, tokens);
    v1::AttentionChunk chunk;
    chunk.set_sequence(static_cast<std::uint32_t>(place.sequence));
    chunk.set_layer(static_cast<std::uint32_t>(place.layer));
    chunk.set_head(static_cast<std::uint32_t>(place.head));
    chunk.set_part(static_cast<v1::AttentionPart>(part));
    chunk.set_first_token(static_cast<std::uint32_t>(first));
    chunk.set_tokens(static_cast<std::uint32_t>(tokens));
    chunk.set_codec(static_cast<v1::AttentionCodec>(codec));
    chunk.set_raw_bytes(raw.size());
    chunk.set_data(compress(raw, codec, shape.element_bytes(part)));
    entries.push_back({place, static_cast<std::uint32_t>(part), first, tokens, offset});
    return put(frame(FrameKind::kChunk, chunk.SerializeAsString()));
  }
};

KvaWriter::KvaWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
KvaWriter::~KvaWriter() = default;

Result<std::unique_ptr<KvaWriter>> KvaWriter::make(const attention::RecordingInfo& info, Codec codec,
                                                   ByteSink sink) {
  KVPLAN_TRY_DO(check_kva_limits(info));
  KVPLAN_CHECK(info.version > 1 || codec <= Codec::kZlib);
  auto state = std::make_unique<State>(info, codec, std::move(sink));
  if (info.version > 1) state->info.sequences.clear();
  KVPLAN_TRY_DO(state->put(kKvaMagic));
  KVPLAN_TRY_DO(state->put(frame(FrameKind::kHeader, header_of(info).SerializeAsString())));
  return std::unique_ptr<KvaWriter>(new KvaWriter(std::move(state)));
}

Status KvaWriter::dense_rows(PartPlace place, std::int64_t first, std::span<const double> weights) {
  const Part part = state_->rows_part(false);
  const Element element = state_->element(part);
  std::string raw;
  std::int64_t begin = first;
  std::int64_t t = first;
  while (!weights.empty()) {
    const auto length = static_cast<std::size_t>(t + 1);
    KVPLAN_CHECK(weights.size() >= length, t);
    for (const double weight : weights.first(length)) append_number(raw, element, weight);
    weights = weights.subspan(length);
    ++t;
    const std::int64_t next = (t + 1) * element_bytes(element);
    if (weights.empty() || static_cast<std::int64_t>(raw.size()) + next > kChunkBytes) {
      KVPLAN_TRY_DO(state_->chunk(place, part, begin, t - begin, raw));
      raw.clear();
      begin = t;
    }
  }
  return Done{};
}

Status KvaWriter::top_rows(PartPlace place, std::int64_t first, std::span<const TopRow> rows) {
  const Part part = state_->rows_part(true);
  const Element element = state_->element(part);
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
      KVPLAN_TRY_DO(state_->chunk(place, part, begin, next - begin, raw));
      raw.clear();
      begin = next;
    }
  }
  return Done{};
}

Status KvaWriter::tensor(PartPlace place, TensorPart part, std::span<const float> elements) {
  KVPLAN_CHECK(state_->info.form == RecordedForm::kTensors);
  const Part wired = part == TensorPart::kQueries ? Part::kQueries
                     : part == TensorPart::kKeys  ? Part::kKeys
                                                  : Part::kValues;
  return write_numbers(place, wired, 0, elements);
}

Status KvaWriter::numbers(PartPlace place, Part part, std::int64_t first, std::span<const float> elements) {
  const Element element = state_->element(part);
  for (const float value : elements)
    if (!finite(element, static_cast<double>(value)))
      return bad_input("expected finite numbers that fit the element type").at_field(part_name(part));
  return write_numbers(place, part, first, elements);
}

Status KvaWriter::write_numbers(PartPlace place, Part part, std::int64_t first,
                                std::span<const float> elements) {
  const Element element = state_->element(part);
  const auto size = static_cast<std::size_t>(state_->shape.numbers(part, place.layer));
  KVPLAN_CHECK(size > 0 && elements.size() % size == 0);
  const auto token_bytes = static_cast<std::int64_t>(size) * element_bytes(element);
  const auto step = static_cast<std::size_t>(std::max<std::int64_t>(1, kChunkBytes / token_bytes));
  const std::size_t tokens = elements.size() / size;
  for (std::size_t begin = 0; begin < tokens; begin += step) {
    const std::size_t count = std::min(step, tokens - begin);
    std::string raw;
    for (const float value : elements.subspan(begin * size, count * size))
      append_number(raw, element, static_cast<double>(value));
    KVPLAN_TRY_DO(state_->chunk(place, part, first + static_cast<std::int64_t>(begin),
                                static_cast<std::int64_t>(count), raw));
  }
  return Done{};
}

Status KvaWriter::token_classes(std::int32_t sequence, std::int64_t first,
                                std::span<const std::uint8_t> classes) {
  const std::string raw(classes.begin(), classes.end());
  return state_->chunk({.sequence = sequence}, Part::kTokenClasses, first,
                       static_cast<std::int64_t>(classes.size()), raw);
}

Status KvaWriter::positions(std::int32_t sequence, std::int64_t first,
                            std::span<const std::uint32_t> positions) {
  std::string raw;
  for (const std::uint32_t position : positions) append_raw(raw, position);
  return state_->chunk({.sequence = sequence}, Part::kPositions, first,
                       static_cast<std::int64_t>(positions.size()), raw);
}

Result<std::int32_t> KvaWriter::begin_sequence(const std::string& name, std::int64_t prompt_tokens) {
  KVPLAN_CHECK(state_->info.version > 1);
  auto& sequences = state_->info.sequences;
  sequences.push_back({.name = name, .tokens = 0, .prompt_tokens = prompt_tokens, .complete = false});
  KVPLAN_TRY_DO(check_sequence(sequences.back(), sequences.size() - 1));
  KVPLAN_TRY_DO(state_->sequence_frame(sequences.size() - 1));
  return static_cast<std::int32_t>(sequences.size()) - 1;
}

Status KvaWriter::end_sequence(std::int32_t number, std::int64_t tokens) {
  auto& sequence = state_->info.sequences[static_cast<std::size_t>(number)];
  sequence.tokens = tokens;
  sequence.complete = true;
  KVPLAN_TRY_DO(check_sequence(sequence, static_cast<std::size_t>(number)));
  return state_->sequence_frame(static_cast<std::size_t>(number));
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
  if (state_->info.version > 1)
    for (std::size_t i = 0; i < state_->info.sequences.size(); ++i)
      *index.add_sequences() = message_of(state_->info.sequences[i], static_cast<std::int32_t>(i));
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
  KVPLAN_CHECK(info.version == 1 && info.form != RecordedForm::kTensors);
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
