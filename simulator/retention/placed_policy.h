// A token policy applied to the rank that a run simulates: the cells of a token that may be dropped separately, the
// block tables that hold them, and how tracks of other ranks or of recordings map to the rank.
//
// A budget (run_budget.h) replaces the policy's own number of tokens, for each layer or head. If there is a table for
// each layer or head and layers of the model have windows, those layers keep the tokens in their window once the prompt
// is complete, and the policy decides about the other layers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/drops.h"
#include "simulator/attention/head_intervals.h"
#include "simulator/courses/course.h"
#include "simulator/courses/course_of_tables.h"
#include "simulator/deployment/deployment.h"
#include "simulator/memory/allocators.h"
#include "simulator/retention/rank_tracks.h"
#include "simulator/scenario/run_budget.h"

namespace kvplan::runs {

struct PlacedPolicy {
  attention::PolicyChoice policy;
  std::optional<RunBudget> budget{};
  /// For the whole model, if the policy's tables say what each KV head keeps; else empty.
  attention::IntervalTable by_head{};
  std::int64_t layers{1};  ///< layers of the model
  RankBytes rank{};
  /// KV heads of a layer on the rank: its share, or one head that several ranks store
  std::int64_t layer_heads{1};
  std::int64_t kv_heads{1};  ///< KV heads of all layers on the rank
  core::Placement placement{core::Placement::kHoles};
  bool reads_holes{false};      ///< attention reads dropped tokens as long as their slot is held
  bool counts_by_steps{false};  ///< the count changes with every length (PolicyTraits::count_at, thins)
  attention::CellUnits units{};
  std::int64_t tables{1};  ///< block tables of a request; units.per_token is a multiple
  memory::TablePer table_per{memory::TablePer::kRequest};
  /// For each layer of the rank, its window in tokens: these tokens are kept whatever the policy says. 0: the layer has
  /// no window, and the policy decides. Empty: all layers follow the policy. Not empty only if there is a table for
  /// each layer or head.
  std::vector<std::int64_t> windows{};
  /// Set if ranks that share their tables keep different tokens, or if recordings of another shape stand for the
  /// model.
  std::optional<RankTracks> rank_tracks{};

  [[nodiscard]] attention::PolicyTraits traits() const { return policy.kind->traits(policy.choice); }
  /// True: layers or heads have their own counts of kept tokens.
  [[nodiscard]] bool keeps_by_layer() const {
    return budget || !by_head.empty() || policy.kind->layer_counts != nullptr;
  }
  /// True: each KV head has its own count.
  [[nodiscard]] bool keeps_by_head() const { return !by_head.empty() || (budget && budget->by_head()); }
  [[nodiscard]] bool measures() const { return budget && budget->measured(); }
  /// True: all ranks have the same tables. Tables of layers belong to a pipeline stage, tables of heads to a rank.
  [[nodiscard]] bool ranks_share_tables() const {
    if (table_per == memory::TablePer::kHead) return rank.ranks() == 1;
    return table_per == memory::TablePer::kRequest || rank.stages == 1;
  }
  /// True: ranks with different counts can be simulated, because they share tables, and the rank that keeps most
  /// decides the length of each table. REQUIRES: the policy is counted.
  [[nodiscard]] bool ranks_may_differ() const {
    return keeps_by_layer() && rank.ranks() > 1 && ranks_share_tables();
  }
};

/// The cells of a token on the rank about which the policy decides separately, if it is replayed.
attention::CellUnits replayed_units(const PlacedPolicy& policy);

/// Whether requests may hit cached blocks, and how many tokens at the end of a prompt are computed even on a hit.
struct PrefixRule {
  bool finds{false};
  std::int64_t prompt_rows{1};
};
/// For a policy that is replayed or decides by positions. Hits are possible if dropped tokens stay in place for the
/// block's other holders, and a single table has whole blocks. `asked`: the scenario asks for prefix caching.
PrefixRule prefix_rule_of(const PlacedPolicy& policy, bool asked);

using CoursePtr = std::unique_ptr<const core::Course>;

/// The course of a request for which the dropped tokens are known. Tracks are ordered by layer, within a layer by KV
/// head. A track may be in several tables, and a table may have several tracks, some of them of other ranks.
CoursePtr placed_course(const PlacedPolicy& policy, const core::CourseShape& shape,
                        std::shared_ptr<const core::Drops> drops);

/// The course of a table with a layer that has a window of `window` tokens, including the next one. Dropped tokens lie
/// before kept ones, so nothing has to be moved. All its tracks keep the same tokens, including tracks of other ranks.
CoursePtr window_course(const PlacedPolicy& policy, core::CourseShape shape, std::int64_t table,
                        std::int64_t window);

/// Combines the courses of all tables; equal neighbours share one course. `policy_course` makes the course of table t;
/// `same_course` says whether tables t - 1 and t follow the same course.
template <class Make, class Same>
CoursePtr course_of_tables(const PlacedPolicy& policy, const core::CourseShape& shape, Make policy_course,
                           Same same_course) {
  const auto layers = static_cast<std::int64_t>(policy.windows.size());
  const auto window = [&](std::int64_t t) {
    return layers == 0 ? 0 : policy.windows[static_cast<std::size_t>(t * layers / policy.tables)];
  };
  std::vector<core::AlikeTables> tables;
  for (std::int64_t t = 0; t < policy.tables; ++t) {
    const std::int64_t shown = window(t);
    if (t > 0 && shown == window(t - 1) && (shown > 0 || same_course(t))) {
      ++tables.back().tables;
    } else {
      tables.push_back({shown > 0 ? window_course(policy, shape, t, shown) : policy_course(t), 1});
    }
  }
  return core::make_course_of_tables(std::move(tables));
}

/// The dropped tokens if positions decide: one track for all cells, or one for each layer or head; if tracks of other
/// ranks matter, the tracks of the whole model. `grants`: from the policy's budget. `block_ids`: blocks have ids.
/// REQUIRES: positions decide.
std::shared_ptr<const core::Drops> interval_drops(const PlacedPolicy& policy, const core::CourseShape& shape,
                                                  const attention::Grants& grants, bool block_ids);

}  // namespace kvplan::runs
