// Addresses of ranges in a replay: the mirror image of the simulator's, so that no address is right by accident.
// Written from simulator/io/log/FORMAT.md.
#pragma once

#include <cstdint>
#include <map>

#include "simulator/io/log/events.h"

namespace kvplan::validator {

class RangePlaces {
 public:
  RangePlaces(event_log::RangePlacement placement, std::int64_t places)
      : placement_(placement), places_(places), latest_first_(places), free_{{0, places}} {}

  /// The first place of a free range of `length`; -1 if nothing fits.
  std::int64_t take(std::int64_t length);
  void give_back(std::int64_t first, std::int64_t length);
  /// Takes these places. False if they are not all free; then nothing has changed. Does not count as placing a range.
  bool take_at(std::int64_t first, std::int64_t length);
  /// Number of free places from `first` on, up to the next held one.
  [[nodiscard]] std::int64_t free_at(std::int64_t first) const;
  /// First place -> length of free ranges; never adjacent.
  [[nodiscard]] const std::map<std::int64_t, std::int64_t>& free() const { return free_; }

 private:
  void cut(std::map<std::int64_t, std::int64_t>::iterator at, std::int64_t first, std::int64_t length);
  [[nodiscard]] std::int64_t place_for(std::int64_t length) const;
  [[nodiscard]] std::int64_t buddy_place_for(std::int64_t length) const;
  /// The pool is divided into powers of two, from the high end. Returns the end of the part that contains `distance`.
  [[nodiscard]] std::int64_t end_of_power(std::int64_t distance) const;

  event_log::RangePlacement placement_;
  std::int64_t places_;
  std::int64_t latest_first_;  // start of the latest range taken; next fit continues below it
  std::map<std::int64_t, std::int64_t> free_;
};

}  // namespace kvplan::validator
