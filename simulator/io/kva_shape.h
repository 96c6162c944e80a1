// Properties of a .kva file's chunks that follow from its header: which parts exist, for which layers and heads, and
// the sizes of their numbers. For both versions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/attention/recording.h"

namespace kvplan::io {

class KvaShape {
 public:
  explicit KvaShape(const attention::RecordingInfo& info);

  [[nodiscard]] int version() const { return version_; }
  /// Null if the layer was not recorded.
  [[nodiscard]] const attention::LayerInfo* layer(std::int64_t number) const;
  /// The element type of a part; nothing if the file does not have the part.
  [[nodiscard]] std::optional<attention::Element> element(attention::Part part) const;
  [[nodiscard]] std::int64_t element_bytes(attention::Part part) const;
  /// True: rows list only their largest weights.
  [[nodiscard]] bool lists_top(attention::Part part) const;
  /// Numbers of this part for each token; 0 for rows. REQUIRES: the layer was recorded, or the part belongs to a
  /// sequence.
  [[nodiscard]] std::int64_t numbers(attention::Part part, std::int64_t layer) const;
  /// Number of heads of a part in the model; head numbers are below it.
  [[nodiscard]] std::int32_t heads(attention::Part part, const attention::LayerInfo& layer) const;
  /// True: this head of the model was recorded.
  [[nodiscard]] bool has_head(attention::Part part, const attention::LayerInfo& layer,
                              std::int32_t head) const;
  /// Numbers (in the model) of the recorded heads, ascending.
  [[nodiscard]] std::vector<std::int32_t> recorded_heads(attention::Part part,
                                                         const attention::LayerInfo& layer) const;

 private:
  int version_;
  std::vector<attention::StoredPart> stored_;
  std::vector<attention::LayerInfo> layers_;  ///< version 1: one entry, for all layers
  std::int64_t layer_count_;
  std::int64_t hidden_size_;
  bool lists_top_;  ///< version 1
};

/// True for parts of a sequence, not of a layer: stored as layer 0, head 0.
constexpr bool of_sequence(attention::Part part) {
  return part == attention::Part::kTokenClasses || part == attention::Part::kPositions;
}
/// True for parts with numbers for each token of a layer.
constexpr bool of_tokens(attention::Part part) {
  return part < attention::Part::kOutputWeights;
}
constexpr bool is_rows(attention::Part part) {
  return part == attention::Part::kRows || part == attention::Part::kTopRows;
}

}  // namespace kvplan::io
