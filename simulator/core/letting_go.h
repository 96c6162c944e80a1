// The ids of blocks that a drop may let go, remembered before it happens, so that it can be told afterwards. For the
// fast replica.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "simulator/core/allocator.h"

namespace kvplan::core {

class LettingGo {
 public:
  /// All quanta below `end` at a request's first drop; later the one that ends there.
  void remember(const Allocator& allocator, RequestId request, bool first, std::int64_t end) {
    const BlockTable table = allocator.table(request);
    const std::int64_t last = std::min(end, table.quanta);
    begin_ = first ? 0 : std::max<std::int64_t>(last - 1, 0);
    if (allocator.layout().block_ids) {
      ids_.assign(table.ids.begin() + begin_, table.ids.begin() + last);
    } else {
      ids_.assign(static_cast<std::size_t>(last - begin_), kNoBlock);
    }
  }
  /// Of those, the ones that went.
  [[nodiscard]] std::span<const BlockId> blocks(const BlockReturns::Dropped& gone) const {
    if (gone.count == 0) return {};
    return std::span<const BlockId>(ids_).subspan(static_cast<std::size_t>(gone.first - begin_),
                                                  static_cast<std::size_t>(gone.count));
  }

 private:
  std::int64_t begin_{0};
  std::vector<BlockId> ids_;
};

}  // namespace kvplan::core
