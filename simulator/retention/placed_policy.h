// A token policy on the rank that a run is of: which cells of a token it tells apart, which block tables hold them, and
// which ranks or recordings its tracks stand for.
//
// A budget (run_budget.h) takes the place of the number of tokens that the policy says, layer by layer or head by head.
// Where tables are of layers or heads and layers of the model have windows, those layers keep what their window shows
// once the prompt is whole, and the policy decides about the others.
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

namespace kvplan::plan {

struct PlacedPolicy {
  attention::PolicyChoice policy;
  std::optional<RunBudget> budget{};
  /// Of the whole model, where the policy's tables say what each KV head keeps; else empty.
  attention::IntervalTable by_head{};
  std::int64_t layers{1};  ///< of the model
  RankBytes rank{};
  std::int64_t layer_heads{1};  ///< KV heads of a layer on the rank: its share, or one that others have too
  std::int64_t kv_heads{1};     ///< of all its layers
  core::Placement placement{core::Placement::kHoles};
  bool reads_holes{false};      ///< attention reads what was dropped, as long as it is held
  bool counts_by_steps{false};  ///< each length says another number (PolicyTraits::count_at, thins)
  attention::CellUnits units{};
  std::int64_t tables{1};  ///< of a request; units.per_token is a multiple
  memory::TablePer table_per{memory::TablePer::kRequest};
  /// Of each layer of the rank, what it sees: 0 everything, and the policy says what stays; else so many tokens, which
  /// stay whatever the policy says. Empty: all layers follow the policy. Not empty only where tables are of layers or
  /// heads.
  std::vector<std::int64_t> windows{};
  /// Set where ranks that share their tables keep other tokens than each other, or recordings stand for the model.
  std::optional<RankTracks> rank_tracks{};

  [[nodiscard]] attention::PolicyTraits traits() const { return policy.kind->traits(policy.choice); }
  /// Layers, or heads, keep numbers of tokens of their own.
  [[nodiscard]] bool keeps_by_layer() const {
    return budget || !by_head.empty() || policy.kind->layer_counts != nullptr;
  }
  /// Of these, each KV head does.
  [[nodiscard]] bool keeps_by_head() const { return !by_head.empty() || (budget && budget->by_head()); }
  [[nodiscard]] bool measures() const { return budget && budget->measured(); }
  /// Have all ranks the same tables? Those of layers are a stage's, those of heads a rank's.
  [[nodiscard]] bool ranks_share_tables() const {
    if (table_per == memory::TablePer::kHead) return rank.ranks() == 1;
    return table_per == memory::TablePer::kRequest || rank.stages == 1;
  }
  /// Ranks that are counted and keep other numbers than each other can be followed: they share tables, and the one that
  /// keeps most says how long each is. Asked of policies that are counted.
  [[nodiscard]] bool ranks_may_differ() const {
    return keeps_by_layer() && rank.ranks() > 1 && ranks_share_tables();
  }
};

/// The cells of a token of the rank that the policy decides about where it is replayed.
attention::CellUnits replayed_units(const PlacedPolicy& policy);

/// Whether requests find cached blocks, and so many tokens at a prompt's end that are computed all the same.
struct PrefixRule {
  bool finds{false};
  std::int64_t prompt_rows{1};
};
/// Of a policy that is replayed or goes by positions: what is dropped in place stays there for others, and one table
/// has whole blocks for them. `asked`: the scenario asks for prefix caching.
PrefixRule prefix_rule_of(const PlacedPolicy& policy, bool asked);

using CoursePtr = std::unique_ptr<const core::Course>;

/// The course of a request of which it is known which tokens go. Tracks lie by layer, in each by KV head; one may be of
/// several tables, or a table of several tracks, of which other ranks may have some.
CoursePtr placed_course(const PlacedPolicy& policy, const core::CourseShape& shape,
                        std::shared_ptr<const core::Drops> drops);

/// The course of a table whose layer sees a window of so many tokens: the next token is one of them. What it leaves
/// behind lies before what stays, so that nothing need be moved. All its tracks, of other ranks too, keep alike.
CoursePtr window_course(const PlacedPolicy& policy, core::CourseShape shape, std::int64_t table,
                        std::int64_t window);

/// Each table in its place; neighbours that follow one course are made once. `policy_course`: of table t;
/// `same_course`: do tables t - 1 and t follow one?
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

/// Which tokens go where positions decide: one track for all cells, or one for each layer or head; where tracks of
/// other ranks matter, those of the whole model. `grants`: of the policy's budget. `block_ids`: blocks are counted by
/// id. REQUIRES: positions decide.
std::shared_ptr<const core::Drops> interval_drops(const PlacedPolicy& policy, const core::CourseShape& shape,
                                                  const attention::Grants& grants, bool block_ids);

}  // namespace kvplan::plan
