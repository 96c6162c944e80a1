#include "simulator/scheduling/sglang/naive_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::scheduling::sglang {

NaiveMemory::NaiveMemory(const core::Workload& workload, const core::MemoryLayout& layout,
                         std::int64_t context_tokens, bool prefix_cache)
    : workload_(workload), layout_(layout), context_tokens_(context_tokens), prefix_cache_(prefix_cache) {
  for (NaivePageId page = 0; page < layout.alloc_units; ++page) free_.insert(page);
}

std::int64_t NaiveMemory::most_tokens() const {
  return std::min(context_tokens_, layout_.alloc_units * page_tokens()) - 1;
}

bool NaiveMemory::fits_empty(RequestId request) const {
  const std::size_t i = index(request);
  const std::int64_t prompt = workload_.input[i], output = workload_.output[i];
  if (prompt >= most_tokens() - 5) return false;  // SGLang rejects it
  return output <= most_tokens() - prompt - 1;    // SGLang would cut it short
}

core::PoolCounts NaiveMemory::counts() const {
  core::PoolCounts counts;
  counts.free = std::ssize(free_);
  for (const NaiveTree::Node* node : tree_.nodes()) {
    const std::int64_t pages = std::ssize(node->pages);
    (node->locks == 0 ? counts.cached : counts.shared) += pages;
    counts.distinct_names += pages;
    if (node->locks > 0) counts.sharers += (node->locks - 1) * pages;
  }
  counts.held = layout_.alloc_units - counts.free - counts.cached;
  return counts;
}

NaiveToken NaiveMemory::token(RequestId request, std::int64_t position) const {
  const std::size_t i = index(request);
  const traces::PrefixHashes* const prefix = workload_.prefix;
  if (prefix != nullptr && prefix->present() && position < workload_.named_tokens(request)) {
    const auto block = prefix->offsets[i] + static_cast<std::uint64_t>(position / prefix->block_tokens);
    if (block < prefix->offsets[i + 1]) return {prefix->ids[block], position % prefix->block_tokens};
  }
  // A content that no other request has: names of blocks have 32 bits.
  return {(std::uint64_t{1} << 32) + i, position};
}

NaivePages NaiveMemory::whole_pages(RequestId request, std::int64_t tokens) const {
  return {tokens / page_tokens(), [this, request](std::int64_t page) {
            NaiveTokens of_page;
            for (std::int64_t i = 0; i < page_tokens(); ++i)
              of_page.push_back(token(request, page * page_tokens() + i));
            return of_page;
          }};
}

std::int64_t NaiveMemory::tree_tokens(const NaiveHolding& held) const {
  return prefix_cache_ ? held.settled / page_tokens() * page_tokens() : 0;
}

NaiveHolding NaiveMemory::find(RequestId request, std::int64_t tokens) {
  if (!prefix_cache_) return {};
  NaiveTree::Match found = tree_.match(whole_pages(request, tokens));
  const std::int64_t settled = std::ssize(found.pages) * page_tokens();
  return {std::move(found.pages), settled, found.node};
}

std::int64_t NaiveMemory::peek(RequestId request, std::int64_t tokens) const {
  return tree_.peek(whole_pages(request, tokens)) * page_tokens();
}

void NaiveMemory::lock(const NaiveHolding& held) {
  if (held.node != nullptr) tree_.lock(held.node);
}

void NaiveMemory::unlock(const NaiveHolding& held) {
  if (held.node != nullptr) tree_.unlock(held.node);
}

void NaiveMemory::make_room(std::int64_t tokens) {
  if (!prefix_cache_ || available() >= tokens) return;
  for (std::vector<NaiveTree::Page>& leaf : tree_.evict(tokens)) {
    for (const NaiveTree::Page& page : leaf) come_back(page.id);
    evicted_.push_back(std::move(leaf));
  }
}

void NaiveMemory::extend(NaiveHolding& held, std::int64_t tokens) {
  while (std::ssize(held.table) * page_tokens() < tokens) {
    KVPLAN_CHECK(!free_.empty(), tokens);
    held.table.push_back(*free_.begin());
    free_.erase(free_.begin());
  }
}

void NaiveMemory::come_back(NaivePageId page) {
  const bool was_taken = free_.insert(page).second;
  KVPLAN_CHECK(was_taken, page);
}

void NaiveMemory::give_back(const NaiveHolding& held, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  for (std::int64_t page = begin / page_tokens(); page * page_tokens() < end; ++page)
    come_back(held.table.at(static_cast<std::size_t>(page)));
}

void NaiveMemory::put_into_tree(const NaivePages& pages, const NaiveHolding& held) {
  const std::vector<NaivePageId> ids(held.table.begin(), held.table.begin() + pages.size());
  const std::int64_t known = tree_.insert(pages, ids);
  give_back(held, held.settled, known * page_tokens());
}

void NaiveMemory::settle(RequestId request, NaiveHolding& held, std::int64_t tokens) {
  if (prefix_cache_) {
    const NaivePages pages = whole_pages(request, tokens);
    put_into_tree(pages, held);
    const NaiveTree::Match found = tree_.match(pages);
    std::copy(found.pages.begin(), found.pages.end(), held.table.begin());
    unlock(held);
    held.node = found.node;
    lock(held);
  }
  // The incomplete last page is settled too, though it is not in the tree.
  held.settled = tokens;
}

void NaiveMemory::finish(RequestId request, NaiveHolding& held, std::int64_t tokens) {
  if (prefix_cache_) {
    const NaivePages pages = whole_pages(request, tokens);
    put_into_tree(pages, held);
    give_back(held, pages.size() * page_tokens(), tokens);
  } else {
    give_back(held, 0, tokens);
  }
  leave(held);
}

void NaiveMemory::drop(NaiveHolding& held, std::int64_t tokens) {
  const std::int64_t whole = tokens / page_tokens() * page_tokens();
  if (prefix_cache_) {
    // Freed in two parts: settled tokens after the whole pages are the request's own, too.
    give_back(held, held.settled, whole);
    give_back(held, whole, tokens);
  } else {
    give_back(held, 0, tokens);
  }
  leave(held);
}

void NaiveMemory::leave(NaiveHolding& held) {
  unlock(held);
  held = {};
}

std::vector<std::vector<NaiveTree::Page>> NaiveMemory::take_evicted() {
  return std::exchange(evicted_, {});
}

}  // namespace kvplan::scheduling::sglang
