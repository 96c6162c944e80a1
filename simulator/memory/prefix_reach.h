// Which cached blocks no lookup comes to. A lookup walks a prompt from its beginning and ends at the first content that
// is not there; what lies behind that in the tree of contents is cached for nothing.
//
// A content that appears, or vanishes with its last copy, changes what lies behind it; each of those costs one visit
// then. Where layers lie in groups it is group_reach.h that counts.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/memory/content_order.h"

namespace kvplan::memory {

class PrefixReach {
 public:
  /// Both outlive it. Nothing is there.
  PrefixReach(const core::Workload& workload, const core::ContentNames& names)
      : order_(workload, names), nodes_(1) {}

  /// The content has a copy now, or none any more. REQUIRES for `vanish`: no copy of it is cached.
  void appear(std::uint64_t name);
  void vanish(std::uint64_t name);
  /// So many more copies of the content are held by nobody.
  void add_cached(std::uint64_t name, std::int64_t copies);

  /// Cached copies of contents that no lookup comes to.
  [[nodiscard]] std::int64_t unreachable() const { return unreachable_; }

 private:
  using Slot = ContentOrder::Slot;
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
  /// Its node, made where there is none.
  Slot make(std::uint64_t name);
  void remove(Slot slot);
  void set_reached(Slot slot, bool reached);

  ContentOrder order_;
  std::vector<Node> nodes_;
  std::vector<Slot> unused_;
  std::vector<Slot> to_visit_;
  std::int64_t unreachable_{0};
};

}  // namespace kvplan::memory
