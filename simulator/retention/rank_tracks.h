// Which tracks of what a policy drops the tables of a rank have, where these are not simply its own: ranks that share
// tables hold blocks for each other, and recordings of another shape stand for the model's layers and heads.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/courses/drops_of_part.h"
#include "simulator/memory/allocators.h"

namespace kvplan::plan {

/// Layers, and in each of them the sets of residents that a policy tells apart: its KV heads, or 1.
struct TrackShape {
  std::int64_t layers{1};
  std::int64_t in_layer{1};
  friend bool operator==(const TrackShape&, const TrackShape&) = default;
};

/// Which of `known` places stands for one of `places`: the one at the same depth, by the middles of both.
constexpr std::int64_t standing_place(std::int64_t place, std::int64_t places, std::int64_t known) {
  return (2 * place + 1) * known / (2 * places);
}

/// The layers and heads of the model that a rank stores: of each of these layers the first heads.
struct RankShare {
  std::int64_t first_layer{0};
  std::int64_t layers{1};
  std::int64_t heads{1};
};

class RankTracks {
 public:
  /// Tracks lie by layer, in each by head; `known` are those that drops are known of. REQUIRES: `own` lies
  /// in the model; `model.in_layer` is 1, or all its KV heads.
  RankTracks(const TrackShape& known, const TrackShape& model, const RankShare& own)
      : known_(known), model_(model), own_(own) {}

  [[nodiscard]] std::int64_t known() const { return known_.layers * known_.in_layer; }
  /// Of one of the rank's tables: of all layers; of its layer `table`; or of head `table` of all its layers, in order.
  /// Ascending; each track once. Those that stand for nothing of the model are left out.
  [[nodiscard]] std::vector<core::PartTrack> of_table(memory::TablePer per, std::int64_t table) const;
  /// Units of the tracks of so many tables, one after the other.
  [[nodiscard]] std::vector<std::int32_t> units(memory::TablePer per, std::int64_t tables) const;

 private:
  [[nodiscard]] std::vector<core::PartTrack> of_layers(std::int64_t first, std::int64_t layers) const;
  /// Of a KV head of a layer, which may be one with all others of it.
  [[nodiscard]] std::int64_t track(std::int64_t layer, std::int64_t head) const {
    const std::int64_t place = model_.in_layer == 1 ? 0 : head;
    return standing_place(layer, model_.layers, known_.layers) * known_.in_layer +
           standing_place(place, model_.in_layer, known_.in_layer);
  }
  TrackShape known_, model_;
  RankShare own_;
};

}  // namespace kvplan::plan
