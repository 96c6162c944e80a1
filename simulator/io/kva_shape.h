// What the header of a .kva file says about its chunks: which parts there are, of which layers and heads, and how large
// their numbers are. Both versions.
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
  /// Null where the layer is not among the recorded ones.
  [[nodiscard]] const attention::LayerInfo* layer(std::int64_t number) const;
  /// How the numbers of a part are stored; nothing where the file has no such part.
  [[nodiscard]] std::optional<attention::Element> element(attention::Part part) const;
  [[nodiscard]] std::int64_t element_bytes(attention::Part part) const;
  /// True where rows list their largest weights only.
  [[nodiscard]] bool lists_top(attention::Part part) const;
  /// Numbers of a token of this part; of rows 0. REQUIRES: the layer was recorded, or the part is of a sequence.
  [[nodiscard]] std::int64_t numbers(attention::Part part, std::int64_t layer) const;
  /// Heads of a part in the model: their numbers are below it.
  [[nodiscard]] std::int32_t heads(attention::Part part, const attention::LayerInfo& layer) const;
  /// Whether this head of the model is among the recorded ones.
  [[nodiscard]] bool has_head(attention::Part part, const attention::LayerInfo& layer,
                              std::int32_t head) const;
  /// Numbers in the model of the recorded heads, ascending.
  [[nodiscard]] std::vector<std::int32_t> recorded_heads(attention::Part part,
                                                         const attention::LayerInfo& layer) const;

 private:
  int version_;
  std::vector<attention::StoredPart> stored_;
  std::vector<attention::LayerInfo> layers_;  ///< of version 1 one, for all
  std::int64_t layer_count_;
  std::int64_t hidden_size_;
  bool lists_top_;  ///< version 1
};

/// Parts of a sequence, not of a layer: stored as layer 0, head 0.
constexpr bool of_sequence(attention::Part part) {
  return part == attention::Part::kTokenClasses || part == attention::Part::kPositions;
}
/// Parts of each token of a layer.
constexpr bool of_tokens(attention::Part part) {
  return part < attention::Part::kOutputWeights;
}
constexpr bool is_rows(attention::Part part) {
  return part == attention::Part::kRows || part == attention::Part::kTopRows;
}

}  // namespace kvplan::io
