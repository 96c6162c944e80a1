// Counts cached blocks that no lookup reaches, where layers lie in groups. A lookup hits n leading blocks that exist in
// every group (grouped_prefixes.h): all n in a group without a window, only the last few in a group with one. A block
// is reachable if some prompt would hit such n blocks and the block is among them.
//
// The state is kept by content, in the order of prompts: how many consecutive contents, ending with this one, each
// group has; whether that is enough in all groups, so that a hit can end here; and the distance to the next later
// content at which a hit can end. When a content appears or vanishes in a group, two kinds of contents are visited:
// later ones of the same consecutive row, and earlier ones for which it is the nearest end. They are at most as many as
// a window has blocks, except where a group without a window loses or gets a content in the middle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/memory/content_order.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::memory {

class GroupReach {
 public:
  /// The first two arguments outlive this object. At first nothing is cached. A name is the name of a shared content
  /// times the number of groups plus the group, or own_name() of a table entry (core::MemoryLayout::groups).
  GroupReach(const core::Workload& workload, const core::ContentNames& names,
             std::span<const model::LayerGroup> groups, std::int64_t block_tokens);

  /// The content now has a copy in that group; `vanish`: it has none any more. REQUIRES for `vanish`: no copy
  /// of it is cached.
  void appear(std::uint64_t name);
  void vanish(std::uint64_t name);
  /// The number of copies of the content that no request holds changes by `copies`.
  void add_cached(std::uint64_t name, std::int64_t copies);

  /// Cached copies of contents that no lookup reaches.
  [[nodiscard]] std::int64_t unreachable() const { return unreachable_; }

 private:
  using Slot = ContentOrder::Slot;
  struct Node {
    std::uint64_t content{0};
    Slot parent{0}, first_child{0};
    Slot next{0}, previous{0};      // children of one parent
    std::int32_t groups_there{0};   // number of groups that have a copy
    std::int32_t groups_enough{0};  // number of groups with enough consecutive contents
    std::int32_t ends_behind{0};    // number of children where a hit can end, at the child or later
    // distance to the nearest later content at which a hit can end; far_ if it is farther
    std::int32_t next_end{0};
    bool ends{false};        // a hit can end here
    bool end_behind{false};  // a hit can end here or later
  };
  struct InGroup {
    std::int64_t cached{0};
    std::int32_t row{0};
    bool there{false};
  };
  /// A content in one group.
  struct Place {
    Slot slot;
    std::size_t group;
  };

  Node& at(Slot slot) { return nodes_[slot]; }
  InGroup& in(Slot slot, std::size_t group) { return in_group_[slot * enough_.size() + group]; }
  [[nodiscard]] std::uint64_t content_of(std::uint64_t name, std::size_t& group) const;
  Place place_of(std::uint64_t name);
  Slot make(std::uint64_t content);
  Slot new_node(std::uint64_t content);
  void remove_unused(Slot slot);
  void count_rows(Slot slot, std::size_t group);
  void settle(Slot slot);
  [[nodiscard]] bool taken(const Node& node, std::size_t group) const {
    return windows_[group] ? node.next_end < enough_[group] : node.end_behind;
  }

  ContentOrder order_;
  std::vector<std::int32_t> enough_;  // by group: consecutive contents that a hit needs
  std::vector<bool> windows_;         // by group: true if it has a window
  std::int32_t far_{1};               // a distance that no window reaches
  std::vector<Node> nodes_;           // [0] none, [1] the root, then contents
  std::vector<InGroup> in_group_;     // by node and group
  std::vector<Slot> unused_;
  std::vector<Slot> to_visit_;
  std::int64_t unreachable_{0};
};

}  // namespace kvplan::memory
