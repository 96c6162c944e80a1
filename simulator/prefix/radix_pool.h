// SGLang's memory of one replica: a pool of slots and the radix tree over what is in them (sgl-project/sglang v0.5.5:
// python/sglang/srt/mem_cache/{radix_cache,chunk_cache,allocator,common}.py). Slots are counted, not told apart:
// which of them a token gets decides nothing.
//
// Life of a request: match -> lock -> (make_room, extend, settle)* -> finish, or drop and match again later. What it
// holds is a value (`Holding`) that the caller keeps; the pool remembers nobody.
//
//   available + evictable + protected + private = capacity
// where private is what requests hold outside the tree. Without prefix cache (SGLang's ChunkCache) nothing is found,
// locks do nothing, nothing is evictable, and `protected` is the tokens that are settled.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/prefix/radix_tree.h"

namespace kvplan::prefix {

/// What a request holds.
struct Holding {
  std::int64_t settled_tokens{0};  ///< its first tokens, whose slots are no longer its alone to give back
  NodeId node{kRoot};              ///< of the tree, locked for it once `lock` was called
};

class RadixPool {
 public:
  /// A pool that is no multiple of the page is rounded down to one, as SGLang does. REQUIRES: page_tokens >= 1,
  /// pool_tokens >= 0.
  RadixPool(std::int64_t page_tokens, std::int64_t pool_tokens, bool prefix_cache);

  [[nodiscard]] std::int64_t page_tokens() const { return page_tokens_; }
  [[nodiscard]] std::int64_t capacity_tokens() const { return capacity_; }
  [[nodiscard]] std::int64_t available_tokens() const { return available_; }
  [[nodiscard]] std::int64_t evictable_tokens() const { return tree_.evictable_tokens(); }
  [[nodiscard]] std::int64_t protected_tokens() const { return tree_.protected_tokens() + settled_; }
  [[nodiscard]] bool prefix_cache() const { return prefix_cache_; }
  [[nodiscard]] const RadixTree& tree() const { return tree_; }
  /// RadixTree::tell_evicted.
  void tell_evicted(std::vector<RadixTree::Pages>* evicted) { tree_.tell_evicted(evicted); }

  /// Since the beginning.
  struct Evictions {
    std::int64_t calls{0};
    std::int64_t tokens{0};
    std::int64_t nodes{0};
  };
  [[nodiscard]] const Evictions& evictions() const { return evictions_; }

  /// What is cached of the first `tokens` tokens. Nothing is locked.
  Holding match(const TokenSequence& sequence, std::int64_t tokens);
  void lock(const Holding& holding) { tree_.lock(holding.node); }
  void unlock(const Holding& holding) { tree_.unlock(holding.node); }

  /// Evicts `tokens` tokens (that many, not those that are lacking) if fewer are available.
  void make_room(std::int64_t tokens);
  /// Slots for a request that had them for its first `from` tokens and needs them for `to`: whole pages. REQUIRES:
  /// they are available.
  void extend(std::int64_t from, std::int64_t to);

  /// The first `tokens` tokens are written, and the request goes on (cache_unfinished_req): whole pages of them go into
  /// the tree, its own copies of what was there come back, and its lock moves to their end.
  void settle(Holding& holding, const TokenSequence& sequence, std::int64_t tokens);
  /// The same for one that has ended (cache_finished_req): what is no whole page comes back too, and its lock is gone.
  void finish(Holding& holding, const TokenSequence& sequence, std::int64_t tokens);
  /// It is retracted: nothing goes into the tree, all slots that are its own come back, and its lock is gone.
  void drop(Holding& holding, std::int64_t tokens);

 private:
  [[nodiscard]] std::int64_t whole_pages(std::int64_t tokens) const {
    return tokens / page_tokens_ * page_tokens_;
  }
  /// The slots of its tokens [begin, end) come back, in all pages that these touch.
  void give_back(std::int64_t begin, std::int64_t end);
  void leave(Holding& holding);

  std::int64_t page_tokens_;
  std::int64_t capacity_;
  std::int64_t available_;
  bool prefix_cache_;
  std::int64_t settled_{0};  // without prefix cache: of all requests
  Evictions evictions_;
  RadixTree tree_;
};

}  // namespace kvplan::prefix
