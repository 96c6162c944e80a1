#include "simulator/retention/keep_counted.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/courses/counted_course.h"
#include "simulator/courses/drops_of_part.h"
#include "simulator/courses/gathered_course.h"
#include "simulator/retention/layer_counts.h"

namespace kvplan::runs {
namespace {

using DropsPtr = std::shared_ptr<const core::Drops>;

/// Checks recordings against lengths: in each track that the policy decides, the number of kept tokens must be the
/// number that lengths give. Tracks are those of the whole model: one for all layers, or the same number for each.
Status check_counts(const PlacedPolicy& p, const CourseAsked& asked, const core::Drops& dropped) {
  const core::CourseShape& shape = asked.shape;
  const auto tracks = static_cast<std::int64_t>(dropped.track_units().size());
  const std::int64_t of_layer = std::max<std::int64_t>(tracks / p.layers, 1);
  std::vector<std::vector<core::KeptCount>> counts;
  if (p.keeps_by_layer()) counts = counts_by_layer(p, shape.prompt, asked.grants);
  const auto count_of = [&](std::int64_t track) {
    if (counts.empty()) return *p.traits().count;
    const auto& heads = counts[static_cast<std::size_t>(track / of_layer)];
    return heads[static_cast<std::size_t>(track % of_layer * std::ssize(heads) / of_layer)];
  };
  const auto follows_window = [&](std::int64_t track) {
    const std::int64_t layer = track / of_layer - p.rank.first_layer;
    return layer >= 0 && layer < std::ssize(p.windows) && p.windows[static_cast<std::size_t>(layer)] > 0;
  };
  std::vector<std::int32_t> gone;
  for (std::int64_t track = 0; track < tracks; ++track) {
    if (tracks > 1 && follows_window(track)) continue;
    const core::KeptCount count = count_of(track);
    gone.clear();
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
      dropped.dropped(static_cast<std::int32_t>(track), n, gone);
      const std::int64_t kept = n - static_cast<std::int64_t>(gone.size());
      if (kept == count.of(n, shape.prompt)) continue;
      return bad_input("expected " + std::to_string(count.of(n, shape.prompt)) + " tokens kept of " +
                       std::to_string(n) + " for placement=compact, found " + std::to_string(kept) +
                       " for request " + std::to_string(number(asked.request)))
          .at_field("workload.attention");
    }
  }
  return Done{};
}

/// The course of units that are counted: each keeps a number of tokens for every length.
CoursePtr course_of_counts(const PlacedPolicy& p, const core::CourseShape& shape,
                           const std::vector<core::CountedUnits>& units, DropsPtr drops) {
  if (!p.counts_by_steps) return core::make_counted_course(shape, units, std::move(drops));
  const auto count_at = (p.budget ? attention::traits_with_budget(p.policy) : p.traits()).count_at;
  std::vector<core::KeptUnits> each;
  for (const auto& [granted, cells] : units) {
    const Choice choice =
        p.budget ? attention::choice_with_budget(p.policy, granted.budget, shape.prompt) : p.policy.choice;
    each.push_back({{}, cells});
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
      const core::KeptCount kept = count_at == nullptr ? granted : count_at(choice, shape.prompt, n);
      each.back().kept.push_back(kept.of(n, shape.prompt));
    }
  }
  return core::make_course_of_kept(shape, std::move(each));
}

CoursePtr counted_course(const PlacedPolicy& p, const CourseAsked& asked, DropsPtr drops) {
  const core::CourseShape& shape = asked.shape;
  const std::vector<core::CountedUnits> units = counted_units_of(p, shape.prompt, asked.grants);
  if (p.tables == 1) return course_of_counts(p, shape, units, std::move(drops));
  KVPLAN_CHECK(p.units.per_token % p.tables == 0, p.tables, p.units.per_token);
  std::vector<std::vector<core::CountedUnits>> counts;  // by table
  std::int64_t cell = 0;
  for (const auto& [count, cells] : units)
    for (std::int64_t i = 0; i < cells; ++i, ++cell) {
      if (cell % (p.units.per_token / p.tables) == 0) counts.emplace_back();
      auto& table = counts.back();
      if (table.empty() || table.back().kept != count) table.push_back({count, 0});
      ++table.back().units;
    }
  if (p.ranks_may_differ())
    for (std::int64_t t = 0; t < p.tables; ++t)
      add_other_counts(p, shape.prompt, asked.grants, t, counts[static_cast<std::size_t>(t)]);
  const auto count = [&](std::int64_t t) { return counts[static_cast<std::size_t>(t)]; };
  const auto tracks = drops == nullptr ? 0 : static_cast<std::int64_t>(drops->track_units().size());
  const auto gone = [&](std::int64_t t) -> DropsPtr {
    if (tracks == 0) return nullptr;
    const std::int64_t of_table = std::max<std::int64_t>(tracks / p.tables, 1);
    return std::make_shared<core::DropsOfPart>(drops,
                                               core::neighbour_tracks(t * tracks / p.tables, of_table, 1));
  };
  return course_of_tables(
      p, shape, [&](std::int64_t t) { return course_of_counts(p, shape, count(t), gone(t)); },
      [&](std::int64_t t) {  // otherwise each table drops its own tokens
        return tracks <= 1 && count(t).size() == 1 && count(t - 1).size() == 1 &&
               count(t).front().kept == count(t - 1).front().kept;
      });
}

}  // namespace

