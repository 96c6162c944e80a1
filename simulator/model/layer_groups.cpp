#include "simulator/model/layer_groups.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {
namespace {

/// A group of equal layers.
struct Alike {
  LayerCache cache;
  std::vector<std::int64_t> layers;  ///< ascending

  /// What they have is a state.
  [[nodiscard]] bool states() const { return cache.has_state(); }
};

/// In the order of their first layers. A layer with both tokens and a state is in two kinds; one with nothing to store
/// is in none where others have states.
std::vector<Alike> alike(const ModelShape& shape) {
  const bool states = shape.state_layers() > 0;
  std::vector<Alike> kinds;
  std::int64_t layer = 0;
  const auto add = [&](const LayerCache& cache, std::int64_t layers) {
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Alike& k) { return k.cache == cache; });
    if (kind == kinds.end()) kind = kinds.insert(kind, {cache, {}});
    for (std::int64_t i = 0; i < layers; ++i) kind->layers.push_back(layer + i);
  };
  for (const LayerRun& run : shape.runs) {
    LayerCache tokens = run.cache;
    if (states) tokens.state_bytes = tokens.whole_state_bytes = 0;
    if (!states || tokens.kind != CacheKind::kNone) add(tokens, run.layers);
    if (run.cache.has_state())
      add({.kind = CacheKind::kNone,
           .state_bytes = run.cache.state_bytes,
           .whole_state_bytes = run.cache.whole_state_bytes},
          run.layers);
    layer += run.layers;
  }
  return kinds;
}

}  // namespace

LayerGroups layer_groups(const ModelShape& shape, std::int64_t first, std::int64_t layers) {
  const std::int64_t end = layers < 0 ? shape.layers : first + layers;
  KVPLAN_CHECK(0 <= first && first < end && end <= shape.layers, first, end);
  const std::vector<Alike> kinds = alike(shape);
  std::size_t least = kinds.front().layers.size();
  std::size_t most = least;
  for (const Alike& kind : kinds) {
    least = std::min(least, kind.layers.size());
    most = std::max(most, kind.layers.size());
  }
  const std::size_t size = 4 * most < 5 * least ? most : least;
  LayerGroups out;
  for (const Alike& kind : kinds) {
    const std::size_t groups = (kind.layers.size() + size - 1) / size;
    std::vector<LayerGroup> of_kind(groups, {0, kind.cache.window});
    for (std::size_t i = 0; i < kind.layers.size(); ++i)
      if (kind.layers[i] >= first && kind.layers[i] < end) ++of_kind[i % groups].layers;
    for (const LayerGroup& group : of_kind) out.size = std::max(out.size, group.layers);
    if (!kind.states()) {
      out.groups.insert(out.groups.end(), of_kind.begin(), of_kind.end());
      continue;
    }
    out.states.blocks += static_cast<std::int64_t>(groups);
    for (const LayerGroup& group : of_kind) out.states.layers += group.layers;
  }
  return out;
}

std::vector<LayerKind> kinds_of(const std::vector<LayerGroup>& groups, const StateBlocks& states) {
  std::vector<LayerKind> kinds;
  for (const LayerGroup& group : groups) {
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const LayerKind& k) { return k.window == group.window; });
    if (kind == kinds.end()) kind = kinds.insert(kind, {.window = group.window});
    ++kind->groups;
    kind->layers += group.layers;
  }
  if (states.blocks > 0) kinds.push_back({.groups = states.blocks, .layers = states.layers, .states = true});
  return kinds;
}

std::vector<WindowLayers> windows_of(const std::vector<LayerGroup>& groups) {
  std::vector<WindowLayers> out;
  for (const LayerGroup& group : groups) {
    if (group.window == 0) continue;
    const auto at =
        std::lower_bound(out.begin(), out.end(), group.window,
                         [](const WindowLayers& w, std::int64_t window) { return w.window < window; });
    if (at != out.end() && at->window == group.window) {
      at->layers += group.layers;
    } else {
      out.insert(at, {group.window, group.layers});
    }
  }
  return out;
}

std::vector<WindowLayers> windows_of(const ModelShape& shape) {
  std::vector<LayerGroup> runs;
  for (const LayerRun& run : shape.runs) runs.push_back({run.layers, run.cache.window});
  return windows_of(runs);
}

}  // namespace kvplan::model
