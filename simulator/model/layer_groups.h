// Which layers of a model share a block, if full-attention and sliding-window layers use blocks of one size from one
// pool (vllm-project/vllm v0.15.1, vllm/v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size).
//
// Layers of one type (shape and window) are one kind. The size of a group is the least number of layers of a kind; or
// the greatest, if that is less than 1.25 times the least. A kind of n layers is split into ceil(n / size) groups,
// layer i into group i modulo their number, so their numbers of layers differ by at most one. A block has room for
// `size` layers: missing layers of a group are padding.
//
// Layers with a state in place of a KV cache (or beside it) are kinds too: the same function there groups them by
// their spec (MambaSpec). A request holds one block of each of their groups for as long as it runs, however many tokens
// it has (single_type_kv_cache_manager.py, MambaManager, without prefix caching), so they have no entries in its block
// table and are only counted.
//
// Pipeline stages: groups are those of the whole model, since all stages have the same block table. A stage has its own
// layers of each group, perhaps none, and a block has room for the largest number of them (get_kv_cache_configs and
// get_kv_cache_config_from_groups there).
#pragma once

#include <cstdint>
#include <vector>

namespace kvplan::model {

struct ModelShape;

struct LayerGroup {
  std::int64_t layers{0};  ///< at most the size of a group; on a stage, perhaps none
  std::int64_t window{0};  ///< tokens that a query sees, its own included; 0: all
  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

/// The blocks that a request holds for states.
struct StateBlocks {
  std::int64_t blocks{0};  ///< groups of layers with states; 0: the model has none
  std::int64_t layers{0};  ///< layers of all these groups; on a stage, perhaps none
  std::int64_t slots{
      0};  ///< slots of a token in a block that the state of a layer fills; the rest is padding
  friend bool operator==(const StateBlocks&, const StateBlocks&) = default;
};

struct LayerGroups {
  std::int64_t size{0};            ///< layers that a block has room for
  std::vector<LayerGroup> groups;  ///< of tokens, ordered by the first layer of their kind
  StateBlocks states{};            ///< slots: not set
};

/// The groups of a stage with layers [first, first + layers) of the model; `layers` below 0: all layers from `first`
/// on. REQUIRES: the stage has layers.
LayerGroups layer_groups(const ModelShape& shape, std::int64_t first = 0, std::int64_t layers = -1);

/// The groups with the same window, or those with states.
struct LayerKind {
  std::int64_t window{0};  ///< as in LayerGroup
  std::int64_t groups{0};
  std::int64_t layers{0};  ///< layers of all these groups
  bool states{false};
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// The kinds, ordered by their first groups; states are the last kind.
std::vector<LayerKind> kinds_of(const std::vector<LayerGroup>& groups, const StateBlocks& states = {});

/// Number of layers with a window of this many tokens.
struct WindowLayers {
  std::int64_t window{0};
  std::int64_t layers{0};
  friend bool operator==(const WindowLayers&, const WindowLayers&) = default;
};

/// The different windows of groups, the smallest first.
std::vector<WindowLayers> windows_of(const std::vector<LayerGroup>& groups);
/// The different windows of a model's layers, in the same way.
std::vector<WindowLayers> windows_of(const ModelShape& shape);

}  // namespace kvplan::model
