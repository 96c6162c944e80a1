// Requests that hold blocks of a pool, and the data that the pool keeps about each until the request ends.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/request_column.h"

namespace kvplan::memory {

/// The blocks of a request by table entry: a logical block, or one of a group of layers (MemoryLayout::groups).
struct BlockHolder {
  std::vector<BlockId> blocks;  ///< kNoBlock where no block was taken or it was freed
  /// For each of the request's own contents, the oldest block that had it; may be stale: compare names
  std::vector<BlockId> heads;
  std::int64_t published{0};  ///< leading logical blocks that were inserted into the cache
  std::int32_t goal{0};       ///< tokens that it computes before it samples the next, since its admission
  bool closed{false};         ///< true: it has dropped a cell since its admission
};

class BlockHolders {
 public:
  explicit BlockHolders(core::RequestColumn<std::int32_t> places) : place_of_(std::move(places)) {}

  /// Null if the pool has no data about the request.
  [[nodiscard]] const BlockHolder* find(RequestId r) const {
    const std::int32_t place = place_of_[r];
    return place < 0 ? nullptr : &holders_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] BlockHolder* find(RequestId r) {
    return const_cast<BlockHolder*>(std::as_const(*this).find(r));
  }
  /// The request's entry. REQUIRES: there is one.
  BlockHolder& existing(RequestId r) {
    BlockHolder* const holder = find(r);
    KVPLAN_CHECK(holder != nullptr, r);
    return *holder;
  }
  /// The request's entry, made if there is none. References to other entries become invalid.
  BlockHolder& make(RequestId r) {
    std::int32_t& place = place_of_[r];
    if (place < 0) {
      if (idle_.empty()) {
        idle_.push_back(static_cast<std::int32_t>(holders_.size()));
        holders_.emplace_back();
      }
      place = idle_.back();
      idle_.pop_back();
    }
    return holders_[static_cast<std::size_t>(place)];
  }
  /// Removes the request's entry. REQUIRES: it holds nothing.
  void forget(RequestId r) {
    std::int32_t& place = place_of_[r];
    if (place < 0) return;
    BlockHolder& holder = holders_[static_cast<std::size_t>(place)];
    KVPLAN_CHECK(holder.blocks.empty(), r);
    holder.heads.clear();
    idle_.push_back(place);
    place = -1;
  }

 private:
  core::RequestColumn<std::int32_t> place_of_;  // by request: index of its entry, -1 = none
  std::vector<BlockHolder> holders_;
  std::vector<std::int32_t> idle_;
};

}  // namespace kvplan::memory
