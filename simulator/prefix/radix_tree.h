// The radix tree by which SGLang finds cached prefixes again (sgl-project/sglang v0.5.5, commit 0c006b8809:
// python/sglang/srt/mem_cache/radix_cache.py, with the policy lru). It knows tokens, not slots: whose memory they take
// is radix_pool.h.
//
// A node is a run of tokens, whole pages, below its parent; the root has none and is never counted, locked or evicted.
// A child is found by its first page. Matching splits nodes and refreshes their access times, so asking changes what
// is evicted next.
//
// The clock is the tree's own: "a reading" is the next number. A visit in a match or an insertion takes one, in the
// order of the path, the root included; a new node takes two, of which the first is its access time. Only the order of
// readings decides anything.
//
// Costs: an operation takes time by nodes and runs on its path, not by tokens; evicting a leaf takes the logarithm of
// the number of leaves. (SGLang makes a heap of all leaves for each call; the leaves go in the same order.)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "simulator/prefix/tokens.h"

namespace kvplan::prefix {

/// A node, as long as it is in the tree: a locked one stays. Splitting leaves its id to the lower part.
using NodeId = std::int32_t;
inline constexpr NodeId kRoot = 0;

class RadixTree {
 public:
  /// REQUIRES: page_tokens >= 1.
  explicit RadixTree(std::int64_t page_tokens);

  /// What a match found: a value that the caller holds. The node is good until the next `evict`, unless it is locked.
  struct Match {
    NodeId node{kRoot};
    std::int64_t tokens{0};  ///< whole pages
  };
  /// The longest prefix of the first `tokens` tokens that is in the tree. Splits the node in which it ends. Less than
  /// a page: nothing is found and no clock is read.
  Match match(const TokenSequence& sequence, std::int64_t tokens);
  /// How many tokens such a match would find; nothing is split or read.
  [[nodiscard]] std::int64_t peek(const TokenSequence& sequence, std::int64_t tokens) const;
  /// Puts the first `tokens` tokens into the tree; returns how many of them were in it. What was not becomes one
  /// leaf. REQUIRES: whole pages.
  std::int64_t insert(const TokenSequence& sequence, std::int64_t tokens);

  /// Keeps the node and those above it from being evicted, once more or once less.
  void lock(NodeId node) { change_locks(node, 1); }
  /// REQUIRES: locked.
  void unlock(NodeId node) { change_locks(node, -1); }

  struct Evicted {
    std::int64_t tokens{0};
    std::int64_t nodes{0};
  };
  /// Removes whole leaves, the longest not visited first, until at least `tokens` tokens are gone or every leaf is
  /// locked. A node whose last child goes is a leaf from then on.
  Evicted evict(std::int64_t tokens);

  /// Pages that went into the tree one behind the other: of all that ever did, numbered from 0, these.
  struct Pages {
    std::int64_t first{0};
    std::int64_t count{0};
  };
  /// From now on every leaf that is evicted is added here, until it is told otherwise. Null: nobody asks.
  void tell_evicted(std::vector<Pages>* evicted) { told_evicted_ = evicted; }

  /// Tokens of nodes that nobody has locked; of the others.
  [[nodiscard]] std::int64_t evictable_tokens() const { return evictable_; }
  [[nodiscard]] std::int64_t protected_tokens() const { return protected_; }
  /// The latter, each as often as it is locked.
  [[nodiscard]] std::int64_t locked_tokens() const { return locked_; }

  /// A node as tests and tools see it.
  struct NodeView {
    NodeId id, parent;
    const TokenSequence* key;
    std::int64_t locks;
    std::uint64_t last_access;
  };
  /// All nodes but the root, in no order that means anything.
  [[nodiscard]] std::vector<NodeView> nodes() const;
  /// The first rule that the tree breaks, found by walking over all of it; empty if there is none.
  [[nodiscard]] std::string violation() const;

 private:
  struct Node {
    TokenSequence key;
    NodeId parent{kRoot};
    std::int32_t children{0};
    std::int64_t locks{0};
    std::uint64_t last_access{0};
    std::uint64_t slot{0};       // where children_ has it
    std::int64_t first_page{0};  // the number of its first page; the others follow
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
  /// As far as the tree and what is read agree; splits where that is inside a node. Reads what it finds.
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
  std::vector<NodeId> free_ids_;                             // of nodes that are gone
  std::unordered_multimap<std::uint64_t, NodeId> children_;  // by parent and hash of the first page
  std::map<std::uint64_t, NodeId> idle_leaves_;              // by access time: what may be evicted
  std::uint64_t clock_{0};
  std::int64_t evictable_{0}, protected_{0}, locked_{0};
  std::int64_t pages_{0};  // that ever went in
  std::vector<Pages>* told_evicted_{nullptr};
};

}  // namespace kvplan::prefix
