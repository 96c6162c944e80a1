#include "simulator/retention/run_courses.h"

#include <algorithm>

#include "simulator/attention/recorded_sets.h"
#include "simulator/base/check.h"
#include "simulator/courses/counted_course.h"
#include "simulator/courses/course_of_tables.h"
#include "simulator/courses/drops_of_part.h"
#include "simulator/courses/gathered_course.h"
#include "simulator/retention/layer_counts.h"

namespace kvplan::plan {
namespace {

/// What each track of the rank keeps, where positions decide: one for all cells, or one for each layer or head. Where
/// tracks of other ranks matter, those of the whole model. `grants`: of the plan's budget.
std::vector<attention::KeptInterval> intervals_of_rank(const TokenPlan& plan,
                                                       const attention::Grants& grants) {
  if (!plan.budget && plan.by_head.empty())
    return {plan.policy->kind->traits(plan.policy->choice).interval.value()};
  const RankBytes& rank = plan.placed.bytes;
  const bool whole = plan.rank_tracks.has_value();
  const std::int64_t first = whole ? 0 : rank.first_layer;
  const std::int64_t tensor_ranks = whole ? 1 : rank.tensor_ranks;
  std::vector<attention::KeptInterval> out;
  for (std::int64_t l = first; l < first + (whole ? plan.model.layers : rank.layers); ++l) {
    const auto layer = static_cast<std::size_t>(l);
    if (!plan.budget) {
      const auto heads = share_of_rank(plan.by_head[layer], tensor_ranks);
      out.insert(out.end(), heads.begin(), heads.end());
      continue;
    }
    for (const std::int64_t tokens : share_of_rank(grants.tokens[layer], tensor_ranks))
      out.push_back(attention::interval_with_budget(*plan.policy, tokens));
  }
  return out;
}

}  // namespace

LongestDriven longest_driven(const TokenPlan& plan, const core::Workload& workload) {
  LongestDriven out;
  if (plan.recordings.empty()) return out;
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    if (!plan.drives(workload, r)) continue;  // it is turned away, or counted
    const std::size_t i = index(r);
    std::int64_t& longest = out[{i % plan.recordings.size(), workload.input[i]}];
    longest = std::max(longest, workload.final_tokens(r));
  }
  return out;
}

RunCourses::RunCourses(const TokenPlan& plan, const core::Workload& workload, const LongestDriven& longest,
                       const core::MemoryLayout& layout, attention::TrajectoryStore& trajectories,
                       const core::RunControl* control)
    : plan_(plan),
      workload_(workload),
      longest_(longest),
      layout_(layout),
      control_(control),
      trajectories_(trajectories),
      used_(plan.recordings.size(), false) {
  if (plan.policy && plan.policy->recorded != nullptr)
    sets_ = std::make_shared<attention::SetDrops>(plan.policy->recorded, plan.model.layers);
}

/// Scores are measured once for each prompt of a recording.
Result<attention::Grants> RunCourses::grants(RequestId r, std::int64_t prompt) {
  if (!plan_.budget) return attention::Grants{};
  if (!plan_.budget->measured()) return plan_.budget->grants(prompt);
  const std::size_t which = index(r) % plan_.recordings.size();
  auto found = measured_.find({which, prompt});
  if (found == measured_.end()) {
    const Recorded& recorded = plan_.recordings[which];
    KVPLAN_TRY(auto scores, plan_.budget->measure(*recorded.recording, recorded.sequence, prompt));
    found = measured_.emplace(std::pair{which, prompt}, std::move(scores)).first;
  }
  return plan_.budget->grants(prompt, found->second);
}

Result<std::shared_ptr<const core::Drops>> RunCourses::drops(const Asked& asked) {
  if (!plan_.recordings.empty()) return recorded_drops(asked);
  if (sets_ != nullptr) return sets_of_prompt(asked);
  KVPLAN_CHECK(attention::lengths_decide(plan_.policy->kind->traits(plan_.policy->choice)), asked.request);
  std::vector<attention::KeptInterval> tracks = intervals_of_rank(plan_, asked.grants);
  const bool whole = plan_.rank_tracks.has_value();
  const auto units = whole ? 1 : plan_.units.per_token / static_cast<std::int64_t>(tracks.size());
  const attention::IntervalDrops each(std::move(tracks), asked.shape.prompt,
                                      static_cast<std::int32_t>(units));
  // Of several tables or ranks, and where survivors move, tracks are dealt out by their number; requests that share
  // blocks have the same ones, which those of a budget that depends on the prompt need not be.
  const bool by_number = whole || plan_.tables > 1 || plan_.placement == core::Placement::kCompact ||
                         (plan_.finds_prefixes && plan_.budget);
  return std::shared_ptr<const core::Drops>(
      std::make_shared<attention::IntervalDrops>(by_number ? each : each.joined()));
}

