#include "simulator/retention/rank_tracks.h"

#include <map>

namespace kvplan::runs {

/// Tracks of other ranks are included, because these have heads of the same layers and hold blocks for them.
std::vector<core::PartTrack> RankTracks::of_layers(std::int64_t first, std::int64_t layers) const {
  std::map<std::int64_t, std::int64_t> units;
  for (std::int64_t l = first; l < first + layers; ++l)
    for (std::int64_t h = 0; h < model_.in_layer; ++h) {
      const bool own = own_.first_layer <= l && l < own_.first_layer + own_.layers && h < own_.heads;
      units[track(l, h)] += own ? 1 : 0;
    }
  std::vector<core::PartTrack> out;
  for (const auto& [known, cells] : units)
    out.push_back({static_cast<std::int32_t>(known), static_cast<std::int32_t>(cells)});
  return out;
}

std::vector<core::PartTrack> RankTracks::of_table(memory::TablePer per, std::int64_t table) const {
  if (per == memory::TablePer::kRequest) return of_layers(0, model_.layers);
  if (per == memory::TablePer::kLayer) return of_layers(own_.first_layer + table, 1);
  const std::int64_t layer = own_.first_layer + table / own_.heads;
  return {{static_cast<std::int32_t>(track(layer, table % own_.heads)), 1}};
}

std::vector<std::int32_t> RankTracks::units(memory::TablePer per, std::int64_t tables) const {
  std::vector<std::int32_t> out;
  for (std::int64_t t = 0; t < tables; ++t)
    for (const core::PartTrack& each : of_table(per, t)) out.push_back(each.units);
  return out;
}

}  // namespace kvplan::runs
