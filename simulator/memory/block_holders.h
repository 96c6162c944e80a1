// Requests that hold blocks of a pool, and what is remembered of them until they end.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/request_column.h"

namespace kvplan::memory {

/// What a request holds, by entry of its table: a logical block, or one of a group of layers (MemoryLayout::groups).
struct BlockHolder {
  std::vector<BlockId> blocks;  ///< kNoBlock where there is none, or none any more
  std::vector<BlockId> heads;   ///< oldest findable copy of own content; check its name
  std::int64_t published{0};    ///< leading logical blocks that have been made findable
  std::int32_t goal{0};         ///< tokens until it samples one, since its admission
  bool closed{false};           ///< has dropped a cell since its admission
};

class BlockHolders {
 public:
  explicit BlockHolders(core::RequestColumn<std::int32_t> places) : place_of_(std::move(places)) {}

  /// Null for a request of which nothing is remembered.
  [[nodiscard]] const BlockHolder* find(RequestId r) const {
    const std::int32_t place = place_of_[r];
    return place < 0 ? nullptr : &holders_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] BlockHolder* find(RequestId r) {
    return const_cast<BlockHolder*>(std::as_const(*this).find(r));
  }
  /// REQUIRES: something is remembered of it.
  BlockHolder& existing(RequestId r) {
    BlockHolder* const holder = find(r);
    KVPLAN_CHECK(holder != nullptr, r);
    return *holder;
  }
  /// Made where there is none. Others may be somewhere else afterwards.
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
  /// Nothing about the request need be remembered. REQUIRES: it holds nothing.
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
  core::RequestColumn<std::int32_t> place_of_;  // by request, -1 = none
  std::vector<BlockHolder> holders_;
  std::vector<std::int32_t> idle_;
};

}  // namespace kvplan::memory
