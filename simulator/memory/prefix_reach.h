// Counts cached blocks that no lookup reaches. A lookup walks a prompt from its beginning and ends at the first content
// that is not cached; descendants of a missing block in the tree of contents are unreachable.
//
// When a content appears, or vanishes with its last copy, the state of its descendants changes; each of them costs one
// visit then. Where layers lie in groups, group_reach.h does this.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/memory/content_order.h"

namespace kvplan::memory {

class PrefixReach {
 public:
  /// Both arguments outlive this object. At first nothing is cached.
  PrefixReach(const core::Workload& workload, const core::ContentNames& names)
      : order_(workload, names), nodes_(1) {}

  /// The content now has a copy; `vanish`: it has none any more. REQUIRES for `vanish`: no copy of it is
  /// cached.
  void appear(std::uint64_t name);
  void vanish(std::uint64_t name);
  /// The number of copies of the content that no request holds changes by `copies`.
  void add_cached(std::uint64_t name, std::int64_t copies);

  /// Cached copies of contents that no lookup reaches.
  [[nodiscard]] std::int64_t unreachable() const { return unreachable_; }

 private:
  using Slot = ContentOrder::Slot;
  /// The node of a content that is cached or has a cached descendant.
  struct Node {
    std::uint64_t name{0};
    std::int64_t cached{0};
    Slot parent{0}, first_child{0};
    Slot next{0}, previous{0};  // siblings: other cached children of the same parent
    bool there{false};
    bool reached{false};
  };

  Node& at(Slot slot) { return nodes_[slot]; }
  /// The content's node, made if there is none.
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
