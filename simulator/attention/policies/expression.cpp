// A policy defined by the user: keeps the tokens with the highest score, an expression over properties of a token.
// Examples: H2O (accumulated), TOVA (last, scope=layer) and the window (position).
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "simulator/attention/importance.h"
#include "simulator/attention/kernels.h"
#include "simulator/attention/norms.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/score_expression.h"
#include "simulator/attention/score_rows.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::expression {
namespace {

constexpr int kAccumulated = 0;
constexpr int kLast = 1;
constexpr int kColumns = 2;

ScoreExpression expression_of(const Choice& choice) {
  return ScoreExpression::make(choice.text("score")).value();
}

/// The latest rows of a set, for the sum over them.
class LatestRows {
 public:
  void add(const Residents& residents, const Weights& weights, std::size_t window) {
    if (rows_.size() == window) rows_.pop_front();
    rows_.emplace_back();
    rows_.back().first.assign(residents.positions().begin(), residents.positions().end());
    for (const double value : weights.value) rows_.back().second.push_back(value / weights.divisor);
  }
  /// For each resident, the sum over the rows; rows are added oldest first.
  [[nodiscard]] std::vector<double> sums(const Residents& residents) const {
    const auto positions = residents.positions();
    std::vector<double> out(positions.size());
    for (const auto& [at, weight] : rows_) {
      std::size_t i = 0;
      for (std::size_t r = 0; r < at.size(); ++r) {
        while (i < positions.size() && positions[i] < at[r]) ++i;
        if (i < positions.size() && positions[i] == at[r]) out[i] += weight[r];
      }
    }
    return out;
  }

 private:
  std::deque<std::pair<std::vector<std::int32_t>, std::vector<double>>> rows_;
};

class Expression final : public SetPolicy {
 public:
  explicit Expression(const LayerInput& input)
      : score_(expression_of(input.choice)),
        budget_(input.choice.integer("budget")),
        recent_(input.choice.integer("recent")),
        sink_(input.choice.integer("sink")),
        window_(static_cast<std::size_t>(input.choice.integer("window"))),
        place_(input.place),
        by_layer_(input.choice.text("scope") == "layer"),
        heads_(by_layer_ ? input.place.kv_heads() : 1),
        reduce_(aggregate_of(input.choice)),
        latest_(static_cast<std::size_t>(input.place.kv_heads())) {
    score_.set(ScoreVariable::kPrompt, static_cast<double>(input.place.prompt));
    score_.set(ScoreVariable::kLayer, static_cast<double>(input.place.layer));
  }

  void tensors(const LayerRows& rows) override { recorded_ = &rows; }
  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    accumulate(weights.value, weights.divisor, residents.column(kAccumulated));
    assign_scaled(weights.value, weights.divisor, residents.column(kLast));
    if (score_.uses(ScoreVariable::kWindowed))
      latest_[static_cast<std::size_t>(set)].add(residents, weights, window_);
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const Candidates may = unprotected(residents, sink_, recent_);
    const auto goes =
        static_cast<std::int32_t>(std::min<std::int64_t>(residents.size() - budget_, may.end - may.begin));
    if (goes <= 0) return;
    const auto positions = residents.positions();
    std::vector<double> windowed;
    if (score_.uses(ScoreVariable::kWindowed))
      windowed = latest_[static_cast<std::size_t>(set)].sums(residents);
    score_.set(ScoreVariable::kTokens, static_cast<double>(positions.back()) + 1);
    score_.set(ScoreVariable::kHead, by_layer_ ? 0 : place_.head_number(set));
    scores_.clear();
    for (std::int32_t index = may.begin; index < may.end; ++index) {
      const auto i = static_cast<std::size_t>(index);
      score_.set(ScoreVariable::kAccumulated, residents.column(kAccumulated)[i]);
      score_.set(ScoreVariable::kLast, residents.column(kLast)[i]);
      if (!windowed.empty()) score_.set(ScoreVariable::kWindowed, windowed[i]);
      score_.set(ScoreVariable::kPosition, static_cast<double>(positions[i]));
      score_.set(ScoreVariable::kAge, static_cast<double>(positions.back() - positions[i]));
      if (score_.uses(ScoreVariable::kKeyNorm))
        score_.set(ScoreVariable::kKeyNorm, mean_norm(key_norm, set, positions[i]));
      if (score_.uses(ScoreVariable::kValueNorm))
        score_.set(ScoreVariable::kValueNorm, mean_norm(value_norm, set, positions[i]));
      scores_.push_back(score_.score());
    }
    lowest(scores_, goes, drop);
    for (std::int32_t& index : drop) index += may.begin;
  }

