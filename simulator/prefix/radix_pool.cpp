#include "simulator/prefix/radix_pool.h"

#include "simulator/base/check.h"
#include "simulator/base/units.h"

namespace kvplan::prefix {

RadixPool::RadixPool(std::int64_t page_tokens, std::int64_t pool_tokens, bool prefix_cache)
    : page_tokens_(page_tokens),
      capacity_(pool_tokens / page_tokens * page_tokens),
      available_(capacity_),
      prefix_cache_(prefix_cache),
      tree_(page_tokens) {}

Holding RadixPool::match(const TokenSequence& sequence, std::int64_t tokens) {
  if (!prefix_cache_) return {};
  const RadixTree::Match found = tree_.match(sequence, tokens);
  return {found.tokens, found.node};
}

void RadixPool::make_room(std::int64_t tokens) {
  if (!prefix_cache_ || available_ >= tokens) return;
  const RadixTree::Evicted gone = tree_.evict(tokens);
  available_ += gone.tokens;
  ++evictions_.calls;
  evictions_.tokens += gone.tokens;
  evictions_.nodes += gone.nodes;
}

void RadixPool::extend(std::int64_t from, std::int64_t to) {
  const std::int64_t needed = (ceil_div(to, page_tokens_) - ceil_div(from, page_tokens_)) * page_tokens_;
  KVPLAN_CHECK(needed >= 0 && needed <= available_, from, to, available_);
  available_ -= needed;
}

void RadixPool::give_back(std::int64_t begin, std::int64_t end) {
  if (end <= begin) return;
  available_ += (ceil_div(end, page_tokens_) - begin / page_tokens_) * page_tokens_;
  KVPLAN_CHECK(available_ <= capacity_, available_, capacity_);
}

void RadixPool::leave(Holding& holding) {
  tree_.unlock(holding.node);
  if (!prefix_cache_) settled_ -= holding.settled_tokens;
  holding = {};
}

void RadixPool::settle(Holding& holding, const TokenSequence& sequence, std::int64_t tokens) {
  if (prefix_cache_) {
    const std::int64_t whole = whole_pages(tokens);
    give_back(holding.settled_tokens, tree_.insert(sequence, whole));
    const NodeId node = tree_.match(sequence, whole).node;
    tree_.unlock(holding.node);
    tree_.lock(node);
    holding.node = node;
  } else {
    settled_ += tokens - holding.settled_tokens;
  }
  // The incomplete last page is settled too, though it is not in the tree.
  holding.settled_tokens = tokens;
}

void RadixPool::finish(Holding& holding, const TokenSequence& sequence, std::int64_t tokens) {
  if (prefix_cache_) {
    const std::int64_t whole = whole_pages(tokens);
    give_back(holding.settled_tokens, tree_.insert(sequence, whole));
    give_back(whole, tokens);
  } else {
    give_back(0, tokens);
  }
  leave(holding);
}

void RadixPool::drop(Holding& holding, std::int64_t tokens) {
  const std::int64_t whole = whole_pages(tokens);
  if (prefix_cache_) {
    give_back(holding.settled_tokens, whole);
    give_back(whole, tokens);
  } else {
    give_back(0, tokens);
  }
  leave(holding);
}

}  // namespace kvplan::prefix
