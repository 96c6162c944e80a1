// The pages that each request has mapped, where its keys and values are contiguous in virtual memory
// (microsoft/vattention, commit ef3fff25db, vattention/vattention.cu and utils.h). A slot is a part of every tensor's
// address space, used by one request at a time. Counts are in allocation units: one page of each equal tensor.
//
// Deferred reclaim: when a request ends, its pages stay mapped in its slot and serve the next request there. Pages are
// unmapped only when a request lacks pages: from the highest slot down, all pages that a slot has beyond its need,
// until there are enough. Eager reclaim: pages are unmapped when their request ends.
//
// A new request takes the lowest idle slot, unless a higher idle slot has enough pages mapped and fewer of them than
// the best slot found before it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "simulator/base/ids.h"

namespace kvplan::memory {

/// Number of allocation units mapped and unmapped.
struct PageCalls {
  std::int64_t mapped{0}, unmapped{0};
  friend bool operator==(const PageCalls&, const PageCalls&) = default;
};

class PageSlots {
 public:
  PageSlots(std::int64_t alloc_units, bool deferred) : unmapped_(alloc_units), deferred_(deferred) {}

  /// Takes a slot for a request that will first need `prompt_alloc_units` and now needs `alloc_units`. REQUIRES (also
  /// for `need`): the needs of all slots together are at most the pages that exist.
  std::int64_t take(std::int64_t prompt_alloc_units, std::int64_t alloc_units, PageCalls& calls);
  /// The slot's request needs `alloc_units` in all, no fewer than before.
  void need(std::int64_t slot, std::int64_t alloc_units, PageCalls& calls);
  void give_back(std::int64_t slot, PageCalls& calls);

  [[nodiscard]] std::int64_t unmapped() const { return unmapped_; }
  [[nodiscard]] std::int64_t mapped(std::int64_t slot) const {
    return static_cast<std::int64_t>(slots_[at(slot)].pages.size());
  }
  /// Ids of the allocation units that the slot's request needs, from its first to its last.
  [[nodiscard]] std::span<const BlockId> pages(std::int64_t slot) const {
    return std::span<const BlockId>(slots_[at(slot)].pages).first(at(slots_[at(slot)].needed));
  }

 private:
  struct Slot {
    std::vector<BlockId> pages;  // mapped
    std::int64_t needed{0};
    bool active{false};
  };
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::int64_t choose(std::int64_t alloc_units) const;
  void list(std::int64_t slot);
  void map(Slot& slot, std::int64_t alloc_units, PageCalls& calls);
  void unmap(Slot& slot, std::int64_t alloc_units, PageCalls& calls);

  std::int64_t unmapped_;
  bool deferred_;
  std::vector<BlockId> free_;  // ids that were mapped earlier and are not now, the latest last
  std::int64_t next_new_{0};   // this id and higher ones were never mapped
  std::vector<Slot> slots_;
  std::set<std::int64_t> idle_;  // slots
  std::set<std::int64_t> over_;  // slots with more mapped than needed
};

}  // namespace kvplan::memory
