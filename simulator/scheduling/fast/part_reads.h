// The fast engine's sums over decoding requests for steps that read only a part of the kept tokens. Each sum grows by a
// fixed amount with every step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/core/observer.h"
#include "simulator/core/read_rule.h"
#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan::core {

class PartReads {
 public:
  explicit PartReads(const ReadRule& rule) : rule_(rule), part_(rule.part()) {}

  /// If false, nothing below needs to be called.
  [[nodiscard]] bool part() const { return part_; }
  /// The number of tokens at which a decoding request's next change of reading occurs.
  [[nodiscard]] std::int64_t next_change(const SlotState& slot) const {
    std::int64_t next = INT64_MAX;
    if ((slot.read_in_part & kFetched) == 0) next = std::min(next, rule_.fetched);
    if ((slot.read_in_part & kRanked) == 0) next = std::min(next, rule_.ranked_beyond);
    return next;
  }
  /// To be called when the request begins to decode, and whenever it reaches next_change. Returns true if its reading
  /// changed.
  bool change(SlotState& slot, std::int64_t held) {
    const std::uint8_t before = slot.read_in_part;
    if (held >= rule_.fetched) enter(slot, kFetched, held, fetched_);
    if (held >= rule_.ranked_beyond) enter(slot, kRanked, held, ranked_);
    return slot.read_in_part != before;
  }
  /// The request stops decoding.
  void leave(const SlotState& slot, std::int64_t held) {
    if ((slot.read_in_part & kFetched) != 0) fetched_.add(-1, held + 1);
    if ((slot.read_in_part & kRanked) != 0) ranked_.add(-1, held + 1);
  }
  void run(std::int64_t steps) {
    fetched_.tokens += fetched_.requests * steps;
    ranked_.tokens += ranked_.requests * steps;
  }
  void add_decoding(Pass& pass) const {
    pass.load.unread_tokens += fetched_.tokens - fetched_.requests * rule_.fetched;
    pass.load.ranked_tokens += ranked_.tokens;
    pass.growth.unread_tokens = fetched_.requests;
    pass.growth.ranked_tokens = ranked_.requests;
  }

 private:
  static constexpr std::uint8_t kFetched = 1, kRanked = 2;  ///< bits of SlotState::read_in_part
  struct Sum {
    std::int64_t requests{0};
    std::int64_t tokens{0};  ///< tokens that the next queries of these requests see

    void add(std::int64_t sign, std::int64_t seen) {
      requests += sign;
      tokens += sign * seen;
    }
  };
  static void enter(SlotState& slot, std::uint8_t bit, std::int64_t held, Sum& sum) {
    if ((slot.read_in_part & bit) != 0) return;
    slot.read_in_part = static_cast<std::uint8_t>(slot.read_in_part | bit);
    sum.add(1, held + 1);
  }

  ReadRule rule_;
  bool part_;
  Sum fetched_, ranked_;
};

}  // namespace kvplan::core
