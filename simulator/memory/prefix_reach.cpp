#include "simulator/memory/prefix_reach.h"

#include "simulator/base/check.h"

namespace kvplan::memory {
namespace {

constexpr std::uint64_t kRoot = ~std::uint64_t{0};

}  // namespace

PrefixReach::PrefixReach(const core::Workload& workload, const core::ContentNames& names)
    : workload_(workload), names_(names) {
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

void PrefixReach::appear(std::uint64_t name) {
  const std::uint64_t parent = before(name);
  Node& above = nodes_[parent];
  const bool reached = parent == kRoot || above.reached;
  above.children.push_back(name);
  const std::size_t place = above.children.size() - 1;
  Node& node = nodes_[name];  // `above` is not used any more: the table may have moved
  KVPLAN_CHECK(!node.there, static_cast<std::int64_t>(name));
  node.there = true;
  node.place = place;
  if (reached) set_reached(name, true);
}

void PrefixReach::vanish(std::uint64_t name) {
  Node& node = nodes_.at(name);
  KVPLAN_CHECK(node.there && node.cached == 0, node.cached);
  if (node.reached) set_reached(name, false);
  node.there = false;
  const std::uint64_t parent = before(name);
  Node& above = nodes_.at(parent);
  const std::uint64_t last = above.children.back();
  above.children[node.place] = last;
  nodes_.at(last).place = node.place;
  above.children.pop_back();
  if (above.children.empty() && !above.there && parent != kRoot) nodes_.erase(parent);
  if (node.children.empty()) nodes_.erase(name);
}

void PrefixReach::add_cached(std::uint64_t name, std::int64_t copies) {
  Node& node = nodes_.at(name);
  node.cached += copies;
  if (!node.reached) unreachable_ += copies;
}

/// The content and all that is there behind it without a gap.
void PrefixReach::set_reached(std::uint64_t name, bool reached) {
  to_visit_.assign(1, name);
  while (!to_visit_.empty()) {
    Node& node = nodes_.at(to_visit_.back());
    to_visit_.pop_back();
    KVPLAN_CHECK(node.there && node.reached != reached, static_cast<std::int64_t>(name));
    node.reached = reached;
    unreachable_ += reached ? -node.cached : node.cached;
    to_visit_.insert(to_visit_.end(), node.children.begin(), node.children.end());
  }
}

}  // namespace kvplan::memory
