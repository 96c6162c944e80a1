#include "validator/replay/range_places.h"

#include <algorithm>
#include <iterator>

#include "simulator/base/check.h"

namespace kvplan::validator {

using event_log::RangePlacement;

std::int64_t RangePlaces::place_for(std::int64_t length) const {
  if (placement_ == RangePlacement::kBuddy) return buddy_place_for(length);
  // From the high end down. A range takes the high end of what is free.
  std::int64_t best_length = 0;
  std::int64_t best_end = -1;
  bool best_is_behind = false;
  for (auto at = free_.rbegin(); at != free_.rend(); ++at) {
    if (at->second < length) continue;
    const std::int64_t end = at->first + at->second;
    const bool behind = end <= latest_first_;
    bool better = best_end < 0;
    if (placement_ == RangePlacement::kBestFit) better = better || at->second < best_length;
    if (placement_ == RangePlacement::kNextFit) better = better || (behind && !best_is_behind);
    if (!better) continue;
    best_length = at->second;
    best_end = end;
    best_is_behind = behind;
    if (placement_ == RangePlacement::kFirstFit) break;
  }
  return best_end < 0 ? -1 : best_end - length;
}

std::int64_t RangePlaces::end_of_power(std::int64_t distance) const {
  std::int64_t end = 0;
  for (std::int64_t power = std::int64_t{1} << 40; end <= distance; power /= 2) {
    KVPLAN_CHECK(power > 0, distance, places_);
    end += places_ & power;
  }
  return end;
}

std::int64_t RangePlaces::buddy_place_for(std::int64_t length) const {
  // Free ranges are cut into the largest pieces with a valid length and address, counted from the high end of memory.
  std::int64_t best_length = 0;
  std::int64_t best_distance = -1;  // from the high end to the piece
  for (auto at = free_.rbegin(); at != free_.rend(); ++at) {
    std::int64_t distance = places_ - (at->first + at->second);
    const std::int64_t end = distance + at->second;
    while (distance < end) {
      const std::int64_t limit = std::min(end, end_of_power(distance));
      std::int64_t piece = 1;
      while (distance % (2 * piece) == 0 && distance + 2 * piece <= limit) piece *= 2;
      if (piece >= length && (best_distance < 0 || piece < best_length)) {
        best_length = piece;
        best_distance = distance;
      }
      distance += piece;
    }
  }
  return best_distance < 0 ? -1 : places_ - best_distance - length;
}

std::int64_t RangePlaces::take(std::int64_t length) {
  const std::int64_t first = place_for(length);
  if (first < 0) return first;
  cut(std::prev(free_.upper_bound(first)), first, length);
  latest_first_ = first;
  return first;
}

void RangePlaces::cut(std::map<std::int64_t, std::int64_t>::iterator at, std::int64_t first,
                      std::int64_t length) {
  const auto [begin, free] = *at;
  KVPLAN_CHECK(first + length <= begin + free, first, length);
  free_.erase(at);
  if (first > begin) free_.emplace(begin, first - begin);
  if (first + length < begin + free) free_.emplace(first + length, begin + free - first - length);
}

std::int64_t RangePlaces::free_at(std::int64_t first) const {
  const auto behind = free_.upper_bound(first);
  if (behind == free_.begin()) return 0;
  const auto [begin, length] = *std::prev(behind);
  return std::max<std::int64_t>(begin + length - first, 0);
}

bool RangePlaces::take_at(std::int64_t first, std::int64_t length) {
  if (first < 0 || free_at(first) < length) return false;
  cut(std::prev(free_.upper_bound(first)), first, length);
  return true;
}

void RangePlaces::give_back(std::int64_t first, std::int64_t length) {
  const auto above = free_.find(first + length);
  if (above != free_.end()) {
    length += above->second;
    free_.erase(above);
  }
  const auto behind = free_.lower_bound(first);
  if (behind != free_.begin() && std::prev(behind)->first + std::prev(behind)->second == first) {
    std::prev(behind)->second += length;
  } else {
    free_.emplace(first, length);
  }
}

}  // namespace kvplan::validator
