// Blocks that were passed over when a victim was looked for, because somebody holds them: they leave the list in
// which they were found, so that nobody passes over them again, and keep their rank in it. Those that may go again come
// first: everything that is still in the list is younger. Empty, and of no cost, where everything may go.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "simulator/replacement/use.h"

namespace kvplan::replacement {

class SetAside {
 public:
  /// Names a block that is set aside.
  using Ticket = std::uint32_t;

  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// REQUIRES: it is the oldest of those in the list, and not set aside.
  Ticket add(std::uint32_t list, Id id);
  void remove(Ticket ticket);
  /// What kept the block from going has ended. Needed, or `first` does not find it.
  void may_go(Ticket ticket);
  /// The oldest of a list that was set aside, whether it may go or not; kNoId: none was.
  [[nodiscard]] Id oldest(std::uint32_t list) const;

  /// The oldest of a list that may go; kNoId: none may.
  template <class May>
  Id first(std::uint32_t list, const May& may) {
    for (auto at = back_.lower_bound({list, 0}); at != back_.end() && at->first.list == list;) {
      if (may(at->second)) return at->second;
      at = back_.erase(at);  // held again: until the next may_go
    }
    return kNoId;
  }
  /// The oldest of the first list that has one that may go, and the list; kNoId: none may.
  template <class May>
  std::pair<std::uint32_t, Id> first(const May& may) {
    while (!back_.empty()) {
      const auto at = back_.begin();
      if (may(at->second)) return {at->first.list, at->second};
      back_.erase(at);
    }
    return {0, kNoId};
  }

 private:
  struct Rank {
    std::uint32_t list;
    std::uint64_t turn;  // grows: later ones of a list are younger
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };
  std::map<Rank, Id> all_;
  std::map<Rank, Id> back_;  // those that may go, as far as was told
  std::vector<Rank> ranks_;  // by ticket
  std::vector<Ticket> unused_;
  std::uint64_t turn_{0};
};

}  // namespace kvplan::replacement
