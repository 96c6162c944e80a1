// Layers in groups: which blocks windows have left, and when they must be freed.
#include <algorithm>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

/// Table entries with nothing that the token at position `computed` or a later one sees, group by group, highest
/// first. If there are none, it records how far a group is empty.
std::vector<std::int32_t> Replay::Impl::left_behind(Request& r, std::int64_t computed) const {
  const auto groups = static_cast<std::int64_t>(header_.groups.size());
  const std::int64_t blocks = static_cast<std::int64_t>(r.table.size()) / std::max<std::int64_t>(groups, 1);
  std::vector<std::int32_t> out;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t window = header_.groups[static_cast<std::size_t>(g)].window;
    if (window == 0 || computed < window) continue;
    const std::int64_t end = std::min((computed - window + 1) / header_.alloc_unit_tokens, blocks);
    std::int64_t& empty_to = r.in_groups[static_cast<std::size_t>(g)].empty_to;
    const std::size_t before = out.size();
    for (std::int64_t b = end - 1; b >= empty_to; --b) {
      const std::int64_t entry = b * groups + g;
      if (r.table[static_cast<std::size_t>(entry)] != kGone) out.push_back(static_cast<std::int32_t>(entry));
    }
    if (out.size() == before) empty_to = std::max(empty_to, end);
  }
  return out;
}

Status Replay::Impl::check_left(Request& r, std::int64_t computed) {
  // What a scheduler step hits stays at least until the next one.
  if (!has_groups() || r.rank >= first_admitted_) return Done{};
  const auto due = left_behind(r, computed);
  if (due.empty()) return Done{};
  return contradict(r.id, "continues and keeps block " + std::to_string(due.front()) +
                              " of its table, which is behind its window when " + std::to_string(computed) +
                              " tokens are written");
}

/// A request that asks for memory frees what is behind its windows first. If it is the last one preempted in a
/// scheduler step and no grant follows, it preempted itself and had to do so as well.
void Replay::Impl::remember_what_it_owes(Request& r) {
  const bool owes = has_groups() && r.rank < first_admitted_ && !left_behind(r, r.written).empty();
  victim_owes_ = owes ? std::optional(r.id) : std::nullopt;
}

/// Called in a scheduler step, before the request is granted or computes anything; it may be preempted after that.
/// Everything due must be reported, a long list in several facts.
Status Replay::Impl::leave_windows(const log::LetGo& f) {
  Request* const r = running(f.request);
  if (phase_ != Phase::kPass || r == nullptr || r->rank < order_ || r->stage != kNothing)
    return contradict(f.request, "frees blocks out of order");
  order_ = r->rank;
  const auto due = left_behind(*r, r->written);
  const std::size_t told = std::min(due.size(), static_cast<std::size_t>(log::kMostListed));
  if (f.logical_blocks.empty() || f.logical_blocks.size() != told ||
      !std::equal(f.logical_blocks.begin(), f.logical_blocks.end(), due.begin()))
    return contradict(f.request, "frees other blocks than the ones behind its windows");
  for (const std::int32_t entry : f.logical_blocks) KVPLAN_TRY_DO(arena_.free_entries(*r, entry, 1));
  return Done{};
}

}  // namespace kvplan::validator
