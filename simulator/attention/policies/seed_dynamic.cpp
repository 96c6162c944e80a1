// A budget that changes while tokens are generated: with the attention that is still seen, with the phase, or with the
// length. What goes is what was least important, as in the other policies of the founding notes.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "simulator/attention/importance.h"
#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention {
namespace {

constexpr std::array<std::string_view, 3> kCauses{"mass", "phase", "length"};

class SeedDynamic final : public SetPolicy {
 public:
  explicit SeedDynamic(const LayerInput& input)
      : choice_(input.choice),
        prompt_(input.place.prompt),
        by_mass_(input.choice.text("by") == "mass"),
        by_phase_(input.choice.text("by") == "phase"),
        least_(input.choice.integer("least")),
        most_(input.choice.integer("most")),
        importance_(input.choice),
        reduce_(aggregate_of(input.choice)),
        sets_(static_cast<std::size_t>(input.place.stored_heads())) {
    for (State& each : sets_) each.budget = input.choice.integer("budget");
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
    const std::int64_t excess = residents.size() - budget(set, residents.positions().back());
    const Candidates may = unprotected(residents, choice_.integer("sink"), choice_.integer("recent"));
    const std::int64_t count = std::min<std::int64_t>(excess, may.end - may.begin);
    if (count <= 0) return;
    lowest(importance_.of(residents, may.begin, may.end), static_cast<std::int32_t>(count), drop);
    for (std::int32_t& index : drop) index += may.begin;
  }

 private:
  struct State {
    std::int64_t budget{0};
    std::int64_t steps{0};  ///< of decoding
    double mean{0};         ///< of the attention seen, in which older steps fade
  };

  void seen(State& state, double mass) const {
    state.mean = state.steps == 0 ? mass : 0.9 * state.mean + 0.1 * mass;
    ++state.steps;
    if (!by_mass_ || state.steps % choice_.integer("every") != 0) return;
    const auto now = static_cast<double>(state.budget);
    if (state.mean < choice_.decimal("low"))
      state.budget = std::min(most_, static_cast<std::int64_t>(std::ceil(1.25 * now)));
    else if (state.mean > choice_.decimal("high"))
      state.budget = std::max(least_, static_cast<std::int64_t>(std::floor(0.9 * now)));
  }

  [[nodiscard]] std::int64_t budget(std::int32_t set, std::int64_t newest) const {
    const State& state = sets_[static_cast<std::size_t>(set)];
    if (by_mass_) return state.budget;
    if (by_phase_) return newest < prompt_ ? state.budget : choice_.integer("later");
    const double share = choice_.decimal("share") * static_cast<double>(newest + 1);
    return std::clamp(static_cast<std::int64_t>(std::floor(share)), least_, most_);
  }

  Choice choice_;
  std::int64_t prompt_;
  bool by_mass_;
  bool by_phase_;
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
constexpr std::array kParams{
    tokens_param("budget", "Tokens kept at first", 1),
    Param{.name = "by",
          .help = "The budget follows the attention seen (mass), the phase, or the length of the sequence",
          .kind = ParamKind::kText,
          .fallback = "mass",
          .choices = kCauses},
    tokens_with("least", "The budget does not fall below", "1"),
    tokens_with("most", "The budget does not rise above", "1073741824"),
    share_param("low", "By mass: below this share of attention the budget grows by a quarter", "0.8"),
    share_param("high", "By mass: above this share of attention the budget shrinks by a tenth", "0.95"),
    tokens_with("every", "By mass: generated tokens between two looks", "64"),
    tokens_with("later", "By phase: tokens kept once the first token was generated", "1024"),
    share_param("share", "By length: share of all tokens so far that is kept", "0.5"),
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
  if (choice.decimal("low") <= choice.decimal("high")) return Done{};
  return bad_input("expected at most " + choice.text("high") + ", found " + choice.text("low"))
      .at_field("seed-dynamic:low");
}

PolicyTraits traits(const Choice& choice) {
  const Importance importance(choice);
  return {.rows = RowUse::kRaw,
          .prompt_rows = kAllRows,
          .decode_rows = true,
          .columns = importance.columns(),
          .state_bytes_per_cell = importance.state_bytes()};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<SeedDynamic>(input);
}

}  // namespace

extern const PolicyKind kSeedDynamic;
const PolicyKind kSeedDynamic{
    .descriptor =
        {.family = kFamily,
         .name = "seed-dynamic",
         .summary = "A budget that follows the attention seen, the phase or the length",
         .source =
             "kvplan's founding notes on KV caches, section 6 (dynamic adjustment); the rules are kvplan's",
         .params = kParams,
         .divergences = "The attention seen is a share of the full row, which a cache that dropped tokens "
                        "cannot know: what "
                        "this shows is a bound on such control. Growth brings no token back."},
    .golden_name = "seed_dynamic",
    .check = check,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention
