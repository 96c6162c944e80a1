#include "simulator/io/kva_shape.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/io/kva_limits.h"

namespace kvplan::io {

using attention::LayerInfo;
using attention::Part;
using attention::RecordedForm;

KvaShape::KvaShape(const attention::RecordingInfo& info)
    : version_(info.version),
      stored_(info.stored),
      layers_(info.recorded_layers),
      layer_count_(info.layers),
      hidden_size_(info.hidden_size),
      lists_top_(info.form == RecordedForm::kTopEntries) {
  if (version_ != 1) return;
  layers_ = {info.layer(0)};
  if (info.form == RecordedForm::kTensors) {
    stored_ = {{Part::kQueries, info.element}, {Part::kKeys, info.element}};
    if (info.has_values) stored_.push_back({Part::kValues, info.element});
  } else {
    stored_ = {{Part::kRows, info.element}};
  }
}

const LayerInfo* KvaShape::layer(std::int64_t number) const {
  if (version_ == 1) return number >= 0 && number < layer_count_ ? layers_.data() : nullptr;
  const auto at = std::lower_bound(layers_.begin(), layers_.end(), number,
                                   [](const LayerInfo& layer, std::int64_t n) { return layer.layer < n; });
  return at != layers_.end() && at->layer == number ? &*at : nullptr;
}

std::optional<attention::Element> KvaShape::element(Part part) const {
  for (const attention::StoredPart& stored : stored_)
    if (stored.part == part) return stored.element;
  return std::nullopt;
}

std::int64_t KvaShape::element_bytes(Part part) const {
  const auto found = element(part);
  KVPLAN_CHECK(found.has_value());
  return io::element_bytes(*found);
}

bool KvaShape::lists_top(Part part) const {
  return part == Part::kTopRows || (version_ == 1 && lists_top_ && part == Part::kRows);
}

std::int64_t KvaShape::numbers(Part part, std::int64_t number) const {
  if (is_rows(part)) return 0;
  if (part == Part::kValueNorms || of_sequence(part)) return 1;
  if (part == Part::kLayerInputs || part == Part::kOutputWeights) return hidden_size_;
  const LayerInfo* of = layer(number);
  KVPLAN_CHECK(of != nullptr, number);
  return part == Part::kValues ? of->value_size : of->key_size;
}

std::int32_t KvaShape::heads(Part part, const LayerInfo& layer) const {
  if (is_rows(part) || part == Part::kQueries || part == Part::kOutputWeights) return layer.model_query_heads;
  if (part == Part::kLayerInputs || of_sequence(part)) return 1;
  return layer.model_kv_heads;
}

bool KvaShape::has_head(Part part, const LayerInfo& layer, std::int32_t head) const {
  const std::int32_t all = heads(part, layer);
  if (head < 0 || head >= all) return false;
  if (layer.recorded_kv_heads.empty() || part == Part::kLayerInputs || of_sequence(part)) return true;
  const std::int32_t of_kv = all / layer.model_kv_heads;
  return std::binary_search(layer.recorded_kv_heads.begin(), layer.recorded_kv_heads.end(), head / of_kv);
}

std::vector<std::int32_t> KvaShape::recorded_heads(Part part, const LayerInfo& layer) const {
  std::vector<std::int32_t> out;
  for (std::int32_t head = 0; head < heads(part, layer); ++head)
    if (has_head(part, layer, head)) out.push_back(head);
  return out;
}

}  // namespace kvplan::io
