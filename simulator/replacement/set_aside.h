// Blocks that were passed over in a search for a victim, because a request holds them. They leave their list, so that
// they are not tried again, and keep their rank in it. When they may be evicted again, they come first: everything that
// is still in the list is younger. If every block may be evicted this is empty and costs nothing.
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
  /// Identifies a block that is set aside.
  using Ticket = std::uint32_t;

  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// Sets an id aside. REQUIRES: it is the oldest id in the list, and not set aside.
  Ticket add(std::uint32_t list, Id id);
  void remove(Ticket ticket);
  /// The block may be evictable again. Without this call, `first` does not find it.
  void may_go(Ticket ticket);
  /// The oldest id of a list that was set aside, evictable or not; kNoId: none was.
  [[nodiscard]] Id oldest(std::uint32_t list) const;

  /// The oldest id of a list that may be evicted; kNoId: none may.
  template <class May>
  Id first(std::uint32_t list, const May& may) {
    for (auto at = back_.lower_bound({list, 0}); at != back_.end() && at->first.list == list;) {
      if (may(at->second)) return at->second;
      at = back_.erase(at);  // held again: wait for the next may_go
    }
    return kNoId;
  }
  /// The oldest evictable id of the first list that has one, and the list; kNoId: none.
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
    std::uint64_t turn;  // ascending: later ids of a list are younger
    friend auto operator<=>(const Rank&, const Rank&) = default;
  };
  std::map<Rank, Id> all_;
  std::map<Rank, Id> back_;  // ids that were reported by may_go
  std::vector<Rank> ranks_;  // by ticket
  std::vector<Ticket> unused_;
  std::uint64_t turn_{0};
};

}  // namespace kvplan::replacement
