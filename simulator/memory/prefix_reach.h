// Which cached blocks no lookup comes to. A lookup walks a prompt from its beginning and ends at the first content that
// is not there; what lies behind that in the tree of contents is cached for nothing.
//
// The tree: the content of a block follows that of the block before it in its prompt. Equal names mean equal prefixes
// (core/workload.h), so each has one predecessor. A content that appears, or vanishes with its last copy, changes what
// lies behind it; each of those costs one visit then.
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

class PrefixReach {
 public:
  /// Both outlive it. Nothing is there.
  PrefixReach(const core::Workload& workload, const core::ContentNames& names);

  /// The content has a copy now, or none any more. REQUIRES for `vanish`: no copy of it is cached.
  void appear(std::uint64_t name);
  void vanish(std::uint64_t name);
  /// So many more copies of the content are held by nobody.
  void add_cached(std::uint64_t name, std::int64_t copies);

  /// Cached copies of contents that no lookup comes to.
  [[nodiscard]] std::int64_t unreachable() const { return unreachable_; }

 private:
  using Slot = std::uint32_t;  // of a node; 0 stands for none
  /// Of a content that is there, or that one which is there follows.
  struct Node {
    std::uint64_t name{0};
    std::int64_t cached{0};
    Slot parent{0}, first_child{0};
    Slot next{0}, previous{0};  // children of one parent that are there
    bool there{false};
    bool reached{false};
  };

  Node& at(Slot slot) { return nodes_[slot]; }
  /// The name before it in its prompt; kRoot for a first one.
  [[nodiscard]] std::uint64_t before(std::uint64_t name) const;
  Slot& slot_of(std::uint64_t name);
  /// Its node, made where there is none.
  Slot make(std::uint64_t name);
  void remove(Slot slot);
  void set_reached(Slot slot, bool reached);

  const core::Workload& workload_;
  const core::ContentNames& names_;
  std::vector<std::int64_t> row_before_;  ///< by row of shared names: the row before it, -1 = none
  std::vector<Node> nodes_;
  std::vector<Slot> unused_;
  Zeros<Slot> shared_;                           ///< by name
  std::unordered_map<std::uint64_t, Slot> own_;  ///< other names, and the root
  std::vector<Slot> to_visit_;
  std::int64_t unreachable_{0};
};

}  // namespace kvplan::memory
