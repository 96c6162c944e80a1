#include "simulator/memory/page_slots.h"

#include "simulator/base/check.h"

namespace kvplan::memory {

/// Puts the slot on the lists to which it belongs, and removes it from the others.
void PageSlots::list(std::int64_t slot) {
  const Slot& s = slots_[at(slot)];
  const auto put = [&](std::set<std::int64_t>& slots, bool belongs) {
    if (belongs) {
      slots.insert(slot);
    } else {
      slots.erase(slot);
    }
  };
  put(idle_, !s.active);
  put(over_, mapped(slot) > s.needed);
}

void PageSlots::map(Slot& slot, std::int64_t alloc_units, PageCalls& calls) {
  for (; static_cast<std::int64_t>(slot.pages.size()) < alloc_units; ++calls.mapped, --unmapped_) {
    if (free_.empty()) {
      slot.pages.push_back(id_at<BlockId>(next_new_++));
    } else {
      slot.pages.push_back(free_.back());
      free_.pop_back();
    }
  }
}

void PageSlots::unmap(Slot& slot, std::int64_t alloc_units, PageCalls& calls) {
  for (; static_cast<std::int64_t>(slot.pages.size()) > alloc_units; ++calls.unmapped, ++unmapped_) {
    free_.push_back(slot.pages.back());
    slot.pages.pop_back();
  }
}

std::int64_t PageSlots::choose(std::int64_t alloc_units) const {
  std::int64_t chosen = -1;
  for (const std::int64_t slot : idle_)
    if (chosen < 0 || (mapped(slot) >= alloc_units && mapped(slot) < mapped(chosen))) chosen = slot;
  return chosen;
}

std::int64_t PageSlots::take(std::int64_t prompt_alloc_units, std::int64_t alloc_units, PageCalls& calls) {
  std::int64_t slot = choose(prompt_alloc_units);
  if (slot < 0) {
    slot = static_cast<std::int64_t>(slots_.size());
    slots_.emplace_back();
  }
  slots_[at(slot)].active = true;
  need(slot, alloc_units, calls);
  return slot;
}

void PageSlots::need(std::int64_t slot, std::int64_t alloc_units, PageCalls& calls) {
  KVPLAN_CHECK(slots_[at(slot)].active && alloc_units >= slots_[at(slot)].needed, slot, alloc_units);
  slots_[at(slot)].needed = alloc_units;
  list(slot);
  while (unmapped_ < alloc_units - mapped(slot)) {
    KVPLAN_CHECK(!over_.empty(), alloc_units, unmapped_);
    const std::int64_t highest = *over_.rbegin();
    unmap(slots_[at(highest)], slots_[at(highest)].needed, calls);
    list(highest);
  }
  map(slots_[at(slot)], alloc_units, calls);
}

void PageSlots::give_back(std::int64_t slot, PageCalls& calls) {
  Slot& s = slots_[at(slot)];
  KVPLAN_CHECK(s.active, slot);
  s.active = false;
  s.needed = 0;
  if (!deferred_) unmap(s, 0, calls);
  list(slot);
}

}  // namespace kvplan::memory
