// The radix tree with which SGLang finds cached prefixes (sgl-project/sglang v0.5.5, commit 0c006b8809:
// python/sglang/srt/mem_cache/radix_cache.py, with the policy lru). It knows tokens, not slots; radix_pool.h counts
// their memory.
//
// A node is a run of tokens, whole pages, below its parent; the root has none and is never counted, locked or evicted.
// A child is found by its first page. Matching splits nodes and refreshes their access times, so a lookup changes what
// is evicted next.
//
// The clock is the tree's own: "a reading" is the next number. Each node visited in a match or an insertion takes one,
// in the order of the path, the root included; a new node takes two, the first of which is its access time. Only the
// order of readings decides anything.
//
// Costs: the time of an operation grows with the nodes and runs on its path, not with tokens; evicting a leaf takes the
// logarithm of the number of leaves. (SGLang makes a heap of all leaves for each call, with the same order.)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/prefix/tokens.h"

namespace kvplan::prefix {

/// Id of a node, valid as long as it is in the tree; a locked node stays. When a node is split, the lower part
/// keeps the id.
using NodeId = std::int32_t;
inline constexpr NodeId kRoot = 0;

class RadixTree {
 public:
  /// REQUIRES: page_tokens >= 1.
  explicit RadixTree(std::int64_t page_tokens);

  /// The result of a match, kept by the caller. The node is valid until the next `evict`, unless it is locked.
  struct Match {
    NodeId node{kRoot};
    std::int64_t tokens{0};  ///< whole pages
  };
  /// The longest prefix of the first `tokens` tokens that is in the tree. Splits the node in which it ends.
  /// With less than a page nothing is found, and no clock reading is taken.
  Match match(const TokenSequence& sequence, std::int64_t tokens);
  /// The number of tokens that `match` would find; splits nothing and takes no clock reading.
  [[nodiscard]] std::int64_t peek(const TokenSequence& sequence, std::int64_t tokens) const;
  /// Inserts the first `tokens` tokens; returns how many of them were in the tree before. The rest becomes one
  /// leaf. REQUIRES: whole pages.
  std::int64_t insert(const TokenSequence& sequence, std::int64_t tokens);

  /// Adds a lock to the node and all nodes above it; locked nodes are not evicted.
  void lock(NodeId node) { change_locks(node, 1); }
  /// REQUIRES: locked.
  void unlock(NodeId node) { change_locks(node, -1); }

  struct Evicted {
    std::int64_t tokens{0};
    std::int64_t nodes{0};
  };
  /// Evicts whole leaves, the least recently visited first, until at least `tokens` tokens are evicted or every
  /// leaf is locked. A node that loses its last child becomes a leaf.
  Evicted evict(std::int64_t tokens);

  /// Pages that were inserted one after the other, by their number among all pages ever inserted, from 0.
  struct Pages {
    std::int64_t first{0};
    std::int64_t count{0};
  };
  /// Appends every evicted leaf to `evicted` from now on. Null: stops.
  void tell_evicted(std::vector<Pages>* evicted) { told_evicted_ = evicted; }

  /// Tokens of nodes without a lock, and of nodes with one.
  [[nodiscard]] std::int64_t evictable_tokens() const { return evictable_; }
  [[nodiscard]] std::int64_t protected_tokens() const { return protected_; }
  /// Tokens of locked nodes, each counted once for each lock.
  [[nodiscard]] std::int64_t locked_tokens() const { return locked_; }

  /// A node as tests and tools see it.
  struct NodeView {
    NodeId id, parent;
    const TokenSequence* key;
    std::int64_t locks;
    std::uint64_t last_access;
  };
  /// All nodes but the root, in unspecified order.
  [[nodiscard]] std::vector<NodeView> nodes() const;
  /// The first violated invariant, found by walking the whole tree; empty if there is none.
  [[nodiscard]] std::string violation() const;

 private:
  struct Node {
    TokenSequence key;
    NodeId parent{kRoot};
    std::int32_t children{0};
    std::int64_t locks{0};
    std::uint64_t last_access{0};
    std::uint64_t slot{0};       // index of its entry in children_
    std::int64_t first_page{0};  // number of its first page; its other pages follow
  };
  struct Walk {
    NodeId node;
    std::int64_t tokens;
  };

  Node& at(NodeId id) { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] const Node& at(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool idle_leaf(NodeId id) const {
    return id != kRoot && at(id).children == 0 && at(id).locks == 0;
  }
  /// The longest common path of the tree and the reader; splits a node if the path ends inside it. Advances the
  /// reader.
  Walk walk(TokenReader& reader);
  [[nodiscard]] NodeId child_of(NodeId parent, TokenReader reader) const;
  [[nodiscard]] std::uint64_t slot_of(NodeId parent, TokenReader reader) const;
  NodeId new_node(NodeId parent, TokenSequence key);
  void hang(NodeId id, NodeId parent);
  void unhang(NodeId id);
  NodeId split(NodeId lower, std::int64_t tokens);
  void visit(NodeId id);
  void change_locks(NodeId node, std::int64_t by);

  std::int64_t page_tokens_;
  std::vector<Node> nodes_;                                  // by id; [0] is the root
  std::vector<NodeId> free_ids_;                             // ids of removed nodes
  std::unordered_multimap<std::uint64_t, NodeId> children_;  // by parent and hash of the first page
  std::map<std::uint64_t, NodeId> idle_leaves_;              // by access time: leaves without a lock
  std::uint64_t clock_{0};
  std::int64_t evictable_{0}, protected_{0}, locked_{0};
  std::int64_t pages_{0};  // number of pages that were ever inserted
  std::vector<Pages>* told_evicted_{nullptr};
};

}  // namespace kvplan::prefix
