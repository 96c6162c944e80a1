// The tracks of a policy's drops that belong to the tables of a rank, if they are not just the rank's own: ranks that
// share tables hold blocks for each other, and recordings of another shape replace the model's layers and heads.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/courses/drops_of_part.h"
#include "simulator/memory/allocators.h"

namespace kvplan::runs {

/// The tracks of a model or recording: its layers, and in each layer the number of KV heads that may keep different
/// tokens (1: all heads keep the same tokens).
struct TrackShape {
  std::int64_t layers{1};
  std::int64_t in_layer{1};
  friend bool operator==(const TrackShape&, const TrackShape&) = default;
};

/// Maps index `place` of `places` to an index below `known`, at the same relative depth (of the middle of
/// each).
constexpr std::int64_t standing_place(std::int64_t place, std::int64_t places, std::int64_t known) {
  return (2 * place + 1) * known / (2 * places);
}

/// The part of the model that a rank stores: some of its layers, and in each of them the first `heads` heads.
struct RankShare {
  std::int64_t first_layer{0};
  std::int64_t layers{1};
  std::int64_t heads{1};
};

class RankTracks {
 public:
  /// Tracks are ordered by layer, within a layer by head. `known`: the shape for which drops are known. REQUIRES: `own`
  /// lies in the model; `model.in_layer` is 1, or the number of its KV heads.
  RankTracks(const TrackShape& known, const TrackShape& model, const RankShare& own)
      : known_(known), model_(model), own_(own) {}

  [[nodiscard]] std::int64_t known() const { return known_.layers * known_.in_layer; }
  /// The tracks of one of the rank's tables: for all layers, for layer `table`, or for head number `table` of all its
  /// layers in order. Ascending, each track once. Tracks to which nothing of the model maps are left out.
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
