// A budget, or a threshold of importance, that changes during generation: with the attention that is still seen, with
// the phase, or with the length. The least important tokens are dropped, as in the other policies of kvplan's design
// notes.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulator/attention/importance.h"
#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::seed_dynamic {
namespace {

constexpr std::array<std::string_view, 3> kCauses{"mass", "phase", "length"};
constexpr std::string_view kUsualBudget = "1024";
constexpr std::array<std::string_view, 2> kAdjusted{"budget", "theta"};

// The change at one check. A lower threshold keeps more: it is divided by the factor that multiplies a budget.
constexpr double kMore = 1.25;
constexpr double kLess = 0.9;

/// By length: the budget for this number of tokens.
std::int64_t share_of(const Choice& choice, std::int64_t tokens) {
  const double share = choice.decimal("share") * static_cast<double>(tokens);
  return std::clamp(static_cast<std::int64_t>(std::floor(share)), choice.integer("least"),
                    choice.integer("most"));
}

class SeedDynamic final : public SetPolicy {
 public:
  explicit SeedDynamic(const LayerInput& input)
      : choice_(input.choice),
        prompt_(input.place.prompt),
        by_mass_(input.choice.text("by") == "mass"),
        by_phase_(input.choice.text("by") == "phase"),
        adjusts_theta_(input.choice.text("adjusts") == "theta"),
        least_(input.choice.integer("least")),
        most_(input.choice.integer("most")),
        importance_(input.choice),
        reduce_(aggregate_of(input.choice)),
        sets_(static_cast<std::size_t>(input.place.kv_heads())) {
    for (State& each : sets_) each = {.budget = input.choice.integer("budget"), .theta = first_theta()};
  }

  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    rows_.assign(heads.begin(), heads.end());
    double mass = 0;
    for (HeadRow& row : rows_) {
      const double sum = sum_in_lanes(row.weight);
      mass += sum;
      row.divisor = sum + row.sink > 0 ? sum + row.sink : 1.0;
    }
    importance_.update(residents, reduce_(rows_));
    if (residents.positions().back() >= prompt_)
      seen(sets_[static_cast<std::size_t>(set)], mass / static_cast<double>(heads.size()));
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const State& state = sets_[static_cast<std::size_t>(set)];
    const std::int64_t newest = residents.positions().back();
    const Candidates may = unprotected(residents, choice_.integer("sink"), choice_.integer("recent"));
    std::int64_t count = residents.size() - (adjusts_theta_ ? state.budget : budget(state, newest));
    if (count <= 0 && !adjusts_theta_) return;
    const auto importance = importance_.of(residents, may.begin, may.end);
    if (adjusts_theta_) {
      // The tokens below the threshold are the lowest ones, so one selection serves both.
      const double least = theta(state, newest);
      count = std::max<std::int64_t>(count, std::count_if(importance.begin(), importance.end(),
                                                          [&](double each) { return each < least; }));
    }
    count = std::min<std::int64_t>(count, may.end - may.begin);
    if (count <= 0) return;
    lowest(importance, static_cast<std::int32_t>(count), drop);
    for (std::int32_t& index : drop) index += may.begin;
  }

 private:
  struct State {
    std::int64_t budget{0};
    double theta{0};
    std::int64_t steps{0};  ///< number of decode steps
    double mean{0};         ///< mean of the attention seen, in which older steps fade
  };

  void seen(State& state, double mass) const {
    state.mean = state.steps == 0 ? mass : 0.9 * state.mean + 0.1 * mass;
    ++state.steps;
    if (!by_mass_ || state.steps % choice_.integer("every") != 0) return;
    const bool more = state.mean < choice_.decimal("low");
    if (!more && state.mean <= choice_.decimal("high")) return;
    const double factor = more ? kMore : kLess;
    if (adjusts_theta_) {
      state.theta = within_thetas(state.theta / factor);
      return;
    }
    const double wanted = factor * static_cast<double>(state.budget);
    state.budget = more ? std::min(most_, static_cast<std::int64_t>(std::ceil(wanted)))
                        : std::max(least_, static_cast<std::int64_t>(std::floor(wanted)));
  }

  [[nodiscard]] std::int64_t budget(const State& state, std::int64_t newest) const {
    if (by_mass_) return state.budget;
    if (by_phase_) return newest < prompt_ ? state.budget : choice_.integer("later");
    return share_of(choice_, newest + 1);
  }

  [[nodiscard]] double theta(const State& state, std::int64_t newest) const {
    if (by_mass_) return state.theta;
    if (by_phase_) return newest < prompt_ ? state.theta : choice_.decimal("theta_later");
    return within_thetas(state.theta * static_cast<double>(prompt_) / static_cast<double>(newest + 1));
  }

  /// If mass decides, theta is within its bounds from the start; otherwise the first check could move it the wrong way.
  [[nodiscard]] double first_theta() const {
    const double theta = choice_.decimal("theta");
    return by_mass_ ? within_thetas(theta) : theta;
  }
  [[nodiscard]] double within_thetas(double theta) const {
    return std::clamp(theta, choice_.decimal("theta_least"), choice_.decimal("theta_most"));
  }

  Choice choice_;
  std::int64_t prompt_;
  bool by_mass_;
  bool by_phase_;
  bool adjusts_theta_;
  std::int64_t least_;
  std::int64_t most_;
  Importance importance_;
  Reducer reduce_;
  std::vector<State> sets_;
  std::vector<HeadRow> rows_;
};

