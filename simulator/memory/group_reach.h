// Cached blocks that no lookup reaches, where layers lie in groups. A lookup takes n leading blocks that every group
// has (grouped_prefixes.h): in a group without a window all n, in a group with one the last few. A block is useful if
// some prompt would hit such n blocks and the block is among them.
//
// State is kept by content, in the order of prompts: how many contents in a row, ending with this one, each group has;
// whether that is enough in all groups, so that a hit can end here; and how far behind it the next content lies at
// which a hit can end. A content that appears or vanishes in a group costs one visit to each content behind it in the
// same row and to each content before it that it is the next end for. These are at most as many as a window has
// blocks, except where a group without a window loses or gets a content in the middle.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/memory/content_order.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::memory {

class GroupReach {
 public:
  /// The first two arguments outlive this. At first nothing is cached. A name is the name of a shared content
  /// times the number of groups plus the group, or own_name() of a table entry (core::MemoryLayout::groups).
  GroupReach(const core::Workload& workload, const core::ContentNames& names,
             std::span<const model::LayerGroup> groups, std::int64_t block_tokens);

  /// The content now has a copy in that group; `vanish`: it has none any more. REQUIRES for `vanish`: no copy
  /// of it is cached.
  void appear(std::uint64_t name);
  void vanish(std::uint64_t name);
  /// No request holds `copies` more (or fewer) copies of the content.
  void add_cached(std::uint64_t name, std::int64_t copies);

  /// Cached copies of contents that no lookup reaches.
  [[nodiscard]] std::int64_t unreachable() const { return unreachable_; }

 private:
  using Slot = ContentOrder::Slot;
  struct Node {
    std::uint64_t content{0};
    Slot parent{0}, first_child{0};
    Slot next{0}, previous{0};      // children of one parent
    std::int32_t groups_there{0};   // that have a copy
    std::int32_t groups_enough{0};  // number of groups with enough contents in a row
    std::int32_t ends_behind{0};    // number of children at or behind which a hit can end
    // distance to the nearest later content at which a hit can end; far_ if it is farther
    std::int32_t next_end{0};
    bool ends{false};        // a hit can end here
    bool end_behind{false};  // here, or behind it
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
  std::vector<std::int32_t> enough_;  // by group: contents in a row that a hit needs
  std::vector<bool> windows_;         // by group: true if it has a window
  std::int32_t far_{1};               // no window has more
  std::vector<Node> nodes_;           // [0] none, [1] the root, then contents
  std::vector<InGroup> in_group_;     // by node and group
  std::vector<Slot> unused_;
  std::vector<Slot> to_visit_;
  std::int64_t unreachable_{0};
};

}  // namespace kvplan::memory
