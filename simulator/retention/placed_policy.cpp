#include "simulator/retention/placed_policy.h"

#include <algorithm>

#include "simulator/attention/cell_metadata.h"
#include "simulator/base/check.h"
#include "simulator/courses/drops_of_part.h"
#include "simulator/courses/gathered_course.h"
#include "simulator/retention/layer_counts.h"

namespace kvplan::runs {
namespace {

std::vector<attention::KeptInterval> intervals_of_rank(const PlacedPolicy& p,
                                                       const attention::Grants& grants) {
  if (!p.budget && p.by_head.empty()) return {p.traits().interval.value()};
  const bool whole = p.rank_tracks.has_value();
  const std::int64_t first = whole ? 0 : p.rank.first_layer;
  const std::int64_t tensor_ranks = whole ? 1 : p.rank.tensor_ranks;
  std::vector<attention::KeptInterval> out;
  for (std::int64_t l = first; l < first + (whole ? p.layers : p.rank.layers); ++l) {
    const auto layer = static_cast<std::size_t>(l);
    if (!p.budget) {
      const auto heads = share_of_rank(p.by_head[layer], tensor_ranks);
      out.insert(out.end(), heads.begin(), heads.end());
      continue;
    }
    for (const std::int64_t tokens : share_of_rank(grants.tokens[layer], tensor_ranks))
      out.push_back(attention::interval_with_budget(p.policy, tokens));
  }
  return out;
}

}  // namespace

attention::CellUnits replayed_units(const PlacedPolicy& p) {
  const attention::PolicyTraits traits = p.traits();
  const attention::CellMetadata metadata = cell_metadata(p.policy, traits);
  if (traits.all_alike() && !p.budget) return {1, metadata.of_token(p.kv_heads)};
  if (traits.scope == attention::Scope::kLayer) return {p.rank.layers, metadata.of_token(p.layer_heads)};
  return {p.rank.layers * p.layer_heads, metadata.of_token(1)};
}

PrefixRule prefix_rule_of(const PlacedPolicy& p, bool asked) {
  if (p.placement != core::Placement::kHoles || p.tables > 1 || !p.windows.empty()) return {};
  const std::int64_t rows = p.measures() ? attention::kAllRows : p.traits().computed_rows();
  return {asked && rows != attention::kAllRows, rows};
}

CoursePtr window_course(const PlacedPolicy& p, core::CourseShape shape, std::int64_t table,
                        std::int64_t window) {
  shape.placement = core::Placement::kHoles;
  const attention::KeptInterval keep{0, window - 1};
  const auto cells = static_cast<std::int32_t>(p.units.per_token / p.tables);
  auto drops = std::make_shared<attention::IntervalDrops>(keep, shape.prompt, cells);
  if (!p.rank_tracks) return core::Course::make(shape, std::move(drops));
  std::vector<core::PartTrack> tracks = p.rank_tracks->of_table(p.table_per, table);
  for (core::PartTrack& each : tracks) each.track = 0;
  return core::Course::make(shape, std::make_shared<core::DropsOfPart>(std::move(drops), std::move(tracks)));
}

CoursePtr placed_course(const PlacedPolicy& p, const core::CourseShape& shape,
                        std::shared_ptr<const core::Drops> drops) {
  const auto make =
      shape.placement == core::Placement::kCompact ? core::make_gathered_course : core::Course::make;
  const auto tracks = static_cast<std::int64_t>(drops->track_units().size());
  KVPLAN_CHECK(!p.rank_tracks || p.rank_tracks->known() == tracks, tracks);
  if (p.tables == 1 && !p.rank_tracks) return make(shape, std::move(drops));
  const auto tracks_of = [&](std::int64_t t) {
    if (p.rank_tracks) return p.rank_tracks->of_table(p.table_per, t);
    const std::int64_t parts = std::min(tracks, p.tables);
    const std::int64_t cells = p.units.per_token / p.tables;  // cells of a table
    const std::int64_t in_part = tracks / parts;              // tracks of each of its tables
    KVPLAN_CHECK(tracks % parts == 0 && p.tables % parts == 0 && cells % in_part == 0, tracks, p.tables,
                 cells);
    return core::neighbour_tracks(t * parts / p.tables * in_part, in_part, cells / in_part);
  };
  const auto of_table = [&](std::int64_t t) {
    return make(shape, std::make_shared<core::DropsOfPart>(drops, tracks_of(t)));
  };
  if (p.tables == 1) return of_table(0);
  return course_of_tables(p, shape, of_table,
                          [&](std::int64_t t) { return tracks_of(t) == tracks_of(t - 1); });
}

std::shared_ptr<const core::Drops> interval_drops(const PlacedPolicy& p, const core::CourseShape& shape,
                                                  const attention::Grants& grants, bool block_ids) {
  KVPLAN_CHECK(attention::lengths_decide(p.traits()), shape.prompt);
  std::vector<attention::KeptInterval> tracks = intervals_of_rank(p, grants);
  const bool whole = p.rank_tracks.has_value();
  const auto units = whole ? 1 : p.units.per_token / static_cast<std::int64_t>(tracks.size());
  const attention::IntervalDrops each(std::move(tracks), shape.prompt, static_cast<std::int32_t>(units));
  // With several tables or ranks, or compaction, tracks are divided by their number. Blocks that are counted by id need
  // the same tracks in all requests; a budget that depends on the prompt would join tracks differently.
  const bool by_number =
      whole || p.tables > 1 || p.placement == core::Placement::kCompact || (block_ids && p.budget);
  return std::make_shared<attention::IntervalDrops>(by_number ? each : each.joined());
}

}  // namespace kvplan::runs
