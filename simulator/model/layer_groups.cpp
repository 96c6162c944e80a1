#include "simulator/model/layer_groups.h"

#include <algorithm>

#include "simulator/base/units.h"
#include "simulator/model/model_shape.h"

namespace kvplan::model {
namespace {

/// Layers by kind, in the order of their first layers.
std::vector<LayerRun> kinds_of(const ModelShape& shape) {
  std::vector<LayerRun> kinds;
  for (const LayerRun& run : shape.runs) {
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const LayerRun& kind) { return kind.cache == run.cache; });
    if (same == kinds.end()) {
      kinds.push_back(run);
    } else {
      same->layers += run.layers;
    }
  }
  return kinds;
}

}  // namespace

LayerGroups layer_groups(const ModelShape& shape) {
  const std::vector<LayerRun> kinds = kinds_of(shape);
  const auto [least, most] = std::minmax_element(
      kinds.begin(), kinds.end(), [](const LayerRun& a, const LayerRun& b) { return a.layers < b.layers; });
  LayerGroups out{.size = 4 * most->layers < 5 * least->layers ? most->layers : least->layers, .groups = {}};
  for (const LayerRun& kind : kinds) {
    const std::int64_t groups = ceil_div(kind.layers, out.size);
    for (std::int64_t i = 0; i < groups; ++i)
      out.groups.push_back({ceil_div(kind.layers - i, groups), kind.cache.window});
  }
  return out;
}

std::vector<LayerKind> kinds_of(const std::vector<LayerGroup>& groups) {
  std::vector<LayerKind> kinds;
  for (const LayerGroup& group : groups) {
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const LayerKind& k) { return k.window == group.window; });
    if (kind == kinds.end()) kind = kinds.insert(kind, {.window = group.window});
    ++kind->groups;
    kind->layers += group.layers;
  }
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
