// SGLang's memory page by page: a set of free pages, and a tree over pages that lookups can hit (sgl-project/sglang
// v0.5.5: python/sglang/srt/mem_cache/{radix_cache,chunk_cache,allocator,common}.py). Every page has an index in the
// pool, and is free, in the tree, or owned by one request. The reference for radix_memory.h and prefix/radix_pool.h;
// it shares no code with them.
#pragma once

#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "simulator/core/allocator.h"
#include "simulator/core/workload.h"
#include "simulator/scheduling/sglang/naive_tree.h"

namespace kvplan::scheduling::sglang {

/// The pages of a request. With a tree, whole pages of its settled tokens belong to the tree; all other pages of the
/// table are the request's own.
struct NaiveHolding {
  std::vector<NaivePageId> table;  ///< page of each logical page of the request
  std::int64_t settled{0};         ///< leading tokens in pages that the request may not free by itself
  /// Tree node of the settled prefix, locked once `lock` was called; null: none
  NaiveTree::Node* node{nullptr};
};

class NaiveMemory final : public core::Memory {
 public:
  /// `layout`: whole tokens, the allocation unit is the page, no null block. `context_tokens`: the model's context
  /// length. The workload outlives it.
  NaiveMemory(const core::Workload& workload, const core::MemoryLayout& layout, std::int64_t context_tokens,
              bool prefix_cache);

  [[nodiscard]] const core::MemoryLayout& layout() const override { return layout_; }
  [[nodiscard]] core::PoolCounts counts() const override;
  [[nodiscard]] bool fits_empty(RequestId request) const override;
  [[nodiscard]] bool follows_courses() const override { return false; }

  [[nodiscard]] std::int64_t page_tokens() const { return layout_.alloc_unit_tokens; }
  [[nodiscard]] bool prefix_cache() const { return prefix_cache_; }
  /// Prompt plus output of a request must be less than this.
  [[nodiscard]] std::int64_t most_tokens() const;
  [[nodiscard]] NaiveToken token(RequestId request, std::int64_t position) const;
  /// Leading tokens of a request in pages that belong to the tree.
  [[nodiscard]] std::int64_t tree_tokens(const NaiveHolding& held) const;

  // All in tokens of whole pages.
  [[nodiscard]] std::int64_t available() const { return std::ssize(free_) * page_tokens(); }
  [[nodiscard]] std::int64_t evictable() const { return counts().cached * page_tokens(); }

  /// Cached prefix of a request's first `tokens` tokens. Nothing is locked yet.
  NaiveHolding find(RequestId request, std::int64_t tokens);
  /// Number of tokens that `find` would hit; changes nothing.
  [[nodiscard]] std::int64_t peek(RequestId request, std::int64_t tokens) const;
  void lock(const NaiveHolding& held);
  void unlock(const NaiveHolding& held);

  /// If fewer than `tokens` tokens are available, evicts `tokens` tokens (not only the missing ones).
  void make_room(std::int64_t tokens);
  /// Adds free pages to the table until it holds `tokens` tokens. REQUIRES: they are available.
  void extend(NaiveHolding& held, std::int64_t tokens);

  /// The first `tokens` tokens are written, and the request continues (cache_unfinished_req).
  void settle(RequestId request, NaiveHolding& held, std::int64_t tokens);
  /// As settle(), for a request that has ended (cache_finished_req). It holds nothing afterwards.
  void finish(RequestId request, NaiveHolding& held, std::int64_t tokens);
  /// The request is retracted, with `tokens` tokens written, and holds nothing afterwards.
  void drop(NaiveHolding& held, std::int64_t tokens);

  /// Leaves that were evicted since the last call, in the order of eviction.
  std::vector<std::vector<NaiveTree::Page>> take_evicted();

 private:
  /// The whole pages among a request's first `tokens` tokens.
  [[nodiscard]] NaivePages whole_pages(RequestId request, std::int64_t tokens) const;
  /// Inserts these pages, the first of the table, into the tree. The request's own copies of pages that were there
  /// already are freed.
  void put_into_tree(const NaivePages& pages, const NaiveHolding& held);
  /// Frees the pages that hold the request's tokens [begin, end).
  void give_back(const NaiveHolding& held, std::int64_t begin, std::int64_t end);
  void come_back(NaivePageId page);
  void leave(NaiveHolding& held);

  const core::Workload& workload_;
  core::MemoryLayout layout_;
  std::int64_t context_tokens_;
  bool prefix_cache_;
  std::set<NaivePageId> free_;
  NaiveTree tree_;
  std::vector<std::vector<NaiveTree::Page>> evicted_;
};

}  // namespace kvplan::scheduling::sglang