constexpr Param tokens_with(std::string_view name, std::string_view help, std::string_view fallback) {
  return {
      .name = name, .help = help, .unit = Unit::kTokens, .fallback = fallback, .low = 1, .high = kMaxTokens};
}
/// This parameter was added later; texts from before it stay valid and unchanged.
constexpr Param theta_param(std::string_view name, std::string_view help, std::string_view fallback) {
  Param out = share_param(name, help, fallback);
  out.default_unsaid = true;
  return out;
}
constexpr std::array kParams{
    Param{.name = "budget",
          .help = "Tokens kept at the start; if theta is adjusted, this is the upper limit at all times",
          .unit = Unit::kTokens,
          .fallback = kUsualBudget,
          .low = 1,
          .high = kMaxTokens},
    Param{.name = "by",
          .help = "What controls the adjustment: the attention mass that is kept (mass), prompt or decoding "
                  "(phase), or the sequence length (length)",
          .kind = ParamKind::kText,
          .fallback = "mass",
          .choices = kCauses},
    Param{
        .name = "adjusts",
        .help =
            "What is adjusted: the budget, or theta, which is the importance below which tokens are evicted",
        .kind = ParamKind::kText,
        .fallback = "budget",
        .choices = kAdjusted,
        .default_unsaid = true},
    tokens_with("least", "Smallest budget", "1"),
    tokens_with("most", "Largest budget", "1073741824"),
    share_param(
        "low",
        "by=mass: below this share of attention, the budget grows by a quarter, or theta is divided by 1.25",
        "0.8"),
    share_param(
        "high",
        "by=mass: above this share of attention, the budget shrinks by a tenth, or theta is divided by 0.9",
        "0.95"),
    tokens_with("every", "by=mass: generated tokens between two adjustments", "64"),
    tokens_with("later", "by=phase: tokens kept after the first generated token", "1024"),
    share_param("share", "by=length: share of all tokens so far that is kept", "0.5"),
    theta_param("theta",
                "Importance below which tokens are evicted, at the start; with by=length it is multiplied by "
                "prompt / tokens as the sequence grows",
                "0.01"),
    theta_param("theta_least", "Smallest theta with by=mass or by=length", "0"),
    theta_param("theta_most", "Largest theta with by=mass or by=length", "1"),
    theta_param("theta_later", "by=phase: theta after the first generated token", "0.01"),
    kImportanceParam,
    kProtectedRecentParam,
    kProtectedSinkParam,
    kGammaParam,
    kGroupParam,
    kAggParam,
    kPlacementParam};

Status check(const Choice& choice) {
  if (choice.integer("least") > choice.integer("most"))
    return bad_input("expected at most " + choice.text("most") + ", found " + choice.text("least"))
        .at_field("seed-dynamic:least");
  // Complete descriptions contain its default, which has no effect there either.
  if (choice.text("by") == "length" && choice.text("adjusts") == "budget" &&
      choice.text("budget") != kUsualBudget)
    return bad_input(
               "expected \"none\" with by=length, which keeps a share of all tokens so far, between least "
               "and most; found " +
               choice.text("budget"))
        .at_field("seed-dynamic:budget");
  for (const auto& [low, high] : {std::pair{"low", "high"}, {"theta_least", "theta_most"}})
    if (choice.decimal(low) > choice.decimal(high))
      return bad_input("expected at most " + choice.text(high) + ", found " + choice.text(low))
          .at_field(std::string("seed-dynamic:") + low);
  return Done{};
}

/// The number of kept tokens for a budget that follows the phase or the length. It grows by at most one token per step.
core::KeptCount count_at(const Choice& choice, std::int64_t prompt, std::int64_t tokens) {
  const std::int64_t guarded = guarded_of(choice);
  if (choice.text("by") == "length") return {.budget = std::max(share_of(choice, tokens), guarded)};
  const std::int64_t first = std::min(prompt, std::max(choice.integer("budget"), guarded));
  if (tokens == prompt) return {.budget = first};
  return {.budget = std::min(first + tokens - prompt, std::max(choice.integer("later"), guarded))};
}
PolicyTraits traits(const Choice& choice) {
  const Importance importance(choice);
  const bool by_lengths = choice.text("by") != "mass" && choice.text("adjusts") == "budget";
  return {.rows = RowUse::kRaw,
          .prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = importance.columns(),
          .state_bytes_per_cell = importance.state_bytes(),
          .count_at = by_lengths ? count_at : nullptr};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SeedDynamic>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "seed-dynamic",
         .summary =
             "A budget or threshold that adapts to the kept attention mass, the phase or the sequence length",
         .source =
             "kvplan's design notes on KV caches, section 6 (dynamic adjustment); the rules are kvplan's",
         .params = kParams,
         .divergences =
             "The kept attention mass is a share of the full row, which a real cache cannot know after "
             "evicting tokens. The result is therefore an upper bound for such a controller. A growing "
             "budget does not bring evicted tokens back. With by=length, theta stays a constant multiple of "
             "1/n, the weight of each of n equally attended tokens."},
    .golden_name = "seed_dynamic",
    .budget = {.why_none = "changes its number of tokens while it runs"},
    .check = check,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::seed_dynamic
