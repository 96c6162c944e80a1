// What surrounds the answer of a plan: head-room, prices of constraints, what binds, the day, and what rules of thumb
// would have bought. Each asks for runs of its own, which are no rows of the plan's database.
#pragma once

#include <functional>
#include <vector>

#include "simulator/planner/plan.h"
#include "simulator/planner/prepare.h"
#include "simulator/planner/search.h"
#include "simulator/planner/trials.h"

namespace kvplan::planner {

/// The answer at a rate, and what it was found with.
struct Answer {
  const Prepared& prepared;
  Trials& trials;
  const PlanRequest& request;
  std::size_t rate{0};
  Found found;                             ///< shape: in the space
  const runs::RunResult* result{nullptr};  ///< with results by request; null: it was not run again
  /// Describes a deployment of this space by its outcome.
  std::function<Option(std::size_t shape, std::int64_t replicas, const CaseOutcome& outcome)> option;

  [[nodiscard]] std::vector<runs::Setting> settings() const {
    return prepared.space.settings(request.rates[rate], found.shape, found.replicas);
  }
  [[nodiscard]] const LiveShape& live() const;
};

/// A search of the whole space by other limits; cases that were run are known.
using SearchBy = std::function<SearchResult(const std::vector<Target>& targets)>;

/// The largest rate that still meets the targets: whole percents up to 4 times the plan's. Premise: a rate above one
/// that misses them misses them too.
Result<Headroom> headroom_of(const Answer& answer);

/// Each target 10 % looser, the others as they are.
Result<std::vector<ConstraintPrice>> prices_of_constraints(const Answer& answer, const SearchBy& search);

/// 10 % more of one resource after the other. A resource counts by how much nearer the tightest target comes to its
/// limit without it. Empty if nothing helps.
Result<std::vector<Binding>> binding_of(const Answer& answer);

/// The answer, and `fewer` and `more` (null: none), on resampled traffic, the same for all. Absent: nothing to
/// resample, or none is asked for.
Result<std::optional<TrafficDoubt>> traffic_doubt_of(const Answer& answer, const Option* fewer,
                                                     const Option* more);

/// A tenth less and a tenth more of one resource after the other, and the pool at the ends of its interval. `fewer`:
/// the next smaller deployment; may be null.
Result<std::vector<Sensitivity>> sensitivity_of(const Answer& answer, const Option& best,
                                                const Option* fewer);

/// Changes of the answer's scenario, each with `factor` times as much of one resource.
struct ResourceChange {
  std::string what;
  std::vector<runs::Setting> settings;
};
std::vector<ResourceChange> resource_changes(const Answer& answer, double factor);

/// How much of each limit is in use over the answer's run, which has a timeline of kPressureBins bins. Empty without
/// one.
inline constexpr std::int64_t kPressureBins = 240;
std::vector<Pressure> pressure_of(const runs::RunResult& result, const std::vector<Target>& targets);

/// The fewest replicas of the answer's shape for each 24th of the trace by itself, held from `start_up_s` before it.
/// Empty if the requests have no common clock or wait for each other.
Result<std::vector<DayPart>> day_of(const Answer& answer);

/// Deployments of the answer's shape that formulas ask for.
Result<std::vector<Baseline>> baselines_of(const Answer& answer);

}  // namespace kvplan::planner
