// Blocks of a request that a keep rule leaves empty, closed form: they come back, and their ids are remembered, so that
// observers can be told. For the fast replica.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/core/allocator.h"

namespace kvplan::core {

class LettingGo {
 public:
  explicit LettingGo(Allocator& allocator)
      : allocator_(allocator),
        contents_(allocator.contents()),
        returns_(allocator.block_returns()),
        quantum_tokens_(allocator.layout().quantum_tokens),
        block_ids_(allocator.layout().block_ids()) {}

  /// Logical blocks [first, first + ids.size()), kNoBlock each where blocks have no ids. Valid until the next call.
  struct Gone {
    std::int64_t first{0};
    std::span<const BlockId> ids;
  };
  /// The cells [sink, begin) of the request are no longer kept; before, those up to `begin_before` were not: sink at
  /// its first drop since it was admitted. `written`: tokens that it had written.
  Gone drop(RequestId request, std::int64_t sink, std::int64_t begin_before, std::int64_t begin,
            std::int64_t written) {
    if (begin_before == sink && contents_ != nullptr) contents_->close(request, written);
    if (returns_ == nullptr) return {};
    const std::int64_t first = std::max(ceil_div(sink, quantum_tokens_), begin_before / quantum_tokens_);
    const std::int64_t end = begin / quantum_tokens_;
    if (first >= end) return {};
    const auto count = static_cast<std::size_t>(end - first);
    if (ids_.size() < count) {  // they stay kNoBlock where blocks have no ids
      ids_.resize(count, kNoBlock);
      entries_.resize(count);
    }
    if (block_ids_) {
      const auto table = allocator_.table(request).ids;
      std::copy(table.begin() + first, table.begin() + end, ids_.begin());
    }
    for (std::size_t i = 0; i < count; ++i)
      entries_[i] = static_cast<std::int32_t>(end - 1 - static_cast<std::int64_t>(i));
    returns_->let_go(request, std::span(entries_).first(count));
    return {first, std::span<const BlockId>(ids_).first(count)};
  }

 private:
  Allocator& allocator_;
  Contents* contents_;  // may be null, as the next one
  BlockReturns* returns_;
  std::int64_t quantum_tokens_;
  bool block_ids_;
  std::vector<BlockId> ids_;           // as many as ever went at once
  std::vector<std::int32_t> entries_;  // likewise
};

}  // namespace kvplan::core
