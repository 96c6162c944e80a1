#include "simulator/io/kva_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulator/io/kva_contents.h"
#include "simulator/io/kva_rows.h"

namespace kvplan::io {
namespace {

using attention::LayerInfo;
using attention::Part;

class KvaRecording final : public attention::Recording {
 public:
  KvaRecording(ChunkSource source, KvaContents contents, std::int64_t max_layer_bytes)
      : source_(std::move(source)),
        info_(std::move(contents.info)),
        entries_(std::move(contents.entries)),
        shape_(info_),
        max_layer_bytes_(max_layer_bytes) {}

  [[nodiscard]] const attention::RecordingInfo& info() const override { return info_; }

  [[nodiscard]] Result<std::unique_ptr<attention::LayerRows>> open(std::int32_t sequence,
                                                                   std::int32_t layer) const override {
    KVPLAN_TRY(const LayerPlan plan, plan_of(sequence, layer));
    const attention::PartSet parts = plan.layer.parts;
    const bool rows = parts.has(Part::kRows) || parts.has(Part::kTopRows);
    const bool beside = parts.has(Part::kQueries) || parts.has(Part::kKeys) || parts.has(Part::kValues) ||
                        parts.has(Part::kValueNorms) || parts.has(Part::kOutputWeights);
    if (!plan.layer.has_rows())
      return bad_input("layer " + std::to_string(layer) +
                       " has neither attention rows nor the queries and keys to compute them")
          .at_file(source_.file->name());
    if (!beside) return open_row_layer(plan);
    KVPLAN_TRY(attention::LayerTensors tensors, read_tensor_layer(plan));
    if (!rows) return attention::rows_from_tensors(std::move(tensors));
    KVPLAN_TRY(auto recorded, open_row_layer(plan));
    return attention::rows_beside_tensors(std::move(recorded), std::move(tensors));
  }

  [[nodiscard]] Result<attention::LayerTensors> tensors(std::int32_t sequence,
                                                        std::int32_t layer) const override {
    KVPLAN_TRY(const LayerPlan plan, plan_of(sequence, layer));
    if (plan.layer.has_tensors()) return read_tensor_layer(plan);
    auto refused = Recording::tensors(sequence, layer);
    return std::move(refused).error().at_file(source_.file->name());
  }

  [[nodiscard]] std::int64_t tokens(std::int32_t sequence, std::int32_t layer) const override {
    const LayerInfo* of = shape_.layer(layer);
    if (of == nullptr) return 0;
    const auto& is = info_.sequences[static_cast<std::size_t>(sequence)];
    const auto number = static_cast<std::uint32_t>(sequence);
    if (!is.complete) return whole_tokens(shape_, entries_, number, *of);
    const auto entries = entries_of(entries_, number, static_cast<std::uint32_t>(layer));
    const bool any = std::any_of(entries.begin(), entries.end(),
                                 [](const ChunkEntry& entry) { return of_tokens(entry.part); });
    return any ? is.tokens : 0;
  }

  [[nodiscard]] Result<std::vector<std::uint8_t>> token_classes(std::int32_t sequence) const override {
    if (!shape_.element(Part::kTokenClasses)) return std::vector<std::uint8_t>{};
    return read_classes(sequence_plan(sequence), static_cast<std::int64_t>(info_.token_classes.size()));
  }

  [[nodiscard]] Result<std::vector<float>> numbers(std::int32_t sequence, std::int32_t layer, Part part,
                                                   std::int32_t head) const override {
    KVPLAN_TRY(const LayerPlan plan, plan_of(sequence, layer));
    const bool has = shape_.version() == 1 ? shape_.element(part).has_value() : plan.layer.parts.has(part);
    if (!has || is_rows(part)) {
      auto refused = Recording::numbers(sequence, layer, part, head);
      return std::move(refused).error().at_file(source_.file->name());
    }
    return read_numbers(plan, part, static_cast<std::uint32_t>(head));
  }

 private:
  [[nodiscard]] Result<LayerPlan> plan_of(std::int32_t sequence, std::int32_t layer) const {
    const std::int64_t tokens = this->tokens(sequence, layer);
    if (tokens == 0) {
      auto missing = attention::check_recorded_layer(*this, sequence, layer);
      KVPLAN_CHECK(!missing.ok(), sequence, layer);
      Error error = std::move(missing).error();
      error.field.clear();
      return std::move(error).at_file(source_.file->name());
    }
    const auto s = static_cast<std::uint32_t>(sequence);
    const auto l = static_cast<std::uint32_t>(layer);
    return LayerPlan{.source = source_,
                     .shape = &shape_,
                     .layer = info_.layer(layer),
                     .entries = entries_of(entries_, s, l),
                     .sequence = entries_of(entries_, s, 0),
                     .weights = entries_of(entries_, 0, l),
                     .tokens = tokens,
                     .max_bytes = max_layer_bytes_};
  }
  /// For sequence parts.
  [[nodiscard]] LayerPlan sequence_plan(std::int32_t sequence) const {
    return LayerPlan{.source = source_,
                     .shape = &shape_,
                     .layer = {},
                     .entries = {},
                     .sequence = entries_of(entries_, static_cast<std::uint32_t>(sequence), 0),
                     .weights = {},
                     .tokens = info_.sequences[static_cast<std::size_t>(sequence)].tokens,
                     .max_bytes = max_layer_bytes_};
  }

  ChunkSource source_;
  attention::RecordingInfo info_;
  std::vector<ChunkEntry> entries_;
  KvaShape shape_;
  std::int64_t max_layer_bytes_;
};

}  // namespace

Result<std::shared_ptr<const attention::Recording>> open_kva(std::shared_ptr<const RandomAccess> file,
                                                             const KvaOptions& options) {
  KVPLAN_TRY(KvaContents contents, read_contents(file, options.check_sums));
  ChunkSource source{.file = std::move(file), .end = contents.end, .check_sums = options.check_sums};
  return std::shared_ptr<const attention::Recording>(
      std::make_shared<KvaRecording>(std::move(source), std::move(contents), options.max_layer_bytes));
}

}  // namespace kvplan::io
