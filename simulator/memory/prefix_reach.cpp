#include "simulator/memory/prefix_reach.h"

#include "simulator/base/check.h"

namespace kvplan::memory {
PrefixReach::Slot PrefixReach::make(std::uint64_t name) {
  Slot& slot = order_.slot_of(name);
  if (slot != 0) return slot;
  if (unused_.empty()) {
    unused_.push_back(static_cast<Slot>(nodes_.size()));
    nodes_.emplace_back();
  }
  slot = unused_.back();
  unused_.pop_back();
  at(slot) = Node{.name = name};
  return slot;
}

void PrefixReach::remove(Slot slot) {
  order_.forget(at(slot).name);
  unused_.push_back(slot);
}

void PrefixReach::appear(std::uint64_t name) {
  const Slot parent = make(order_.before(name));
  const Slot slot = make(name);
  Node& node = at(slot);
  Node& above = at(parent);
  KVPLAN_CHECK(!node.there, static_cast<std::int64_t>(name));
  node.there = true;
  node.parent = parent;
  node.previous = 0;
  node.next = above.first_child;
  if (node.next != 0) at(node.next).previous = slot;
  above.first_child = slot;
  if (above.name == ContentOrder::kRoot || above.reached) set_reached(slot, true);
}

void PrefixReach::vanish(std::uint64_t name) {
  const Slot slot = order_.slot_of(name);
  Node& node = at(slot);
  KVPLAN_CHECK(node.there && node.cached == 0, node.cached);
  if (node.reached) set_reached(slot, false);
  node.there = false;
  Node& above = at(node.parent);
  (node.previous == 0 ? above.first_child : at(node.previous).next) = node.next;
  if (node.next != 0) at(node.next).previous = node.previous;
  if (above.first_child == 0 && !above.there && above.name != ContentOrder::kRoot) remove(node.parent);
  if (node.first_child == 0) remove(slot);
}

void PrefixReach::add_cached(std::uint64_t name, std::int64_t copies) {
  Node& node = at(order_.slot_of(name));
  node.cached += copies;
  if (!node.reached) unreachable_ += copies;
}

/// Sets the state of the content and of all cached contents after it up to the first gap.
void PrefixReach::set_reached(Slot slot, bool reached) {
  to_visit_.assign(1, slot);
  while (!to_visit_.empty()) {
    Node& node = at(to_visit_.back());
    to_visit_.pop_back();
    KVPLAN_CHECK(node.there && node.reached != reached, static_cast<std::int64_t>(node.name));
    node.reached = reached;
    unreachable_ += reached ? -node.cached : node.cached;
    for (Slot child = node.first_child; child != 0; child = at(child).next) to_visit_.push_back(child);
  }
}

}  // namespace kvplan::memory
