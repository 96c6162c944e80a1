#include "simulator/observe/group_account.h"

#include <algorithm>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/observe/group_blocks.h"

namespace kvplan::observe {

using core::HeldCells;

namespace {

/// For memory in which every block has one holder: the cells of a request are computed from its lengths.
class GroupRequests final : public GroupAccount {
 public:
  GroupRequests(const core::Workload& workload, const core::MemoryLayout& layout,
                const core::AccountColumns& columns)
      : GroupAccount(workload, layout, columns) {}

  void grant(const core::Grant& grant) override {
    Member& m = member(grant.request);
    const Places places = add_places(m, grant.alloc_units);
    const std::int64_t tail = places.to - places.from - places.will_write;
    for (std::size_t k = 0; k < token_kinds(); ++k)
      add(m, k,
          {.reserved = places.will_write * kinds_[k].layers,
           .tail = tail * kinds_[k].layers,
           .padding = (places.to - places.from) * (kinds_[k].groups * room_ - kinds_[k].layers)});
  }
  void free_entries(RequestId r, std::span<const std::int32_t> entries) override {
    Member& m = member(r);
    for (const std::int32_t entry : entries) {
      const auto group = static_cast<std::size_t>(entry) % groups_.size();
      const std::int64_t layers = groups_[group].layers;
      add(m, kind_of_[group], {.hole = -alloc_unit_ * layers, .padding = -alloc_unit_ * (room_ - layers)});
    }
  }

 private:
  void begin(Member& m, const core::Admission& admission) override {
    KVPLAN_CHECK(admission.hit_tokens == 0, m.request, admission.hit_tokens);
  }
  void write(Member& m, std::int64_t from) override {
    const std::int64_t tokens = m.written - from;
    for (std::size_t k = 0; k < token_kinds(); ++k) {
      const auto& [window, groups, layers, states] = kinds_[k];
      // Before the next token is written, a window shows W - 1 tokens.
      const std::int64_t more = window == 0 ? tokens : std::clamp<std::int64_t>(window - 1 - from, 0, tokens);
      add(m, k, {.live = more * layers, .reserved = -tokens * layers, .hole = (tokens - more) * layers});
    }
  }
  void end(Member& m) override {
    for (std::size_t k = 0; k < kinds_.size(); ++k) held_[k] -= m.held[k];
  }
  /// The kinds of layers that store something of each token.
  [[nodiscard]] std::size_t token_kinds() const { return kinds_.size() - (states_.blocks > 0 ? 1 : 0); }
  void add(Member& m, std::size_t kind, const HeldCells& cells) {
    m.held[kind] += cells;
    held_[kind] += cells;
  }
};

}  // namespace

std::unique_ptr<GroupAccount> GroupAccount::make(const core::Workload& workload,
                                                 const core::MemoryLayout& layout,
                                                 const core::AccountColumns& columns) {
  if (layout.block_ids()) return std::make_unique<GroupBlocks>(workload, layout, columns);
  return std::make_unique<GroupRequests>(workload, layout, columns);
}

GroupAccount::GroupAccount(const core::Workload& workload, const core::MemoryLayout& layout,
                           const core::AccountColumns& columns)
    : workload_(workload),
      groups_(layout.groups),
      kinds_(layout.layer_kinds()),
      alloc_unit_(layout.alloc_unit_tokens),
      room_(layout.cells_per_token),
      states_(layout.states),
      columns_(columns) {
  KVPLAN_CHECK(kinds_.size() <= held_.size(), static_cast<std::int64_t>(kinds_.size()));
  for (const model::LayerGroup& group : groups_) {
    layers_ += group.layers;
    const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const model::LayerKind& k) {
      return !k.states && k.window == group.window;
    });
    kind_of_.push_back(static_cast<std::size_t>(kind - kinds_.begin()));
  }
}

HeldCells GroupAccount::state_cells(bool written) const {
  const std::int64_t cells = states_.layers * states_.slots;
  HeldCells out{.padding = states_.blocks * alloc_unit_ * room_ - cells};
  (written ? out.live : out.reserved) = cells;
  return out;
}

void GroupAccount::enter(const core::Admission& admission) {
  const RequestId r = admission.request;
  std::int32_t& place = columns_.place[r];
  KVPLAN_CHECK(place < 0, r);
  place = static_cast<std::int32_t>(members_.size());
  Member& m = members_.emplace_back();
  m.request = r;
  m.written = m.slots = admission.hit_tokens;
  if (columns_.goal[r] == 0) columns_.goal[r] = workload_.input[index(r)];
  begin(m, admission);
  if (states_.blocks > 0) held_[kinds_.size() - 1] += state_cells(m.written > 0);
}

GroupAccount::Places GroupAccount::add_places(Member& m, std::int64_t entries) {
  const auto groups = static_cast<std::int64_t>(groups_.size());
  KVPLAN_CHECK(entries % groups == 0, entries);
  const std::int64_t from = m.slots;
  m.slots += entries / groups * alloc_unit_;
  // At most the rest of its last block: a request takes no room after its last token.
  const std::int64_t final_tokens = workload_.final_tokens(m.request);
  KVPLAN_CHECK(from < final_tokens && m.slots - final_tokens < alloc_unit_, m.slots, final_tokens);
  return {from, m.slots, std::min(m.slots, final_tokens) - from};
}

GroupAccount::ByKind GroupAccount::run(std::int64_t steps) {
  KVPLAN_CHECK(steps >= 1, steps);
  const ByKind before = held_;
  for (Member& m : members_) {
    const std::int64_t tokens = m.whole ? steps : std::exchange(m.chunk, 0);
    if (tokens == 0) continue;
    KVPLAN_CHECK(m.whole || steps == 1, m.request, steps);
    const std::int64_t from = m.written;
    m.written += tokens;
    for (const auto& [window, groups, layers, states] : kinds_) {
      if (window == 0) continue;
      const auto left = [w = window](std::int64_t held) { return std::max<std::int64_t>(held + 1 - w, 0); };
      const std::int64_t more = left(m.written) - left(from);
      KVPLAN_CHECK(steps == 1 || more == 0 || more == tokens, m.request, more);
      left_cells_ += more * layers;
    }
    write(m, from);
    if (states_.blocks > 0 && from == 0) {
      held_[kinds_.size() - 1] -= state_cells(false);
      held_[kinds_.size() - 1] += state_cells(true);
    }
    std::int32_t& goal = columns_.goal[m.request];
    m.whole = m.whole || m.written == goal;
    if (m.whole) goal = static_cast<std::int32_t>(m.written + 1);
  }
  end_step();
  ByKind each{};
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    each[k] = held_[k];
    each[k] -= before[k];
    for (std::int64_t* const state : {&each[k].live, &each[k].reserved, &each[k].hole}) {
      KVPLAN_CHECK(*state % steps == 0, *state, steps);
      *state /= steps;
    }
  }
  return each;
}

void GroupAccount::leave(RequestId r) {
  const std::int32_t place = std::exchange(columns_.place[r], -1);
  Member& m = members_[static_cast<std::size_t>(place)];
  end(m);
  if (states_.blocks > 0) held_[kinds_.size() - 1] -= state_cells(m.written > 0);
  if (&m != &members_.back()) {
    m = std::move(members_.back());
    columns_.place[m.request] = place;
  }
  members_.pop_back();
}

}  // namespace kvplan::observe
