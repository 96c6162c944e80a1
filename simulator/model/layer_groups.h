// Which layers of a model share a block, where full-attention and sliding-window layers hold their keys and values in
// blocks of one size from one pool (vllm-project/vllm v0.15.1, vllm/v1/core/kv_cache_utils.py,
// _get_kv_cache_groups_uniform_page_size).
//
// Layers of one type (shape and window) are one kind. The size of a group is the least number of layers of a kind;
// the greatest, where that is less than 1.25 times the least. A kind of n layers is split into ceil(n / size)
// groups, layer i into group i modulo their number, so that their layers differ by one at most. A block has room for
// `size` layers: what a group lacks of them is padding.
//
// Pipeline stages: groups are those of the whole model, since all stages have one table of blocks; a stage has its
// layers of each, perhaps none, and room in a block for the most of them (get_kv_cache_configs and
// get_kv_cache_config_from_groups there).
#pragma once

#include <cstdint>
#include <vector>

namespace kvplan::model {

struct ModelShape;

struct LayerGroup {
  std::int64_t layers{0};  ///< at most the size of a group; of a stage, perhaps none
  std::int64_t window{0};  ///< tokens that a query sees, itself included; 0: all
  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

struct LayerGroups {
  std::int64_t size{0};            ///< layers that a block has room for
  std::vector<LayerGroup> groups;  ///< kinds in the order of their first layers
};

/// On a stage that has layers [first, first + layers) of the model; below 0: all from there on. REQUIRES: it has some.
LayerGroups layer_groups(const ModelShape& shape, std::int64_t first = 0, std::int64_t layers = -1);

/// The groups whose layers see as much of the context.
struct LayerKind {
  std::int64_t window{0};  ///< as in LayerGroup
  std::int64_t groups{0};
  std::int64_t layers{0};  ///< of all of them
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// In the order of their first groups.
std::vector<LayerKind> kinds_of(const std::vector<LayerGroup>& groups);

/// Layers that see a window of so many tokens, all together.
struct WindowLayers {
  std::int64_t window{0};
  std::int64_t layers{0};
  friend bool operator==(const WindowLayers&, const WindowLayers&) = default;
};

/// The different windows of groups, the smallest first.
std::vector<WindowLayers> windows_of(const std::vector<LayerGroup>& groups);
/// The same of a model's layers.
std::vector<WindowLayers> windows_of(const ModelShape& shape);

}  // namespace kvplan::model
