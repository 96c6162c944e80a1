#include "simulator/memory/group_reach.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::memory {
namespace {

constexpr std::uint32_t kRootSlot = 1;

}  // namespace

GroupReach::GroupReach(const core::Workload& workload, const core::ContentNames& names,
                       std::span<const model::LayerGroup> groups, std::int64_t block_tokens)
    : order_(workload, names) {
  for (const model::LayerGroup& group : groups) {
    const std::int64_t shown =
        group.window == 0 ? 1 : std::max<std::int64_t>(ceil_div(group.window - 1, block_tokens), 1);
    enough_.push_back(static_cast<std::int32_t>(std::min<std::int64_t>(shown, INT32_MAX - 1)));
    windows_.push_back(group.window > 0);
    far_ = std::max(far_, enough_.back());
  }
  nodes_.resize(1);
  in_group_.resize(enough_.size());
  KVPLAN_CHECK(new_node(ContentOrder::kRoot) == kRootSlot);
  for (std::size_t g = 0; g < enough_.size(); ++g)
    in(kRootSlot, g).row = enough_[g];  // nothing is missing before it
}

std::uint64_t GroupReach::content_of(std::uint64_t name, std::size_t& group) const {
  const std::uint64_t groups = enough_.size();
  const std::uint64_t number = (name & kOwnName) == 0 ? name : name & 0xFFFFFFFFU;
  group = number % groups;
  return name - number + number / groups;
}

GroupReach::Place GroupReach::place_of(std::uint64_t name) {
  std::size_t group = 0;
  const std::uint64_t content = content_of(name, group);
  return {order_.slot_of(content), group};
}

GroupReach::Slot GroupReach::new_node(std::uint64_t content) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<Slot>(nodes_.size()));
    nodes_.emplace_back();
    in_group_.resize(nodes_.size() * enough_.size());
  }
  const Slot slot = unused_.back();
  unused_.pop_back();
  at(slot) = Node{.content = content, .next_end = far_};
  for (std::size_t g = 0; g < enough_.size(); ++g) in(slot, g) = {};
  return slot;
}

/// The node of a content; if it does not exist, it and those before it are made.
GroupReach::Slot GroupReach::make(std::uint64_t content) {
  Slot child = 0;
  Slot found = 0;
  while (true) {
    const bool root = content == ContentOrder::kRoot;
    Slot slot = root ? kRootSlot : order_.slot_of(content);
    const bool there = slot != 0;
    if (!there) order_.slot_of(content) = slot = new_node(content);
    if (found == 0) found = slot;
    if (child != 0) {
      Node& node = at(child);
      Node& above = at(slot);
      node.parent = slot;
      node.next = above.first_child;
      if (node.next != 0) at(node.next).previous = child;
      above.first_child = child;
    }
    if (there) return found;
    child = slot;
    content = order_.before(content);
  }
}

/// Removes the node if it has no content and no node after it; then does the same with the node before it.
void GroupReach::remove_unused(Slot slot) {
  while (slot != kRootSlot && at(slot).groups_there == 0 && at(slot).first_child == 0) {
    const Node& node = at(slot);
    KVPLAN_CHECK(!node.end_behind, static_cast<std::int64_t>(node.content));
    (node.previous == 0 ? at(node.parent).first_child : at(node.previous).next) = node.next;
    if (node.next != 0) at(node.next).previous = node.previous;
    order_.forget(node.content);
    unused_.push_back(slot);
    slot = node.parent;
  }
}

void GroupReach::appear(std::uint64_t name) {
  std::size_t group = 0;
  const Slot slot = make(content_of(name, group));
  KVPLAN_CHECK(!in(slot, group).there, static_cast<std::int64_t>(name));
  in(slot, group).there = true;
  ++at(slot).groups_there;
  count_rows(slot, group);
}

void GroupReach::vanish(std::uint64_t name) {
  const auto [slot, group] = place_of(name);
  KVPLAN_CHECK(in(slot, group).there && in(slot, group).cached == 0, static_cast<std::int64_t>(name));
  in(slot, group).there = false;
  --at(slot).groups_there;
  count_rows(slot, group);
  remove_unused(slot);
}

void GroupReach::add_cached(std::uint64_t name, std::int64_t copies) {
  const auto [slot, group] = place_of(name);
  in(slot, group).cached += copies;
  if (!taken(at(slot), group)) unreachable_ += copies;
}

/// Updates the rows of later contents after a content appeared in a group or vanished from it.
void GroupReach::count_rows(Slot first, std::size_t group) {
  to_visit_.assign(1, first);
  const std::int32_t enough = enough_[group];
  while (!to_visit_.empty()) {
    const Slot slot = to_visit_.back();
    to_visit_.pop_back();
    InGroup& here = in(slot, group);
    const std::int32_t before = in(at(slot).parent, group).row;
    std::int32_t row = 0;
    // In a group without a window no content may be missing from the beginning on.
    if (here.there) row = windows_[group] ? std::min(before + 1, enough) : before;
    if (row == here.row) continue;
    Node& node = at(slot);
    node.groups_enough +=
        static_cast<std::int32_t>(row == enough) - static_cast<std::int32_t>(here.row == enough);
    here.row = row;
    const bool ends = node.groups_enough == static_cast<std::int32_t>(enough_.size());
    if (ends != node.ends) {
      node.ends = ends;
      settle(slot);
    }
    for (Slot child = at(slot).first_child; child != 0; child = at(child).next) to_visit_.push_back(child);
  }
}

/// Updates whether a hit can end at a content or after it.
void GroupReach::settle(Slot slot) {
  while (slot != kRootSlot) {
    Node& node = at(slot);
    std::int32_t next_end = node.ends ? 0 : far_;
    for (Slot child = node.first_child; child != 0 && next_end > 1; child = at(child).next)
      next_end = std::min(next_end, at(child).next_end + 1);
    const bool end_behind = node.ends || node.ends_behind > 0;
    if (next_end == node.next_end && end_behind == node.end_behind) return;
    if (end_behind != node.end_behind) at(node.parent).ends_behind += end_behind ? 1 : -1;
    for (std::size_t g = 0; g < enough_.size(); ++g)
      if (!taken(node, g)) unreachable_ -= in(slot, g).cached;
    node.next_end = next_end;
    node.end_behind = end_behind;
    for (std::size_t g = 0; g < enough_.size(); ++g)
      if (!taken(node, g)) unreachable_ += in(slot, g).cached;
    slot = node.parent;
  }
}

}  // namespace kvplan::memory
