// The rule that a block is evicted only after the blocks that follow it (parameter `leaves`): descendants of an evicted
// block can no longer be found and only take up room. Radix caches follow this rule: they evict only leaves of the tree
// (sgl-project/sglang v0.5.5, mem_cache/radix_cache.py, `evict`; NVIDIA/TensorRT-LLM, kv cache manager's
// evictionPolicy).
//
// A policy does not know the rule. Its caller allows only leaves as victims and reports blocks that become leaves
// (may_go in policy.h).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/replacement/use.h"

namespace kvplan::replacement {

/// Blocks in a forest: each follows the block before it in the prompt in which it was first seen, or no block. Only
/// followers that protect a block from eviction are counted; the user decides which followers do.
class Leaves {
 public:
  /// The block follows `before` (kNoId: none). Only the first call for a block counts. REQUIRES: this was
  /// called for `before` earlier.
  void follows(Id id, Id before) {
    if (id >= nodes_.size()) nodes_.resize(std::size_t{id} + 1);
    Node& node = nodes_[id];
    if (node.known) return;
    node.known = true;
    node.before = before;
  }
  /// From now on the block protects the block before it. REQUIRES: follows was called; it does not protect it yet.
  void enter(Id id) {
    if (const Id before = nodes_[id].before; before != kNoId) ++nodes_[before].behind;
  }
  /// The block no longer protects the block before it. Returns the latter if it is a leaf now, else kNoId.
  Id leave(Id id) {
    const Id before = nodes_[id].before;
    return before != kNoId && --nodes_[before].behind == 0 ? before : kNoId;
  }
  /// True: no follower protects the block. REQUIRES: follows was called.
  [[nodiscard]] bool is_leaf(Id id) const { return nodes_[id].behind == 0; }

 private:
  struct Node {
    Id before{kNoId};
    std::uint32_t behind{0};
    bool known{false};
  };
  std::vector<Node> nodes_;
};

}  // namespace kvplan::replacement
