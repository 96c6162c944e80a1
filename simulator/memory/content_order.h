// Contents by the order in which prompts have them. The content of a block follows that of the block before it in its
// prompt. Equal names mean equal prefixes (core/workload.h), so each has one predecessor: they are a tree.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/base/zeros.h"
#include "simulator/core/workload.h"

namespace kvplan::memory {

/// Names of contents in one number: shared ones as core::ContentNames has them, others by request and logical block.
inline constexpr std::uint64_t kOwnName = std::uint64_t{1} << 63;  // | request << 32 | logical block
[[nodiscard]] inline std::uint64_t own_name(RequestId r, std::int64_t block) {
  return kOwnName | static_cast<std::uint64_t>(r) << 32 | static_cast<std::uint64_t>(block);
}

class ContentOrder {
 public:
  using Slot = std::uint32_t;  ///< of a node in some tree; 0 stands for none
  /// The name of what is before the first content of every prompt.
  static constexpr std::uint64_t kRoot = ~std::uint64_t{0};

  /// Both outlive it.
  ContentOrder(const core::Workload& workload, const core::ContentNames& names);

  /// The name before it in its prompt; kRoot for a first one.
  [[nodiscard]] std::uint64_t before(std::uint64_t name) const;
  /// Where the node of a content, or of the root, is kept. Valid until the next call.
  Slot& slot_of(std::uint64_t name) {
    return (name & kOwnName) == 0 ? shared_[static_cast<std::size_t>(name)] : own_[name];
  }
  /// It has none any more.
  void forget(std::uint64_t name);

 private:
  const core::ContentNames& names_;
  std::vector<std::int64_t> row_before_;         // by row of shared names: the row before it, -1 = none
  Zeros<Slot> shared_;                           // by name
  std::unordered_map<std::uint64_t, Slot> own_;  // other names, and the root
};

}  // namespace kvplan::memory
