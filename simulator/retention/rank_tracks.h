// Which tracks of a policy's drops belong to the tables of a rank, if these are not simply the rank's own: ranks that
// share tables hold blocks for each other, and recordings of another shape stand for the model's layers and heads.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/courses/drops_of_part.h"
#include "simulator/memory/allocators.h"

namespace kvplan::runs {

/// The tracks of a model or recording: layers, and in each layer the KV heads that may keep different tokens (1: all
/// keep the same).
struct TrackShape {
  std::int64_t layers{1};
  std::int64_t in_layer{1};
  friend bool operator==(const TrackShape&, const TrackShape&) = default;
};

/// The position among `known` that stands for `place` of `places`: the one at the same relative depth, comparing the
/// middles.
constexpr std::int64_t standing_place(std::int64_t place, std::int64_t places, std::int64_t known) {
  return (2 * place + 1) * known / (2 * places);
}

/// The layers and heads of the model that a rank stores: in each of these layers the first `heads` heads.
struct RankShare {
  std::int64_t first_layer{0};
  std::int64_t layers{1};
  std::int64_t heads{1};
};

class RankTracks {
 public:
  /// Tracks are ordered by layer, within a layer by head; `known` is the shape for which drops are known. REQUIRES:
  /// `own` lies in the model; `model.in_layer` is 1, or all its KV heads.
  RankTracks(const TrackShape& known, const TrackShape& model, const RankShare& own)
      : known_(known), model_(model), own_(own) {}

  [[nodiscard]] std::int64_t known() const { return known_.layers * known_.in_layer; }
  /// The tracks of one of the rank's tables: of all layers; of its layer `table`; or of head `table` of all its
  /// layers, in order. Ascending, each track once. Tracks that stand for nothing of the model are left out.
  [[nodiscard]] std::vector<core::PartTrack> of_table(memory::TablePer per, std::int64_t table) const;
  /// Units of the tracks of `tables` tables, one table after the other.
  [[nodiscard]] std::vector<std::int32_t> units(memory::TablePer per, std::int64_t tables) const;

 private:
  [[nodiscard]] std::vector<core::PartTrack> of_layers(std::int64_t first, std::int64_t layers) const;
  /// The track of a KV head of a layer; all heads of a layer may share one.
  [[nodiscard]] std::int64_t track(std::int64_t layer, std::int64_t head) const {
    const std::int64_t place = model_.in_layer == 1 ? 0 : head;
    return standing_place(layer, model_.layers, known_.layers) * known_.in_layer +
           standing_place(place, model_.in_layer, known_.in_layer);
  }
  TrackShape known_, model_;
  RankShare own_;
};

}  // namespace kvplan::runs
