#include "simulator/observe/group_account.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"

namespace kvplan::observe {

using core::HeldCells;

GroupAccount::GroupAccount(const core::Workload& workload, const core::MemoryLayout& layout)
    : workload_(workload),
      groups_(layout.groups),
      kinds_(model::kinds_of(layout.groups)),
      quantum_(layout.quantum_tokens),
      room_(layout.cells_per_token),
      place_(static_cast<std::size_t>(workload.size()), -1),
      goals_(static_cast<std::size_t>(workload.size()), 0) {
  KVPLAN_CHECK(kinds_.size() <= held_.size(), static_cast<std::int64_t>(kinds_.size()));
  for (const model::LayerGroup& group : groups_) {
    layers_ += group.layers;
    const auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                                   [&](const model::LayerKind& k) { return k.window == group.window; });
    kind_of_.push_back(static_cast<std::size_t>(kind - kinds_.begin()));
  }
}

void GroupAccount::add(Member& m, std::size_t kind, const HeldCells& cells) {
  m.held[kind] += cells;
  held_[kind] += cells;
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
  for (std::size_t k = 0; k < kinds_.size(); ++k)
    add(m, k,
        {.reserved = will_write * kinds_[k].layers,
         .tail = tail * kinds_[k].layers,
         .padding = (m.slots - from) * (kinds_[k].groups * room_ - kinds_[k].layers)});
}

void GroupAccount::let_go(RequestId r, std::span<const std::int32_t> entries) {
  Member& m = member(r);
  for (const std::int32_t entry : entries) {
    const auto group = static_cast<std::size_t>(entry) % groups_.size();
    const std::int64_t layers = groups_[group].layers;
    add(m, kind_of_[group], {.hole = -quantum_ * layers, .padding = -quantum_ * (room_ - layers)});
  }
}

GroupAccount::ByKind GroupAccount::run(std::int64_t steps) {
  KVPLAN_CHECK(steps >= 1, steps);
  ByKind sum{};
  for (Member& m : members_) {
    const std::int64_t tokens = m.whole ? steps : std::exchange(m.chunk, 0);
    if (tokens == 0) continue;
    KVPLAN_CHECK(m.whole || steps == 1, m.request, steps);
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const auto& [window, groups, layers] = kinds_[k];
      // Of what a window shows, W - 1 tokens are there before the next one is.
      const std::int64_t more =
          window == 0 ? tokens : std::clamp<std::int64_t>(window - 1 - m.written, 0, tokens);
      KVPLAN_CHECK(steps == 1 || more == 0 || more == tokens, m.request, more);
      const HeldCells written{
          .live = more * layers, .reserved = -tokens * layers, .hole = (tokens - more) * layers};
      add(m, k, written);
      sum[k] += written;
      left_cells_ += written.hole;
    }
    m.written += tokens;
    m.whole = m.whole || m.written == goal(m.request);
    if (m.whole) goal(m.request) = m.written + 1;
  }
  for (HeldCells& cells : sum)
    for (std::int64_t* const state : {&cells.live, &cells.reserved, &cells.hole}) *state /= steps;
  return sum;
}

void GroupAccount::leave(RequestId r) {
  const std::int32_t place = std::exchange(place_[static_cast<std::size_t>(r)], -1);
  Member& m = members_[static_cast<std::size_t>(place)];
  for (std::size_t k = 0; k < kinds_.size(); ++k) held_[k] -= m.held[k];
  if (&m != &members_.back()) {
    m = members_.back();
    place_[static_cast<std::size_t>(m.request)] = place;
  }
  members_.pop_back();
}

}  // namespace kvplan::observe