 private:
  /// The mean norm over the KV heads of the set.
  [[nodiscard]] double mean_norm(double (*norm)(const LayerRows&, std::int32_t, std::int32_t),
                                 std::int32_t set, std::int32_t token) const {
    double sum = 0;
    for (std::int32_t head = set; head < set + heads_; ++head)
      sum += norm(*recorded_, head * place_.group, token);
    return sum / heads_;
  }

  ScoreExpression score_;
  std::int64_t budget_;
  std::int64_t recent_;
  std::int64_t sink_;
  std::size_t window_;
  LayerPlace place_;
  bool by_layer_;       ///< one set for all heads
  std::int32_t heads_;  ///< KV heads of a set
  Reducer reduce_;
  std::vector<LatestRows> latest_;  ///< [set]
  const LayerRows* recorded_{nullptr};
  std::vector<double> scores_;
};

constexpr std::array<std::string_view, 2> kScopes{"head", "layer"};
constexpr Param protected_param(std::string_view name, std::string_view help) {
  return {.name = name, .help = help, .unit = Unit::kTokens, .fallback = "0", .low = 0, .high = kMaxTokens};
}
constexpr std::array kParams{
    Param{.name = "score",
          .help = "Score of a token: an expression of accumulated, last, windowed, age, position, tokens, "
                  "prompt, layer, head, key_norm, value_norm, in quotes if it has commas. Tokens with the "
                  "highest scores are kept",
          .kind = ParamKind::kText,
          .fallback = {}},
    tokens_param("budget", "Tokens kept", 1),
    protected_param("recent", "Newest tokens, never evicted"),
    protected_param("sink", "First tokens of the sequence, never evicted"),
    Param{.name = "window",
          .help = "Number of latest rows that the variable `windowed` sums",
          .unit = Unit::kTokens,
          .fallback = "32",
          .low = 1,
          .high = 65536},
    Param{.name = "scope",
          .help = "Whether each KV head selects its own tokens, or all heads of a layer share one selection",
          .kind = ParamKind::kText,
          .fallback = "head",
          .choices = kScopes},
    kScoreRowsParam,
    kGroupParam,
    kAggParam,
    kPlacementParam};

Status check(const Choice& choice) {
  auto made = ScoreExpression::make(choice.text("score"));
  if (made.ok()) return Done{};
  return bad_input(made.error().to_string()).at_field("expr:score");
}

PolicyTraits traits(const Choice& choice) {
  const ScoreExpression score = expression_of(choice);
  const std::int64_t sums = (score.uses(ScoreVariable::kAccumulated) ? 1 : 0) +
                            (score.uses(ScoreVariable::kWindowed) ? choice.integer("window") : 0);
  const bool by_norms = score.uses(ScoreVariable::kKeyNorm) || score.uses(ScoreVariable::kValueNorm);
  const bool by_rows = score.uses(ScoreVariable::kAccumulated) || score.uses(ScoreVariable::kLast) ||
                       score.uses(ScoreVariable::kWindowed);
  const bool recorded = by_norms || by_rows;
  const bool by_layer = choice.text("scope") == "layer";
  const bool by_place = score.uses(ScoreVariable::kLayer) || (!by_layer && score.uses(ScoreVariable::kHead));
  // The rows of the prompt from which the score is made.
  const std::int64_t latest = score.uses(ScoreVariable::kWindowed) ? choice.integer("window") : 1;
  const std::int64_t prompt_rows = score.uses(ScoreVariable::kAccumulated) ? kAllRows : latest;
  const std::int64_t kept =
      std::max(choice.integer("budget"), choice.integer("recent") + choice.integer("sink"));
  return {.scope = by_layer ? Scope::kLayer : Scope::kKvHead,
          .rows = score_rows_of(choice),
          .prompt_rows = recorded ? prompt_rows : 0,
          .decode_rows = recorded,
          .columns = kColumns,
          .keys = score.uses(ScoreVariable::kKeyNorm),
          .value_norms = score.uses(ScoreVariable::kValueNorm),
          .state_bytes_per_cell = 4 * sums,
          .alike = !recorded && !by_place,
          .budget = kept,
          .count = core::KeptCount{kept}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<Expression>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "expr",
                   .summary =
                       "A user-defined policy: keeps the tokens with the highest value of an expression",
                   .source = "kvplan; expressions by muParser 2.3",
                   .params = kParams},
    .golden_name = "expr",
    .budget = {.param = "budget"},
    .check = check,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::expression
