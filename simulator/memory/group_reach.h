// Which cached blocks no lookup comes to, where layers lie in groups. A lookup takes n leading blocks that every group
// has (grouped_prefixes.h): all of a group without a window, the last ones of a group with one. A block is of use where
// some prompt would find such n blocks and take it among them.
//
// Kept by content, in the order in which prompts have them: how many contents in a row, this one the last, each group
// has; whether that is enough for all of them, so that a hit can end here; and how far behind it the next one lies at
// which a hit can end. A content that appears or vanishes in a group costs a visit to those behind it whose row it is
// in, and to those before it that it is the next for: no more than a window has blocks, but where a group without a
// window loses or gets what lies in the middle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/memory/content_order.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::memory {

class GroupReach {
 public:
  /// The first two outlive it. Nothing is there. A name is that of a shared content times the number of groups plus
  /// the group, or own_name() of an entry of the table (core::MemoryLayout::groups).
  GroupReach(const core::Workload& workload, const core::ContentNames& names,
             std::span<const model::LayerGroup> groups, std::int64_t block_tokens);

  /// The content has a copy in that group now, or none any more. REQUIRES for `vanish`: no copy of it is cached.
  void appear(std::uint64_t name);
  void vanish(std::uint64_t name);
  /// So many more copies of the content are held by nobody.
  void add_cached(std::uint64_t name, std::int64_t copies);

  /// Cached copies of contents that no lookup comes to.
  [[nodiscard]] std::int64_t unreachable() const { return unreachable_; }

 private:
  using Slot = ContentOrder::Slot;
  struct Node {
    std::uint64_t content{0};
    Slot parent{0}, first_child{0};
    Slot next{0}, previous{0};      // children of one parent
    std::int32_t groups_there{0};   // that have a copy
    std::int32_t groups_enough{0};  // that have enough in a row
    std::int32_t ends_behind{0};    // children at or behind which a hit can end
    std::int32_t next_end{0};       // how far behind it the nearest such content lies; far_ if not so near
    bool ends{false};               // a hit can end here
    bool end_behind{false};         // here, or behind it
  };
  struct InGroup {
    std::int64_t cached{0};
    std::int32_t row{0};
    bool there{false};
  };
  /// A content of a group, by place.
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
  std::vector<std::int32_t> enough_;  // by group: how many in a row it takes
  std::vector<bool> windows_;         // by group: it has one
  std::int32_t far_{1};               // no window has more
  std::vector<Node> nodes_;           // none, the root, and others
  std::vector<InGroup> in_group_;     // by node and group
  std::vector<Slot> unused_;
  std::vector<Slot> to_visit_;
  std::int64_t unreachable_{0};
};

}  // namespace kvplan::memory
