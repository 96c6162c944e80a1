// SGLang's memory page by page: a set of free pages, and a tree over those whose content can be found again
// (sgl-project/sglang v0.5.5: python/sglang/srt/mem_cache/{radix_cache,chunk_cache,allocator,common}.py). Every page
// has a place in the pool, and is free, in the tree, or one request's own. The yardstick for radix_memory.h and
// prefix/radix_pool.h, with which it shares nothing.
#pragma once

#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

#include "simulator/core/allocator.h"
#include "simulator/core/workload.h"
#include "simulator/scheduling/sglang/naive_tree.h"

namespace kvplan::scheduling::sglang {

/// What a request holds. Whole pages of its settled tokens are the tree's, if there is one; all others in the table are
/// its own.
struct NaiveHolding {
  std::vector<NaivePageId> table;  ///< by place in the request
  std::int64_t settled{0};         ///< its leading tokens whose pages are no longer its alone to give back
  NaiveTree::Node* node{nullptr};  ///< of the tree, locked for it once `lock` was called; null: no node
};

class NaiveMemory final : public core::Memory {
 public:
  /// `layout`: of whole tokens, its allocation unit the page, no null block. `context_tokens`: of the model
  /// (context_length). The workload outlives it.
  NaiveMemory(const core::Workload& workload, const core::MemoryLayout& layout, std::int64_t context_tokens,
              bool prefix_cache);

  [[nodiscard]] const core::MemoryLayout& layout() const override { return layout_; }
  [[nodiscard]] core::PoolCounts counts() const override;
  [[nodiscard]] bool fits_empty(RequestId request) const override;
  [[nodiscard]] bool follows_courses() const override { return false; }

  [[nodiscard]] std::int64_t page_tokens() const { return layout_.alloc_unit_tokens; }
  [[nodiscard]] bool prefix_cache() const { return prefix_cache_; }
  /// Prompt and output of a request come to less than this.
  [[nodiscard]] std::int64_t most_tokens() const;
  [[nodiscard]] NaiveToken token(RequestId request, std::int64_t position) const;
  /// Leading tokens of a request that the tree has for it.
  [[nodiscard]] std::int64_t tree_tokens(const NaiveHolding& held) const;

  // In tokens of whole pages.
  [[nodiscard]] std::int64_t available() const { return std::ssize(free_) * page_tokens(); }
  [[nodiscard]] std::int64_t evictable() const { return counts().cached * page_tokens(); }

  /// What is cached of a request's first `tokens` tokens. Nothing is locked yet.
  NaiveHolding find(RequestId request, std::int64_t tokens);
  /// So many tokens `find` would find; leaves no trace.
  [[nodiscard]] std::int64_t peek(RequestId request, std::int64_t tokens) const;
  void lock(const NaiveHolding& held);
  void unlock(const NaiveHolding& held);

  /// Evicts so many tokens (not those that are lacking) if fewer are available.
  void make_room(std::int64_t tokens);
  /// Free pages go into the table until it holds so many tokens. REQUIRES: they are available.
  void extend(NaiveHolding& held, std::int64_t tokens);

  /// The first `tokens` tokens are written, and the request goes on (cache_unfinished_req).
  void settle(RequestId request, NaiveHolding& held, std::int64_t tokens);
  /// The same for one that has ended (cache_finished_req). It holds nothing any more.
  void finish(RequestId request, NaiveHolding& held, std::int64_t tokens);
  /// It is retracted, with so many tokens written, and holds nothing any more.
  void drop(NaiveHolding& held, std::int64_t tokens);

  /// The leaves that were evicted since the last call, in the order in which they went.
  std::vector<std::vector<NaiveTree::Page>> take_evicted();

 private:
  /// The whole pages among a request's first `tokens` tokens.
  [[nodiscard]] NaivePages whole_pages(RequestId request, std::int64_t tokens) const;
  /// Puts these, which begin the table, into the tree. The request's own copies of those that were there come back.
  void put_into_tree(const NaivePages& pages, const NaiveHolding& held);
  /// The pages in which the request's tokens [begin, end) lie come back.
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
