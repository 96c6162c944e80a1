// Scissorhands: a row marks the tokens with more than an even share of it; when the budget is exceeded, the tokens
// with the fewest marks in the latest rows are dropped, several at a time.
#include <algorithm>
#include <deque>
#include <memory>

#include "simulator/attention/kept_counts.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::scissorhands {
namespace {

constexpr int kMarks = 0;

/// Number of kept tokens of `tokens`, when a step ends.
std::int64_t kept_of(std::int64_t tokens, std::int64_t budget, std::int64_t recent, std::int64_t drop) {
  if (tokens <= budget || tokens <= recent) return tokens;
  const std::int64_t rounds = (tokens - budget + drop - 1) / drop;
  return tokens - std::min(tokens - recent, rounds * drop);
}

class Scissorhands final : public SetPolicy {
 public:
  Scissorhands(const LayerPlace& place, const Choice& choice, std::int64_t drop)
      : budget_(choice.integer("budget")),
        recent_(choice.integer("recent")),
        history_(static_cast<std::size_t>(choice.integer("history"))),
        drop_(drop),
        reduce_(aggregate_of(choice)),
        marked_(static_cast<std::size_t>(place.kv_heads())) {}

  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    auto& rows = marked_[static_cast<std::size_t>(set)];
    if (rows.size() == history_) {
      forget(residents, rows.front());
      rows.pop_front();
    }
    rows.emplace_back();
    const auto marks = residents.column(kMarks);
    const double even = 1.0 / static_cast<double>(residents.size());
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (weights.value[i] / weights.divisor <= even) continue;
      marks[i] += 1;
      rows.back().push_back(residents.positions()[i]);
    }
  }

  void evict_set(std::int32_t /*set*/, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t goes = residents.size() - kept_of(residents.size(), budget_, recent_, drop_);
    if (goes == 0) return;
    const std::int64_t may = residents.size() - recent_;
    lowest(residents.column(kMarks).first(static_cast<std::size_t>(may)), static_cast<std::int32_t>(goes),
           drop);
  }

 private:
  /// Removes the marks of a row from the tokens that are still resident.
  static void forget(Residents& residents, const std::vector<std::int32_t>& marked) {
    const auto positions = residents.positions();
    const auto marks = residents.column(kMarks);
    std::size_t i = 0;
    for (const std::int32_t p : marked) {
      while (i < positions.size() && positions[i] < p) ++i;
      if (i < positions.size() && positions[i] == p) marks[i] -= 1;
    }
  }

  std::int64_t budget_;
  std::int64_t recent_;
  std::size_t history_;
  std::int64_t drop_;
  Reducer reduce_;
  std::vector<std::deque<std::vector<std::int32_t>>> marked_;  ///< [set][row] positions, oldest row first
};

constexpr std::array kParams{
    tokens_param("budget", "Maximum number of tokens kept", 1),
    Param{.name = "recent",
          .help = "Newest tokens, never evicted",
          .unit = Unit::kTokens,
          .fallback = "10",
          .low = 0,
          .high = kMaxTokens},
    Param{.name = "history",
          .help = "Number of latest rows that vote",
          .unit = Unit::kTokens,
          .fallback = "400",
          .low = 1,
          .high = kMaxTokens},
    Param{.name = "drop",
          .help = "Tokens evicted at a time; 0 means half of the budget, as in the paper",
          .unit = Unit::kTokens,
          .fallback = "0",
          .low = 0,
          .high = kMaxTokens},
    kGroupParam,
    kAggParam,
    kPlacementParam};

std::int64_t drop_of(const Choice& choice) {
  const std::int64_t given = choice.integer("drop");
  return given > 0 ? given : std::max<std::int64_t>(1, choice.integer("budget") / 2);
}

core::KeptCount count_at(const Choice& choice, std::int64_t prompt, std::int64_t tokens) {
  const std::int64_t budget = choice.integer("budget");
  const std::int64_t recent = choice.integer("recent");
  const std::int64_t drop = drop_of(choice);
  return count_in_rounds(prompt, tokens, std::max(budget, recent),
                         [&](std::int64_t n) { return kept_of(n, budget, recent, drop); });
}
PolicyTraits traits(const Choice& choice) {
  const std::int64_t history = choice.integer("history");
  PolicyTraits out{.prompt_rows = history,
                   .decode_rows = true,
                   .columns = 1,
                   .state_bytes_per_cell = (history + 7) / 8};  // a bit for each row
  if (drop_of(choice) > 1) {
    out.count_at = count_at;
    return out;
  }
  out.count = core::KeptCount{choice.integer("budget")};
  if (choice.integer("recent") <= choice.integer("budget")) out.budget = choice.integer("budget");
  return out;
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<Scissorhands>(input.place, input.choice, drop_of(input.choice));
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "scissorhands",
         .summary = "A row votes for the tokens with more than an even share of its weight. Evicts several "
                    "tokens at a time: those with the fewest votes in the latest rows",
         .source = "arXiv 2305.17118 (paper only)",
         .params = kParams,
         .divergences =
             "The printed Algorithm 2 contradicts itself; kvplan reads it so that important and recent "
             "tokens stay. The paper gives later layers larger budgets; kvplan gives every layer the same."},
    .golden_name = "scissorhands",
    .budget = {.param = "budget"},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::scissorhands
