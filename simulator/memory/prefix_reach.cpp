#include "simulator/memory/prefix_reach.h"

#include "simulator/base/check.h"

namespace kvplan::memory {
namespace {

constexpr std::uint64_t kRoot = ~std::uint64_t{0};

}  // namespace

PrefixReach::PrefixReach(const core::Workload& workload, const core::ContentNames& names)
    : workload_(workload),
      names_(names),
      nodes_(1),  // none
      shared_(static_cast<std::size_t>(names.shared_count())) {
  const std::int64_t row = names_.row_length();
  row_before_.assign(static_cast<std::size_t>(names_.shared_count() / row), -1);
  for (RequestId r = 0; r < static_cast<RequestId>(workload_.size()); ++r)
    for (std::int64_t i = 1; i * row < names_.shared_blocks(r); ++i)
      row_before_[static_cast<std::size_t>(names_.first_name(r, i) / row)] =
          names_.first_name(r, i - 1) / row;
}

std::uint64_t PrefixReach::before(std::uint64_t name) const {
  const std::int64_t row = names_.row_length();
  if ((name & kOwnName) == 0) {
    if (static_cast<std::int64_t>(name) % row != 0) return name - 1;
    const std::int64_t last = row_before_[static_cast<std::size_t>(static_cast<std::int64_t>(name) / row)];
    return last < 0 ? kRoot : static_cast<std::uint64_t>(last * row + row - 1);
  }
  const auto r = static_cast<RequestId>((name & ~kOwnName) >> 32);
  const auto block = static_cast<std::int64_t>(name & 0xFFFFFFFFU);
  if (block == 0) return kRoot;
  if (block > names_.shared_blocks(r)) return name - 1;
  return static_cast<std::uint64_t>(names_.shared_name(r, block - 1));
}

PrefixReach::Slot& PrefixReach::slot_of(std::uint64_t name) {
  return (name & kOwnName) == 0 ? shared_[static_cast<std::size_t>(name)] : own_[name];
}

PrefixReach::Slot PrefixReach::make(std::uint64_t name) {
  Slot& slot = slot_of(name);
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
  const std::uint64_t name = at(slot).name;
  if ((name & kOwnName) == 0) {
    shared_[static_cast<std::size_t>(name)] = 0;
  } else {
    own_.erase(name);
  }
  unused_.push_back(slot);
}

void PrefixReach::appear(std::uint64_t name) {
  const Slot parent = make(before(name));
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
  if (above.name == kRoot || above.reached) set_reached(slot, true);
}

void PrefixReach::vanish(std::uint64_t name) {
  const Slot slot = slot_of(name);
  Node& node = at(slot);
  KVPLAN_CHECK(node.there && node.cached == 0, node.cached);
  if (node.reached) set_reached(slot, false);
  node.there = false;
  Node& above = at(node.parent);
  (node.previous == 0 ? above.first_child : at(node.previous).next) = node.next;
  if (node.next != 0) at(node.next).previous = node.previous;
  if (above.first_child == 0 && !above.there && above.name != kRoot) remove(node.parent);
  if (node.first_child == 0) remove(slot);
}

void PrefixReach::add_cached(std::uint64_t name, std::int64_t copies) {
  Node& node = at(slot_of(name));
  node.cached += copies;
  if (!node.reached) unreachable_ += copies;
}

/// The content and all that is there behind it without a gap.
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
