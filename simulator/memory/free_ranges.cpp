#include "simulator/memory/free_ranges.h"

#include <algorithm>
#include <iterator>

#include "simulator/base/check.h"

namespace kvplan::memory {

using core::RangePlacement;

FreeRanges::FreeRanges(RangePlacement fit, std::int64_t places)
    : fit_(fit), places_(places), refused_(places + 1) {
  remember_length(holes_.emplace(0, places).first);
}

std::int64_t FreeRanges::take(std::int64_t length) {
  if (length >= refused_) return -1;
  const auto hole = find(length);
  if (hole == holes_.end()) {
    refused_ = length;
    return -1;
  }
  const std::int64_t address = hole->first;
  shorten(hole, length);
  latest_end_ = address + length;
  return address;
}

std::int64_t FreeRanges::free_at(std::int64_t address) const {
  const auto hole = holes_.find(address);
  return hole == holes_.end() ? 0 : hole->second;
}

void FreeRanges::take_at(std::int64_t address, std::int64_t length) {
  const auto hole = holes_.find(address);
  KVPLAN_CHECK(hole != holes_.end() && hole->second >= length, address, length);
  shorten(hole, length);
}

void FreeRanges::give_back(std::int64_t address, std::int64_t length) {
  refused_ = places_ + 1;
  auto after = holes_.lower_bound(address);
  if (after != holes_.end() && after->first == address + length) {
    length += after->second;
    after = remove(after);
  }
  if (after != holes_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == address) {
      forget_length(before);
      before->second += length;
      remember_length(before);
      return;
    }
  }
  remember_length(holes_.emplace_hint(after, address, length));
}

void FreeRanges::slide(std::int64_t from, std::int64_t to, std::int64_t length) {
  give_back(from, length);
  take_at(to, length);
}

FreeRanges::Holes::iterator FreeRanges::find(std::int64_t length) {
  if (fit_ == RangePlacement::kBestFit) {
    const auto smallest = lengths_.lower_bound({length, 0});
    return smallest == lengths_.end() ? holes_.end() : holes_.find(smallest->second);
  }
  const auto search = [&](Holes::iterator from, Holes::iterator to) {
    return std::find_if(from, to, [&](const auto& hole) { return hole.second >= length; });
  };
  const auto start = fit_ == RangePlacement::kNextFit ? holes_.lower_bound(latest_end_) : holes_.begin();
  const auto behind = search(start, holes_.end());
  if (behind != holes_.end()) return behind;
  const auto ahead = search(holes_.begin(), start);
  return ahead == start ? holes_.end() : ahead;
}

/// Takes the low end of the hole.
void FreeRanges::shorten(Holes::iterator hole, std::int64_t length) {
  const std::int64_t left = hole->second - length;
  if (left == 0) {
    remove(hole);
    return;
  }
  forget_length(hole);
  const auto behind = std::next(hole);
  auto node = holes_.extract(hole);  // reuses the map node, because this is the common case
  node.key() += length;
  node.mapped() = left;
  remember_length(holes_.insert(behind, std::move(node)));
}

FreeRanges::Holes::iterator FreeRanges::remove(Holes::iterator hole) {
  forget_length(hole);
  return holes_.erase(hole);
}

void FreeRanges::remember_length(Holes::iterator hole) {
  if (fit_ == RangePlacement::kBestFit) lengths_.emplace(hole->second, hole->first);
}

void FreeRanges::forget_length(Holes::iterator hole) {
  if (fit_ == RangePlacement::kBestFit) lengths_.erase({hole->second, hole->first});
}

}  // namespace kvplan::memory
