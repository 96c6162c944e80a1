// The rule that a block goes only after those behind it (parameter `leaves`): what lies behind a block that is gone can
// no longer be found, and takes room for nothing. Radix caches follow it: of a tree only leaves go
// (sgl-project/sglang v0.5.5, mem_cache/radix_cache.py, `evict`; NVIDIA/TensorRT-LLM, kv cache manager's
// evictionPolicy).
//
// A policy knows nothing of this. Whoever asks it for a victim lets only leaves go, and tells it of blocks that become
// leaves (may_go in policy.h).
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/replacement/use.h"

namespace kvplan::replacement {

/// Blocks in a forest: each follows the one before it in the prompt in which it was first seen, or none. Counted are
/// those that keep the one before them from going; which these are, the user says.
class Leaves {
 public:
  /// The block follows `before` (kNoId: none). What was said of it first holds. REQUIRES: something was said of
  /// `before` earlier.
  void follows(Id id, Id before) {
    if (id >= nodes_.size()) nodes_.resize(std::size_t{id} + 1);
    Node& node = nodes_[id];
    if (node.known) return;
    node.known = true;
    node.before = before;
  }
  /// From now on it keeps the one before it from going. REQUIRES: follows was told; it does not yet.
  void enter(Id id) {
    if (const Id before = nodes_[id].before; before != kNoId) ++nodes_[before].behind;
  }
  /// It does no longer. Returns the block before it if that is a leaf now, else kNoId.
  Id leave(Id id) {
    const Id before = nodes_[id].before;
    return before != kNoId && --nodes_[before].behind == 0 ? before : kNoId;
  }
  /// Nothing keeps it from going that lies behind it. REQUIRES: follows was told.
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
