// SGLang's memory of one replica: a pool of slots and the radix tree over their contents (sgl-project/sglang v0.5.5:
// python/sglang/srt/mem_cache/{radix_cache,chunk_cache,allocator,common}.py). It counts slots but gives them no ids,
// since no decision depends on which slot a token gets.
//
// Calls for one request: match -> lock -> (make_room, extend, settle)* -> finish, or drop and match again later. The
// memory of a request is a value (`Holding`) that the caller keeps; the pool stores nothing about requests.
//
//   available + evictable + protected + private = capacity
// where `private` is the memory that requests hold outside the tree. Without prefix cache (SGLang's ChunkCache) there
// are no hits, locks do nothing, nothing is evictable, and `protected` is the number of settled tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/prefix/radix_tree.h"

namespace kvplan::prefix {

/// The memory that a request holds.
struct Holding {
  std::int64_t settled_tokens{0};  ///< its first tokens: their slots belong to the tree
  NodeId node{kRoot};              ///< node of the tree; locked for the request once `lock` was called
};

class RadixPool {
 public:
  /// The pool size is rounded down to whole pages, as in SGLang. REQUIRES: page_tokens >= 1, pool_tokens >= 0.
  RadixPool(std::int64_t page_tokens, std::int64_t pool_tokens, bool prefix_cache);

  [[nodiscard]] std::int64_t page_tokens() const { return page_tokens_; }
  [[nodiscard]] std::int64_t capacity_tokens() const { return capacity_; }
  [[nodiscard]] std::int64_t available_tokens() const { return available_; }
  [[nodiscard]] std::int64_t evictable_tokens() const { return tree_.evictable_tokens(); }
  [[nodiscard]] std::int64_t protected_tokens() const { return tree_.protected_tokens() + settled_; }
  [[nodiscard]] bool prefix_cache() const { return prefix_cache_; }
  [[nodiscard]] const RadixTree& tree() const { return tree_; }
  /// See RadixTree::tell_evicted.
  void tell_evicted(std::vector<RadixTree::Pages>* evicted) { tree_.tell_evicted(evicted); }

  /// Totals since the beginning.
  struct Evictions {
    std::int64_t calls{0};
    std::int64_t tokens{0};
    std::int64_t nodes{0};
  };
  [[nodiscard]] const Evictions& evictions() const { return evictions_; }

  /// The cached prefix of the first `tokens` tokens. Locks nothing.
  Holding match(const TokenSequence& sequence, std::int64_t tokens);
  void lock(const Holding& holding) { tree_.lock(holding.node); }
  void unlock(const Holding& holding) { tree_.unlock(holding.node); }

  /// If fewer than `tokens` are available, evicts `tokens` tokens (the full number, not just the missing ones).
  void make_room(std::int64_t tokens);
  /// Takes slots for a request that had room for its first `from` tokens and now needs room for `to`, in whole pages.
  /// REQUIRES: the slots are available.
  void extend(std::int64_t from, std::int64_t to);

  /// The first `tokens` tokens are written, and the request goes on (cache_unfinished_req): their whole pages go into
  /// the tree, its own copies of pages that the tree already had are freed, and its lock moves to the end of its pages.
  void settle(Holding& holding, const TokenSequence& sequence, std::int64_t tokens);
  /// The same for a request that has ended (cache_finished_req): the last incomplete page is freed too, and its
  /// lock is released.
  void finish(Holding& holding, const TokenSequence& sequence, std::int64_t tokens);
  /// The request is retracted: nothing goes into the tree, all its own slots are freed, and its lock is
  /// released.
  void drop(Holding& holding, std::int64_t tokens);

 private:
  [[nodiscard]] std::int64_t whole_pages(std::int64_t tokens) const {
    return tokens / page_tokens_ * page_tokens_;
  }
  /// Frees the slots of its tokens [begin, end), in all pages that they touch.
  void give_back(std::int64_t begin, std::int64_t end);
  void leave(Holding& holding);

  std::int64_t page_tokens_;
  std::int64_t capacity_;
  std::int64_t available_;
  bool prefix_cache_;
  std::int64_t settled_{0};  // without prefix cache: settled tokens of all requests
  Evictions evictions_;
  RadixTree tree_;
};

}  // namespace kvplan::prefix