/// A request that was preempted has more to compute than its prompt.
Result<std::shared_ptr<const core::Drops>> RunCourses::sets_of_prompt(const Asked& asked) const {
  if (asked.shape.prompt == plan_.policy->recorded->prompt) return sets_;
  return bad_input("expected enough memory that no request is preempted: request " +
                   std::to_string(number(asked.request)) + " is readmitted with " +
                   std::to_string(asked.shape.prompt) +
                   " tokens to compute, but the sets are for a prompt of " +
                   std::to_string(plan_.policy->recorded->prompt))
      .at_field("eviction: " + std::string(plan_.policy->choice.name()) + ":file");
}

Result<std::shared_ptr<const core::Drops>> RunCourses::recorded_drops(const Asked& asked) {
  const std::size_t which = index(asked.request) % plan_.recordings.size();
  const Recorded& recorded = plan_.recordings[which];
  used_[which] = true;
  KVPLAN_TRY(auto trajectory,
             trajectories_.get(recorded.recording, recorded.sequence, asked.shape.prompt,
                               last_asked(which, asked.shape), *plan_.policy, asked.grants,
                               [this] { return control_ != nullptr && control_->wants_stop(); }));
  return std::shared_ptr<const core::Drops>(
      std::make_shared<attention::RecordedDrops>(std::move(trajectory)));
}

/// The last token that any request with such a prompt asks about, so that one computation serves all of them. A policy
/// that looks ahead sees the request's own tokens alone.
std::int64_t RunCourses::last_asked(std::size_t recording, const core::CourseShape& shape) const {
  if (plan_.policy->kind->traits(plan_.policy->choice).foresight)
    return attention::last_that_drops(shape.final_tokens);
  const auto longest = longest_.find({recording, shape.prompt});
  return attention::last_that_drops(
      std::max(shape.final_tokens, longest == longest_.end() ? 0 : longest->second));
}

/// Which tokens go, as far as that is known of a policy that is counted.
Result<std::shared_ptr<const core::Drops>> RunCourses::counted_drops(const Asked& asked) {
  const bool by_position = attention::lengths_decide(plan_.policy->kind->traits(plan_.policy->choice));
  const bool driven = !plan_.recordings.empty() && plan_.drives(workload_, asked.request);
  if (!driven && !by_position) return std::shared_ptr<const core::Drops>();
  KVPLAN_TRY(auto dropped, drops(asked));
  if (!plan_.recordings.empty()) KVPLAN_TRY_DO(check_counts(asked, *dropped));
  return dropped;
}

