#include "simulator/observe/keep_account.h"

#include <algorithm>

namespace kvplan::observe {

/// Cells of the block that every holder has dropped.
std::int64_t KeepAccount::holes(BlockId block) const {
  const Erosion& e = erosion_[at(block)];
  const std::int32_t holders = refs_[at(block)];
  if (holders == 0 || e.active + e.past < holders) return 0;
  const std::int64_t first = std::max(e.start, keep_.sink);
  if (e.active == 0) return e.start + alloc_unit_tokens_ - first;
  std::int64_t end = INT64_MAX;
  for (RequestId r = e.first_active; r != kNoRequest; r = sliders_[r].next)
    end = std::min(end, dropped_to(r));
  return end - first;
}

/// True: one more cell of the block becomes a hole with every step in which all requests that drop in it slide.
bool KeepAccount::grows(BlockId block) const {
  const Erosion& e = erosion_[at(block)];
  return e.active > 0 && e.active + e.past == refs_[at(block)];
}

template <class Change>
void KeepAccount::with_block(BlockId block, Change change) {
  const std::int64_t holes_before = holes(block);
  const bool grew_before = grows(block);
  change();
  holes_ += holes(block) - holes_before;
  growing_ += static_cast<int>(grows(block)) - static_cast<int>(grew_before);
}

void KeepAccount::share_eroded(BlockId block) {
  with_block(block, [&] { ++refs_[at(block)]; });
}

bool KeepAccount::give_back_eroded(BlockId block) {
  with_block(block, [&] { --refs_[at(block)]; });
  return refs_[at(block)] == 0;
}

void KeepAccount::join_active(RequestId request, BlockId block, std::int64_t start) {
  with_block(block, [&] {
    Erosion& e = erosion_[at(block)];
    Slider& slider = sliders_[request];
    e.start = start;
    slider.next = e.first_active;
    slider.active_block = block;
    e.first_active = request;
    ++e.active;
  });
}

void KeepAccount::leave_active(RequestId request) {
  Slider& slider = sliders_[request];
  const BlockId block = slider.active_block;
  with_block(block, [&] {
    Erosion& e = erosion_[at(block)];
    RequestId* link = &e.first_active;
    while (*link != request) link = &sliders_[*link].next;
    *link = slider.next;
    slider.active_block = kNoBlock;
    --e.active;
  });
}

void KeepAccount::begin_sliding(const core::Drop& drop) {
  Slider& slider = sliders_.enter(drop.request);
  slider.base = drop.begin - clock_;
  ++sliding_;
  dropped_tokens_ += drop.begin - drop.begin_before;
  const std::int64_t now_in = drop.begin / alloc_unit_tokens_;
  const std::int64_t protected_in = drop.sink / alloc_unit_tokens_;
  if (drop.sink % alloc_unit_tokens_ != 0 && protected_in < now_in) {
    slider.past_block = drop.table[static_cast<std::size_t>(protected_in)];
    with_block(slider.past_block, [&] {
      erosion_[at(slider.past_block)].start = protected_in * alloc_unit_tokens_;
      ++erosion_[at(slider.past_block)].past;
    });
  }
  join_active(drop.request, drop.table[static_cast<std::size_t>(now_in)], now_in * alloc_unit_tokens_);
}

void KeepAccount::drop_alone(const core::Drop& drop) {
  if (!sliders_.has(drop.request)) {
    sliders_.enter(drop.request).base = drop.begin - clock_;
    ++sliding_;
    ++growing_;
    dropped_tokens_ += drop.begin - drop.begin_before;
    holes_ += drop.begin - drop.begin_before;
  }
  KVPLAN_CHECK(dropped_to(drop.request) == drop.begin, dropped_to(drop.request), drop.begin);
}

void KeepAccount::drop_of_blocks(const core::Drop& drop) {
  if (!sliders_.has(drop.request)) return begin_sliding(drop);
  // The block of the latest drops is complete: it is about to be freed, or kept for the protected cells at its
  // start.
  KVPLAN_CHECK(dropped_to(drop.request) == drop.begin, dropped_to(drop.request), drop.begin);
  const BlockId block = sliders_[drop.request].active_block;
  leave_active(drop.request);
  if (erosion_[at(block)].start < drop.sink) {
    sliders_[drop.request].past_block = block;
    with_block(block, [&] { ++erosion_[at(block)].past; });
  }
  const std::int64_t now_in = drop.begin / alloc_unit_tokens_;
  join_active(drop.request, drop.table[static_cast<std::size_t>(now_in)], now_in * alloc_unit_tokens_);
}

std::int64_t KeepAccount::holes_alone(RequestId request) const {
  if (!keep_.evicts() || !sliders_.has(request)) return 0;
  return dropped_to(request) - keep_.sink - sliders_[request].freed * alloc_unit_tokens_;
}

std::int64_t KeepAccount::leave(RequestId request) {
  if (!keep_.evicts() || !sliders_.has(request)) return 0;
  std::int64_t freed = 0;
  if (alone_) {
    freed = sliders_[request].freed * alloc_unit_tokens_;
    holes_ -= holes_alone(request);
    --growing_;
  } else {
    leave_active(request);
    const BlockId past = sliders_[request].past_block;
    if (past != kNoBlock) with_block(past, [&] { --erosion_[at(past)].past; });
  }
  sliders_.leave(request);
  --sliding_;
  return freed;
}

/// Requests that end drop nothing, so the blocks that they share are updated one by one.
void KeepAccount::end_step(std::span<const RequestId> finishing) {
  std::vector<RequestId> still;
  for (const RequestId r : finishing)
    if (sliders_.has(r)) still.push_back(r);
  std::vector<BlockId> apart;
  if (!alone_)
    for (const RequestId r : still) apart.push_back(sliders_[r].active_block);
  std::sort(apart.begin(), apart.end());
  apart.erase(std::unique(apart.begin(), apart.end()), apart.end());

  std::int64_t new_holes = growing_;
  for (const BlockId block : apart) new_holes -= holes(block) + (grows(block) ? 1 : 0);
  ++clock_;
  for (const RequestId r : still) --sliders_[r].base;
  for (const BlockId block : apart) new_holes += holes(block);
  if (alone_) new_holes -= static_cast<std::int64_t>(still.size());
  holes_ += new_holes;
  dropped_tokens_ += sliding_ - static_cast<std::int64_t>(still.size());
}

}  // namespace kvplan::observe
