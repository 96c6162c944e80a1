#include "simulator/observe/group_account.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::observe {

using core::HeldCells;

GroupAccount::GroupAccount(const core::Workload& workload, const core::MemoryLayout& layout)
    : workload_(workload),
      groups_(layout.groups),
      windows_(model::windows_of(layout.groups)),
      quantum_(layout.quantum_tokens),
      room_(layout.cells_per_token),
      place_(static_cast<std::size_t>(workload.size()), -1),
      goals_(static_cast<std::size_t>(workload.size()), 0) {
  for (const model::LayerGroup& group : groups_) layers_ += group.layers;
  full_layers_ = layers_;
  for (const model::WindowLayers& window : windows_) full_layers_ -= window.layers;
}

void GroupAccount::add(Member& m, const HeldCells& cells) {
  m.held += cells;
  held_ += cells;
}

void GroupAccount::enter(RequestId r) {
  std::int32_t& place = place_[static_cast<std::size_t>(r)];
  KVPLAN_CHECK(place < 0, r);
  place = static_cast<std::int32_t>(members_.size());
  members_.emplace_back().request = r;
  if (goal(r) == 0) goal(r) = workload_.input[static_cast<std::size_t>(r)];
}

void GroupAccount::grant(RequestId r, std::int64_t entries) {
  Member& m = member(r);
  const auto groups = static_cast<std::int64_t>(groups_.size());
  KVPLAN_CHECK(entries % groups == 0, entries);
  const std::int64_t from = m.slots;
  m.slots += entries / groups * quantum_;
  // Never more than its last block: a request asks for no room behind its last token.
  const std::int64_t final_tokens = workload_.final_tokens(r);
  KVPLAN_CHECK(from < final_tokens && m.slots - final_tokens < quantum_, m.slots, final_tokens);
  const std::int64_t will_write = std::min(m.slots, final_tokens) - from;
  const std::int64_t tail = m.slots - from - will_write;
  add(m, {.reserved = will_write * layers_,
          .tail = tail * layers_,
          .padding = (m.slots - from) * (groups * room_ - layers_)});
}

void GroupAccount::leave_windows(RequestId r, std::span<const std::int32_t> entries) {
  Member& m = member(r);
  HeldCells gone;
  for (const std::int32_t entry : entries) {
    const std::int64_t layers = groups_[static_cast<std::size_t>(entry) % groups_.size()].layers;
    gone.hole -= quantum_ * layers;
    gone.padding -= quantum_ * (room_ - layers);
  }
  add(m, gone);
}

HeldCells GroupAccount::run(std::int64_t steps) {
  KVPLAN_CHECK(steps >= 1, steps);
  HeldCells sum;
  for (Member& m : members_) {
    const std::int64_t tokens = m.whole ? steps : std::exchange(m.chunk, 0);
    if (tokens == 0) continue;
    KVPLAN_CHECK(m.whole || steps == 1, m.request, steps);
    // Of what a window shows, W - 1 tokens are there before the next one is.
    std::int64_t live = tokens * full_layers_;
    for (const model::WindowLayers& w : windows_) {
      const std::int64_t more = std::clamp<std::int64_t>(w.window - 1 - m.written, 0, tokens);
      KVPLAN_CHECK(steps == 1 || more == 0 || more == tokens, m.request, more);
      live += more * w.layers;
    }
    const HeldCells written{.live = live, .reserved = -tokens * layers_, .hole = tokens * layers_ - live};
    add(m, written);
    sum += written;
    left_cells_ += written.hole;
    m.written += tokens;
    m.whole = m.whole || m.written == goal(m.request);
    if (m.whole) goal(m.request) = m.written + 1;
  }
  const auto each = [steps](std::int64_t& cells) { cells /= steps; };
  for (std::int64_t* const state : {&sum.live, &sum.reserved, &sum.hole}) each(*state);
  return sum;
}

void GroupAccount::leave(RequestId r) {
  const std::int32_t place = std::exchange(place_[static_cast<std::size_t>(r)], -1);
  Member& m = members_[static_cast<std::size_t>(place)];
  held_ -= m.held;
  if (&m != &members_.back()) {
    m = members_.back();
    place_[static_cast<std::size_t>(m.request)] = place;
  }
  members_.pop_back();
}

}  // namespace kvplan::observe
