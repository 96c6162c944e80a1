// Where ranges of memory go in a replay: the mirror image of where the simulator's go, so that no address is right by
// accident. Written from simulator/io/log/FORMAT.md.
#pragma once

#include <cstdint>
#include <map>

#include "simulator/io/log/events.h"

namespace kvplan::validator {

class RangePlaces {
 public:
  RangePlaces(event_log::RangePlacement placement, std::int64_t places)
      : placement_(placement), places_(places), latest_first_(places), free_{{0, places}} {}

  /// The first place of a range of `length` that was free; -1 where nothing fits.
  std::int64_t take(std::int64_t length);
  void give_back(std::int64_t first, std::int64_t length);
  /// Takes just these. False, and nothing has changed: they are not all free. No range was placed by that.
  bool take_at(std::int64_t first, std::int64_t length);
  /// Free places from `first` on, up to the next that is held.
  [[nodiscard]] std::int64_t free_at(std::int64_t first) const;
  /// First place -> length of what is free; never adjacent.
  [[nodiscard]] const std::map<std::int64_t, std::int64_t>& free() const { return free_; }

 private:
  void cut(std::map<std::int64_t, std::int64_t>::iterator at, std::int64_t first, std::int64_t length);
  [[nodiscard]] std::int64_t place_for(std::int64_t length) const;
  [[nodiscard]] std::int64_t buddy_place_for(std::int64_t length) const;
  /// Of the powers of two that the pool is made of, from the high end: where the one ends that `distance` is in.
  [[nodiscard]] std::int64_t end_of_power(std::int64_t distance) const;

  event_log::RangePlacement placement_;
  std::int64_t places_;
  std::int64_t latest_first_;  // of the latest range taken; next fit goes on below it
  std::map<std::int64_t, std::int64_t> free_;
};

}  // namespace kvplan::validator
