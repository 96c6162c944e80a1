#include "simulator/io/kva_reader.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "proto/attention.pb.h"
#include "simulator/io/kva_chunks.h"
#include "simulator/io/kva_limits.h"
#include "simulator/io/kva_rows.h"
#include "simulator/io/kva_writer.h"

namespace kvplan::io {
namespace {

using attention::Element;
using attention::RecordedForm;

constexpr std::int64_t kMaxHeaderBytes = std::int64_t{64} << 20;

/// A file that says nothing about its cache gets these, and reports say so.
constexpr std::int32_t kAssumedSize = 128;
constexpr std::int32_t kAssumedElementBytes = 2;

/// Protobuf reports broken text to standard error by itself; our one line is enough.
template <class Message>
bool parse(Message& message, const std::string& payload) {
  const google::protobuf::LogSilencer silencer;
  return message.ParseFromString(payload);
}

Result<attention::RecordingInfo> info_of(const v1::AttentionHeader& header) {
  if (header.version() != 1)
    return bad_input("expected version 1, found " + std::to_string(header.version())).at_field("version");
  attention::RecordingInfo info;
  const auto number = [](std::uint32_t value) {
    return static_cast<std::int32_t>(std::min<std::uint32_t>(value, INT32_MAX));
  };
  const auto& model = header.model();
  info.model = model.name();
  info.layers = number(model.layers());
  info.query_heads = number(model.query_heads());
  info.kv_heads = number(model.kv_heads());
  info.key_size = number(model.key_size());
  info.value_size = number(model.value_size());
  info.cache_element_bytes = number(model.cache_element_bytes());
  switch (header.form()) {
    case v1::ATTENTION_FORM_DENSE_ROWS:
      info.form = RecordedForm::kDenseRows;
      break;
    case v1::ATTENTION_FORM_TOP_ENTRIES:
      info.form = RecordedForm::kTopEntries;
      break;
    case v1::ATTENTION_FORM_TENSORS:
      info.form = RecordedForm::kTensors;
      break;
    default:
      return bad_input("expected 1 to 3, found " + std::to_string(header.form())).at_field("form");
  }
  if (header.element() < v1::ATTENTION_ELEMENT_F64 || header.element() > v1::ATTENTION_ELEMENT_BF16)
    return bad_input("expected 1 to 4, found " + std::to_string(header.element())).at_field("element");
  info.element = static_cast<Element>(header.element() - 1);
  info.logit_scale = info.form == RecordedForm::kTensors ? header.logit_scale() : 1.0;
  info.has_values = info.form == RecordedForm::kTensors && header.has_values();
  info.positions = header.positions();
  info.source = header.source();
  info.recorded_by = header.recorded_by();
  for (const auto& sequence : header.sequences())
    info.sequences.push_back({sequence.name(), sequence.tokens(), sequence.prompt_tokens()});
  KVPLAN_TRY_DO(check_kva_limits(info));
  info.group = info.query_heads / info.kv_heads;
  if (info.key_size == 0 || info.value_size == 0 || info.cache_element_bytes == 0) {
    info.sizes_assumed = true;
    if (info.key_size == 0) info.key_size = kAssumedSize;
    if (info.value_size == 0) info.value_size = kAssumedSize;
    if (info.cache_element_bytes == 0) info.cache_element_bytes = kAssumedElementBytes;
  }
  return info;
}

/// Which parts a form has, and of how many heads.
std::int64_t heads_of(const attention::RecordingInfo& info, ChunkPart part) {
  const bool tensors = info.form == RecordedForm::kTensors;
  switch (part) {
    case ChunkPart::kRows:
      return tensors ? 0 : info.query_heads;
    case ChunkPart::kQueries:
      return tensors ? info.query_heads : 0;
    case ChunkPart::kKeys:
      return tensors ? info.kv_heads : 0;
    case ChunkPart::kValues:
      return info.has_values ? info.kv_heads : 0;
  }
  return 0;
}

Status check_entry(const attention::RecordingInfo& info, const ChunkEntry& entry) {
  const auto below = [](std::string_view field, std::int64_t value, std::int64_t limit) -> Status {
    if (value < limit) return Done{};
    return bad_input("expected less than " + std::to_string(limit) + ", found " + std::to_string(value))
        .at_field(field);
  };
  KVPLAN_TRY_DO(below("sequence", entry.sequence, static_cast<std::int64_t>(info.sequences.size())));
  KVPLAN_TRY_DO(below("layer", entry.layer, info.layers));
  if (entry.part < ChunkPart::kRows || entry.part > ChunkPart::kValues || heads_of(info, entry.part) == 0)
    return bad_input("a part that a file of this form does not have: " +
                     std::to_string(static_cast<std::uint32_t>(entry.part)))
        .at_field("part");
  KVPLAN_TRY_DO(below("head", entry.head, heads_of(info, entry.part)));
  const std::int64_t tokens = info.sequences[entry.sequence].tokens;
  if (entry.tokens == 0 || entry.first_token >= tokens || entry.tokens > tokens - entry.first_token)
    return bad_input("expected tokens inside the sequence's " + std::to_string(tokens) + ", found " +
                     std::to_string(entry.tokens) + " from " + std::to_string(entry.first_token))
        .at_field("tokens");
  const auto size = raw_size(info, entry);
  if (size.least > kMaxChunkBytes)
    return bad_input("a chunk of " + std::to_string(size.least) + " bytes, at most " +
                     std::to_string(kMaxChunkBytes) + " are allowed")
        .at_field("tokens");
  return Done{};
}

Result<std::vector<ChunkEntry>> entries_of(const v1::AttentionIndex& index,
                                           const attention::RecordingInfo& info) {
  const int count = index.sequence_size();
  for (const int other : {index.layer_size(), index.head_size(), index.part_size(), index.first_token_size(),
                          index.tokens_size(), index.offset_size()})
    if (other != count)
      return bad_input("columns of different lengths: " + std::to_string(count) + " and " +
                       std::to_string(other));
  std::vector<ChunkEntry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    ChunkEntry entry{.sequence = index.sequence(i),
                     .layer = index.layer(i),
                     .head = index.head(i),
                     .part = static_cast<ChunkPart>(index.part(i)),
                     .first_token = index.first_token(i),
                     .tokens = index.tokens(i),
                     .offset = static_cast<std::int64_t>(
                         std::min<std::uint64_t>(index.offset(i), std::uint64_t{1} << 62))};
    const std::string field = "index[" + std::to_string(i) + "]";
    auto status = check_entry(info, entry);
    if (!status.ok()) return bad_input(status.error().message).at_field(field + "." + status.error().field);
    if (!entries.empty()) {
      const ChunkEntry& before = entries.back();
      if (!(before.stream() < entry.stream()) &&
          !(before.stream() == entry.stream() && before.first_token + before.tokens <= entry.first_token))
        return bad_input("out of order or overlapping the entry before it").at_field(field);
    }
    entries.push_back(entry);
  }
  return entries;
}

class KvaRecording final : public attention::Recording {
 public:
  KvaRecording(ChunkSource source, attention::RecordingInfo info, std::vector<ChunkEntry> entries,
               std::int64_t max_layer_bytes)
      : source_(std::move(source)),
        info_(std::move(info)),
        entries_(std::move(entries)),
        max_layer_bytes_(max_layer_bytes) {}

  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }

  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    KVPLAN_TRY(const LayerPlan plan, plan_of(sequence, layer));
    if (info_.form != RecordedForm::kTensors) return open_row_layer(plan);
    KVPLAN_TRY(attention::LayerTensors tensors, read_tensor_layer(plan));
    return attention::rows_from_tensors(std::move(tensors));
  }

  [[nodiscard]] Result<attention::LayerTensors> tensors(std::int32_t sequence,
                                                        std::int32_t layer) const override {
    if (info_.form != RecordedForm::kTensors) {
      auto refused = Recording::tensors(sequence, layer);
      return std::move(refused).error().at_file(source_.file->name());
    }
    KVPLAN_TRY(const LayerPlan plan, plan_of(sequence, layer));
    return read_tensor_layer(plan);
  }

 private:
  [[nodiscard]] Result<LayerPlan> plan_of(std::int32_t sequence, std::int32_t layer) const {
    const auto place = std::pair(static_cast<std::uint32_t>(sequence), static_cast<std::uint32_t>(layer));
    const auto of_layer = [](const ChunkEntry& entry) { return std::pair(entry.sequence, entry.layer); };
    const auto begin =
        std::lower_bound(entries_.begin(), entries_.end(), place,
                         [&](const auto& entry, const auto& at) { return of_layer(entry) < at; });
    const auto end = std::upper_bound(begin, entries_.end(), place, [&](const auto& at, const auto& entry) {
      return at < of_layer(entry);
    });
    if (begin == end)
      return bad_input("layer " + std::to_string(layer) + " of sequence " + std::to_string(sequence) +
                       " was not recorded")
          .at_file(source_.file->name());
    return LayerPlan{.source = source_,
                     .info = &info_,
                     .entries = std::span<const ChunkEntry>(begin, end),
                     .tokens = info_.sequences[static_cast<std::size_t>(sequence)].tokens,
                     .max_bytes = max_layer_bytes_};
  }

  ChunkSource source_;
  attention::RecordingInfo info_;
  std::vector<ChunkEntry> entries_;
  std::int64_t max_layer_bytes_;
};

}  // namespace