/// A recording says which tokens go; as many have to stay as lengths say, in each track that the policy decides about.
/// Tracks are those of the whole model: one for all layers, or as many for each.
Status RunCourses::check_counts(const Asked& asked, const core::Drops& dropped) const {
  const core::CourseShape& shape = asked.shape;
  const auto tracks = static_cast<std::int64_t>(dropped.track_units().size());
  const std::int64_t layers = plan_.model.layers;
  const std::int64_t of_layer = std::max<std::int64_t>(tracks / layers, 1);
  std::vector<std::vector<core::KeptCount>> counts;
  if (plan_.keeps_by_layer()) counts = counts_by_layer(plan_, shape.prompt, asked.grants);
  const auto count_of = [&](std::int64_t track) {
    if (counts.empty()) return *plan_.policy->kind->traits(plan_.policy->choice).count;
    const auto& heads = counts[static_cast<std::size_t>(track / of_layer)];
    return heads[static_cast<std::size_t>(track % of_layer * std::ssize(heads) / of_layer)];
  };
  const auto follows_window = [&](std::int64_t track) {
    const std::int64_t layer = track / of_layer - plan_.placed.bytes.first_layer;
    return layer >= 0 && layer < std::ssize(plan_.windows) &&
           plan_.windows[static_cast<std::size_t>(layer)] > 0;
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

/// The course of a table whose layer sees a window of so many tokens: the next token is one of them. What it leaves
/// behind lies before what stays, so that nothing need be moved. All its tracks, of other ranks too, keep alike.
std::unique_ptr<const core::Course> RunCourses::window_course(core::CourseShape shape, std::int64_t table,
                                                              std::int64_t window) const {
  shape.placement = core::Placement::kHoles;
  const attention::KeptInterval keep{0, window - 1};
  const auto cells = static_cast<std::int32_t>(plan_.units.per_token / plan_.tables);
  auto drops = std::make_shared<attention::IntervalDrops>(keep, shape.prompt, cells);
  if (!plan_.rank_tracks) return core::Course::make(shape, std::move(drops));
  std::vector<core::PartTrack> tracks = plan_.rank_tracks->of_table(plan_.table_per, table);
  for (core::PartTrack& each : tracks) each.track = 0;
  return core::Course::make(shape, std::make_shared<core::DropsOfPart>(std::move(drops), std::move(tracks)));
}

/// Each table in its place; neighbours that follow one course are made once. `policy_course`: of table t;
/// `same_course`: do tables t - 1 and t follow one?
template <class Make, class Same>
std::unique_ptr<const core::Course> RunCourses::course_of_tables(const core::CourseShape& shape,
                                                                 Make policy_course, Same same_course) const {
  const auto layers = static_cast<std::int64_t>(plan_.windows.size());
  const auto window = [&](std::int64_t t) {
    return layers == 0 ? 0 : plan_.windows[static_cast<std::size_t>(t * layers / plan_.tables)];
  };
  std::vector<core::AlikeTables> tables;
  for (std::int64_t t = 0; t < plan_.tables; ++t) {
    const std::int64_t shown = window(t);
    if (t > 0 && shown == window(t - 1) && (shown > 0 || same_course(t))) {
      ++tables.back().tables;
    } else {
      tables.push_back({shown > 0 ? window_course(shape, t, shown) : policy_course(t), 1});
    }
  }
  return core::make_course_of_tables(std::move(tables));
}

/// Of units that are counted, each by what it keeps of every length.
std::unique_ptr<const core::Course> RunCourses::course_of_counts(
    const core::CourseShape& shape, const std::vector<core::CountedUnits>& units,
    std::shared_ptr<const core::Drops> drops) const {
  if (!plan_.counts_by_steps) return core::make_counted_course(shape, units, std::move(drops));
  const auto count_at = (plan_.budget ? attention::traits_with_budget(*plan_.policy)
                                      : plan_.policy->kind->traits(plan_.policy->choice))
                            .count_at;
  std::vector<core::KeptUnits> each;
  for (const auto& [granted, cells] : units) {
    const Choice choice = plan_.budget
                              ? attention::choice_with_budget(*plan_.policy, granted.budget, shape.prompt)
                              : plan_.policy->choice;
    each.push_back({{}, cells});
    for (std::int64_t n = shape.prompt; n < shape.final_tokens; ++n) {
      const core::KeptCount kept = count_at == nullptr ? granted : count_at(choice, shape.prompt, n);
      each.back().kept.push_back(kept.of(n, shape.prompt));
    }
  }
  return core::make_course_of_kept(shape, std::move(each));
}

std::unique_ptr<const core::Course> RunCourses::counted_course(
    const Asked& asked, std::shared_ptr<const core::Drops> drops) const {
  const core::CourseShape& shape = asked.shape;
  const std::vector<core::CountedUnits> units = counted_units_of(plan_, shape.prompt, asked.grants);
  if (plan_.tables == 1) return course_of_counts(shape, units, std::move(drops));
  KVPLAN_CHECK(plan_.units.per_token % plan_.tables == 0, plan_.tables, plan_.units.per_token);
  std::vector<std::vector<core::CountedUnits>> counts;  // by table
  std::int64_t cell = 0;
  for (const auto& [count, cells] : units)
    for (std::int64_t i = 0; i < cells; ++i, ++cell) {
      if (cell % (plan_.units.per_token / plan_.tables) == 0) counts.emplace_back();
      auto& table = counts.back();
      if (table.empty() || table.back().kept != count) table.push_back({count, 0});
      ++table.back().units;
    }
  if (plan_.ranks_may_differ())
    for (std::int64_t t = 0; t < plan_.tables; ++t)
      add_other_counts(plan_, shape.prompt, asked.grants, t, counts[static_cast<std::size_t>(t)]);
  const auto count = [&](std::int64_t t) { return counts[static_cast<std::size_t>(t)]; };
  const auto tracks = drops == nullptr ? 0 : static_cast<std::int64_t>(drops->track_units().size());
  const auto gone = [&](std::int64_t t) -> std::shared_ptr<const core::Drops> {
    if (tracks == 0) return nullptr;
    const std::int64_t of_table = std::max<std::int64_t>(tracks / plan_.tables, 1);
    return std::make_shared<core::DropsOfPart>(
        drops, core::neighbour_tracks(t * tracks / plan_.tables, of_table, 1));
  };
  return course_of_tables(
      shape, [&](std::int64_t t) { return course_of_counts(shape, count(t), gone(t)); },
      [&](std::int64_t t) {  // else each drops its own
        return tracks <= 1 && count(t).size() == 1 && count(t - 1).size() == 1 &&
               count(t).front().kept == count(t - 1).front().kept;
      });
}

/// Tracks lie by layer, in each by KV head; one may be of several tables, or a table of several tracks, of which
/// other ranks may have some.
std::unique_ptr<const core::Course> RunCourses::placed_course(
    const core::CourseShape& shape, std::shared_ptr<const core::Drops> drops) const {
  const auto make =
      shape.placement == core::Placement::kCompact ? core::make_gathered_course : core::Course::make;
  const auto tracks = static_cast<std::int64_t>(drops->track_units().size());
  KVPLAN_CHECK(!plan_.rank_tracks || plan_.rank_tracks->known() == tracks, tracks);
  if (plan_.tables == 1 && !plan_.rank_tracks) return make(shape, std::move(drops));
  const auto tracks_of = [&](std::int64_t t) {
    if (plan_.rank_tracks) return plan_.rank_tracks->of_table(plan_.table_per, t);
    const std::int64_t parts = std::min(tracks, plan_.tables);
    const std::int64_t cells = plan_.units.per_token / plan_.tables;  // of a table
    const std::int64_t in_part = tracks / parts;                      // tracks of each of its tables
    KVPLAN_CHECK(tracks % parts == 0 && plan_.tables % parts == 0 && cells % in_part == 0, tracks,
                 plan_.tables, cells);
    return core::neighbour_tracks(t * parts / plan_.tables * in_part, in_part, cells / in_part);
  };
  const auto of_table = [&](std::int64_t t) {
    return make(shape, std::make_shared<core::DropsOfPart>(drops, tracks_of(t)));
  };
  if (plan_.tables == 1) return of_table(0);
  return course_of_tables(shape, of_table, [&](std::int64_t t) { return tracks_of(t) == tracks_of(t - 1); });
}

Result<const core::Course*> RunCourses::begin(RequestId r, std::int64_t prompt) {
  KVPLAN_TRY(attention::Grants granted, grants(r, prompt));
  const Asked asked{.request = r,
                    .shape = {.prompt = prompt,
                              .final_tokens = workload_.final_tokens(r),
                              .alloc_unit_tokens = layout_.alloc_unit_tokens,
                              .returns_alloc_units = layout_.returns_alloc_units(),
                              .placement = plan_.placement,
                              .reads_holes = plan_.reads_holes},
                    .grants = std::move(granted)};
  if (plan_.keeps_by_layer() && (plan_.counted || plan_.recordings.empty()) && !plan_.ranks_may_differ() &&
      !plan_.rank_tracks)
    KVPLAN_TRY_DO(check_alike_ranks(plan_, prompt, asked.grants));
  auto& course = courses_[r];
  if (!plan_.encoded.empty()) {
    course =
        core::make_encoded_course(asked.shape, encoded_tokens(plan_.encoded, prompt, asked.shape.final_tokens,
                                                              kept_encoded(plan_, prompt, asked.grants)));
    return course.get();
  }
  if (plan_.counted) {
    KVPLAN_TRY(auto dropped, counted_drops(asked));
    course = counted_course(asked, std::move(dropped));
    return course.get();
  }
  KVPLAN_TRY(auto dropped, drops(asked));
  course = placed_course(asked.shape, std::move(dropped));
  return course.get();
}

void RunCourses::end(RequestId r) {
  courses_.erase(r);
}

}  // namespace kvplan::plan
