// Replays one policy on one layer of one sequence, token by token, by the step model of policy.h.
//
// Life cycle: construct; call `step` for tokens 0, 1, 2, ...; between calls ask what is kept, what the last
// step dropped, and what its query saw. Memory: what is kept, never the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// Query heads per stored head for this policy on this recording; an error where they do not divide.
Result<std::int32_t> group_of(const PolicyChoice& policy, const RecordingInfo& info);

class LayerReplay {
 public:
  /// `measure`: also compute attended mass (and output errors where the rows bring values) of every decode
  /// step, which needs rows for positional policies too. REQUIRES: group divides query_heads; prompt >= 1.
  LayerReplay(const PolicyChoice& policy, std::int32_t query_heads, std::int32_t group, std::int64_t prompt,
              bool measure);

  /// True if `step` for token t reads rows.
  [[nodiscard]] bool needs_rows(std::int64_t t) const;
  /// Processes the next token, t = tokens(). REQUIRES: `rows` stands at t, or needs_rows(t) is false.
  void step(const LayerRows* rows);
  /// Tokens processed so far.
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Sets of residents: one per stored head, or one for the layer (PolicyTraits::scope).
  [[nodiscard]] std::int32_t units() const { return static_cast<std::int32_t>(units_.size()); }
  [[nodiscard]] const PolicyTraits& traits() const { return traits_; }
  /// Positions kept after the last step, ascending.
  [[nodiscard]] std::span<const std::int32_t> kept(std::int32_t unit) const;
  /// Positions that the last step dropped, ascending.
  [[nodiscard]] std::span<const std::int32_t> dropped(std::int32_t unit) const;
  /// What a report calls retained: `kept`, or what the last query read for policies that select.
  [[nodiscard]] std::span<const std::int32_t> reported(std::int32_t unit) const;
  /// Entries while the last query attended: what was kept before it, and itself.
  [[nodiscard]] std::int64_t attended_entries(std::int32_t unit) const;

  /// Per query head, of the last decode step (only with `measure`): sum of the recorded row over what was
  /// attended, and |o - o'| / |o| of the attention output (empty where there are no values).
  [[nodiscard]] std::span<const double> attended_mass() const { return mass_; }
  [[nodiscard]] std::span<const double> output_error() const { return error_; }

 private:
  struct Unit {
    std::int32_t first_head{0};
    std::int32_t heads{0};
    std::unique_ptr<TokenPolicy> policy;
    Residents residents{0};
    std::int64_t attended{0};
    std::vector<std::int32_t> selected;  ///< positions, for policies that select
    std::vector<std::int32_t> drop;      ///< indices, while evicting
    std::vector<std::int32_t> dropped;   ///< positions
  };
  static void ask_ahead(const Unit& next, const LayerRows& rows);
  void step_unit(Unit& unit, const LayerRows* rows);
  /// Gathers the rows of the unit's heads over its residents: weights for the policy, masses for the report.
  Weights weigh(const Unit& unit, const LayerRows& rows);
  Weights reduce(const Unit& unit, const LayerRows& rows, std::span<const double> sums);
  double renorm_divisor(const Unit& unit, RowView row, double sum, std::span<double> weights) const;
  void measure_selected(const Unit& unit, const LayerRows& rows);
  void measure_errors(const Unit& unit, const LayerRows& rows);
  static void evict(Unit& unit);

  PolicyTraits traits_;
  Aggregate aggregate_;
  std::int64_t prompt_;
  bool measure_;
  std::int64_t tokens_{0};
  std::vector<Unit> units_;
  std::vector<double> mass_;
  std::vector<double> error_;
  std::vector<double> gathered_;  ///< [heads of a unit][residents]
  std::vector<double> combined_;  ///< [residents]
  std::vector<double> sums_;      ///< [heads of a unit]
  std::vector<double> scratch_;   ///< weights of what a selecting policy reads
};

}  // namespace kvplan::attention