/// The dropped tokens if they are known; null: only their number is known.
Result<DropsPtr> KeepCounted::drops(const CourseAsked& asked, CourseInputs& inputs) const {
  if (!driving_.any()) {
    const bool by_position = attention::lengths_decide(policy_.traits());
    return by_position ? interval_drops(policy_, asked.shape, asked.grants, inputs.block_ids) : DropsPtr();
  }
  if (!driving_.drives(inputs.workload, asked.request)) return DropsPtr();
  KVPLAN_TRY(auto dropped, recorded_drops(policy_, driving_, asked, inputs));
  KVPLAN_TRY_DO(check_counts(policy_, asked, *dropped));
  return dropped;
}

Result<CoursePtr> KeepCounted::course(const CourseAsked& asked, CourseInputs& inputs) const {
  if (policy_.keeps_by_layer() && !policy_.ranks_may_differ())
    KVPLAN_TRY_DO(check_alike_ranks(policy_, asked.shape.prompt, asked.grants));
  KVPLAN_TRY(auto dropped, drops(asked, inputs));
  return counted_course(policy_, asked, std::move(dropped));
}

Status KeepCounted::check_requests(const core::Workload& workload, const core::Memory& memory,
                                   std::int64_t most_tokens) const {
  if (!driving_.any() || counts_undriven()) return Done{};
  return check_all_driven(driving_, workload, memory, most_tokens);
}

LogCells KeepCounted::log_cells() const {
  LogCells out = KeepsByPolicy::log_cells();
  const bool by_position = !driving_.any() && attention::lengths_decide(policy_.traits());
  out.others_keep_more = policy_.ranks_may_differ() && ranks_differ(policy_);
  if (by_position && !out.others_keep_more) return out;
  const bool known = driving_.any() && policy_.rank.ranks() == 1;
  out.known_tracks = known ? std::max(policy_.tables, replayed_units(policy_).per_token) : 0;
  return out;
}

bool KeepCounted::may_differ() const {
  return !policy_.by_head.empty() && layers_differ(policy_);
}

std::vector<std::vector<core::KeptCount>> counts_of_rank(const PlacedPolicy& p, std::int64_t prompt,
                                                         const attention::Grants& grants) {
  const auto all = counts_by_layer(p, prompt, grants);
  std::vector<std::vector<core::KeptCount>> out;
  for (std::int64_t l = p.rank.first_layer; l < p.rank.first_layer + p.rank.layers; ++l)
    out.push_back(share_of_rank(all[static_cast<std::size_t>(l)], p.rank.tensor_ranks));
  return out;
}

std::vector<core::CountedUnits> counted_units_of(const PlacedPolicy& p, std::int64_t prompt,
                                                 const attention::Grants& grants) {
  if (!p.keeps_by_layer()) return {{p.traits().count.value_or(core::KeptCount{}), p.units.per_token}};
  std::vector<core::CountedUnits> out;
  for (const auto& layer : counts_of_rank(p, prompt, grants))
    for (const core::KeptCount& kept : layer) {
      if (out.empty() || out.back().kept != kept) out.push_back({kept, 0});
      out.back().units += p.units.per_token / p.rank.layers / static_cast<std::int64_t>(layer.size());
    }
  if (p.ranks_may_differ() && p.tables == 1) add_other_counts(p, prompt, grants, 0, out);
  return out;
}

}  // namespace kvplan::runs
