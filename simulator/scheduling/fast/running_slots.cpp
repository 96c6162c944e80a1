#include "simulator/scheduling/fast/running_slots.h"

#include <bit>

namespace kvplan::core {
namespace {

void set_bit(std::vector<std::uint64_t>& bits, std::size_t i, bool on) {
  const std::uint64_t bit = std::uint64_t{1} << (i % 64);
  bits[i / 64] = on ? bits[i / 64] | bit : bits[i / 64] & ~bit;
}

/// Index of the first set bit in [from, to), or -1.
std::int64_t first_set(const std::vector<std::uint64_t>& bits, std::int64_t from, std::int64_t to) {
  while (from < to) {
    const std::uint64_t word = bits[static_cast<std::size_t>(from / 64)] >> (from % 64);
    if (word != 0) {
      const std::int64_t found = from + std::countr_zero(word);
      return found < to ? found : -1;
    }
    from = (from / 64 + 1) * 64;
  }
  return -1;
}

}  // namespace

Slot SlotTable::open(RequestId request) {
  if (free_.empty()) {
    free_.push_back(id_at<Slot>(slots_.size()));
    slots_.emplace_back();
  }
  const Slot slot = free_.back();
  free_.pop_back();
  SlotState& s = (*this)[slot];
  const std::uint32_t generation = s.generation;
  s = SlotState{};
  s.generation = generation;
  s.request = request;
  s.rank = next_rank_++;
  s.run_prev = tail_;
  (tail_ == kNoSlot ? head_ : (*this)[tail_].run_next) = slot;
  tail_ = slot;
  ++running_;
  return slot;
}

void SlotTable::close(Slot slot) {
  SlotState& s = (*this)[slot];
  (s.run_prev == kNoSlot ? head_ : (*this)[s.run_prev].run_next) = s.run_next;
  (s.run_next == kNoSlot ? tail_ : (*this)[s.run_next].run_prev) = s.run_prev;
  ++s.generation;
  --running_;
  free_.push_back(slot);
}

PhaseLists::PhaseLists(std::int64_t period)
    : period_(period),
      head_(static_cast<std::size_t>(period), kNoSlot),
      tail_(head_),
      count_(head_.size(), 0),
      sliding_(head_.size(), 0),
      filled_((head_.size() + 63) / 64, 0),
      sliding_filled_(filled_) {}

std::int64_t PhaseLists::members_within(std::int64_t step, std::int64_t steps) const {
  std::int64_t sum = steps / period_ * all_;
  for (std::int64_t k = 1; k <= steps % period_; ++k) sum += members(step + k);
  return sum;
}

std::int64_t PhaseLists::steps_to_more(std::int64_t step, std::int64_t room, std::int64_t most) const {
  std::int64_t k = room / all_ * period_;
  if (k >= most) return most;
  for (std::int64_t left = room % all_; k < most; ++k) {
    left -= members(step + k + 1);
    if (left < 0) return k + 1;
  }
  return most;
}

void PhaseLists::enter(SlotTable& slots, Slot slot) {
  SlotState& s = slots[slot];
  s.phase = static_cast<std::int32_t>(phase_of(-s.offset));
  const auto p = static_cast<std::size_t>(s.phase);
  // The request is almost always the youngest; prompts under a threshold may end out of order.
  Slot before = tail_[p];
  while (before != kNoSlot && slots[before].rank > s.rank) before = slots[before].phase_prev;
  s.phase_prev = before;
  s.phase_next = before == kNoSlot ? head_[p] : slots[before].phase_next;
  (before == kNoSlot ? head_[p] : slots[before].phase_next) = slot;
  (s.phase_next == kNoSlot ? tail_[p] : slots[s.phase_next].phase_prev) = slot;
  set_bit(filled_, p, true);
  ++count_[p];
  ++all_;
  if (s.sliding) count_sliding(p, 1);
}

void PhaseLists::leave(SlotTable& slots, Slot slot) {
  const SlotState& s = slots[slot];
  const auto p = static_cast<std::size_t>(s.phase);
  (s.phase_prev == kNoSlot ? head_[p] : slots[s.phase_prev].phase_next) = s.phase_next;
  (s.phase_next == kNoSlot ? tail_[p] : slots[s.phase_next].phase_prev) = s.phase_prev;
  set_bit(filled_, p, head_[p] != kNoSlot);
  --count_[p];
  --all_;
  if (s.sliding) count_sliding(p, -1);
}

void PhaseLists::count_sliding(std::size_t phase, std::int32_t by) {
  sliding_[phase] += by;
  set_bit(sliding_filled_, phase, sliding_[phase] > 0);
}

std::int64_t PhaseLists::next(const Bits& bits, std::int64_t step) const {
  const std::int64_t from = phase_of(step);
  const std::int64_t later = first_set(bits, from + 1, period_);
  if (later >= 0) return later - from;
  const std::int64_t wrapped = first_set(bits, 0, from + 1);
  return wrapped >= 0 ? wrapped + period_ - from : 0;
}

}  // namespace kvplan::core
