// The contents of blocks in the order of prompts. A content follows the content of the block before it in its prompt.
// Equal names mean equal prefixes (core/workload.h), so each content has one predecessor. The contents therefore form a
// tree.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/base/zeros.h"
#include "simulator/core/workload.h"

namespace kvplan::memory {

/// Names of contents as one number: shared ones as in core::ContentNames, others by request and logical block.
inline constexpr std::uint64_t kOwnName = std::uint64_t{1} << 63;  // | request << 32 | logical block
[[nodiscard]] inline std::uint64_t own_name(RequestId r, std::int64_t block) {
  return kOwnName | static_cast<std::uint64_t>(r) << 32 | static_cast<std::uint64_t>(block);
}

class ContentOrder {
 public:
  using Slot = std::uint32_t;  ///< index of a node in some tree; 0 stands for none
  /// The name before the first content of every prompt.
  static constexpr std::uint64_t kRoot = ~std::uint64_t{0};

  /// Both arguments outlive this object.
  ContentOrder(const core::Workload& workload, const core::ContentNames& names);

  /// The name before this one in its prompt; kRoot for the first.
  [[nodiscard]] std::uint64_t before(std::uint64_t name) const;
  /// The slot that stores the node of a content, or of the root. Valid until the next call.
  Slot& slot_of(std::uint64_t name) {
    return (name & kOwnName) == 0 ? shared_[static_cast<std::size_t>(name)] : own_[name];
  }
  /// Call it when the content no longer has a node.
  void forget(std::uint64_t name);

 private:
  const core::ContentNames& names_;
  std::vector<std::int64_t> row_before_;         // by row of shared names: the row before it, -1 = none
  Zeros<Slot> shared_;                           // by name
  std::unordered_map<std::uint64_t, Slot> own_;  // names that are not shared, and the root
};

}  // namespace kvplan::memory