Result<std::shared_ptr<const attention::Recording>> open_kva(std::shared_ptr<const RandomAccess> file,
                                                             const KvaOptions& options) {
  const auto begin = static_cast<std::int64_t>(kKvaMagic.size());
  std::string magic(kKvaMagic.size(), '\0');
  if (file->size() == 0) return bad_input("the file is empty").at_file(file->name());
  if (file->size() >= begin) KVPLAN_TRY_DO(file->read(0, magic.data(), begin));
  if (magic != kKvaMagic)
    return bad_input("not an attention recording: the first 8 bytes are not those of a .kva file")
        .at_file(file->name())
        .at_byte(0);
  KVPLAN_TRY(const std::int64_t index_at, read_trailer(*file, options.check_sums));
  KVPLAN_TRY(const std::string head,
             read_frame(*file, FrameKind::kHeader, begin, index_at, kMaxHeaderBytes, options.check_sums));
  const auto located = [&](Error error, std::int64_t at) -> Error {
    return std::move(error).at_file(file->name()).at_byte(at);
  };
  v1::AttentionHeader header;
  if (!parse(header, head)) return located(bad_input("the header is no AttentionHeader message"), begin);
  auto info = info_of(header);
  if (!info.ok()) return located(std::move(info).error(), begin);
  KVPLAN_TRY(const std::string columns,
             read_frame(*file, FrameKind::kIndex, index_at, file->size() - kTrailerBytes, kMaxPayloadBytes,
                        options.check_sums));
  v1::AttentionIndex index;
  if (!parse(index, columns)) return located(bad_input("the index is no AttentionIndex message"), index_at);
  auto entries = entries_of(index, info.value());
  if (!entries.ok()) return located(std::move(entries).error(), index_at);
  ChunkSource source{.file = std::move(file), .end = index_at, .check_sums = options.check_sums};
  return std::shared_ptr<const attention::Recording>(std::make_shared<KvaRecording>(
      std::move(source), std::move(info).value(), std::move(entries).value(), options.max_layer_bytes));
}

}  // namespace kvplan::io
