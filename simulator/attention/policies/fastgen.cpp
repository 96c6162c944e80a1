// FastGen: when the prompt ends, each KV head selects the cheapest of five rules that keeps enough of the prompt's
// attention, and follows it from then on.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "simulator/attention/kernels.h"
#include "simulator/attention/policy.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"

namespace kvplan::attention::fastgen {
namespace {

constexpr int kScore = 0;  // weights received
constexpr int kNear = 1;   // weights received from near queries; counted in the prompt only

/// Cheapest first; each rule keeps everything that the rule before it keeps, and more.
enum class Rule { kSpecial, kPunctuation, kFrequent, kLocal, kFull };

/// "1;5;9": positions; "none". Errors: no such list.
Result<std::vector<std::int32_t>> positions_of(std::string_view text) {
  std::vector<std::int32_t> out;
  if (text == "none") return out;
  for (std::string_view rest = text;;) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    const auto position = parse_integer(rest.substr(0, end));
    if (!position || *position < 0 || *position >= INT32_MAX)
      return bad_input("expected positions from 0 such as 1;5;9, or \"none\", found \"" + std::string(text) +
                       "\"")
          .at_field("fastgen:punctuation");
    out.push_back(static_cast<std::int32_t>(*position));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  std::sort(out.begin(), out.end());
  return out;
}

class FastGen final : public SetPolicy {
 public:
  explicit FastGen(const LayerInput& input)
      : prompt_(input.place.prompt),
        special_(input.choice.integer("special")),
        punctuation_(positions_of(input.choice.text("punctuation")).value()),
        frequent_(share_of_prompt(input.choice.decimal("frequent"))),
        local_(share_of_prompt(input.choice.decimal("local"))),
        recovery_(input.choice.decimal("recovery")),
        reduce_(aggregate_of(input.choice)),
        rules_(static_cast<std::size_t>(input.place.kv_heads()), Rule::kFull) {}

  void update(std::int32_t /*set*/, Residents& residents, std::span<const HeadRow> heads) override {
    const Weights weights = reduce_(heads);
    accumulate(weights.value, weights.divisor, residents.column(kScore));
    const std::int64_t n = residents.size();
    if (residents.positions().back() >= prompt_) return;
    const auto near = static_cast<std::size_t>(std::max<std::int64_t>(0, n - local_));
    accumulate(weights.value.subspan(near), weights.divisor, residents.column(kNear).subspan(near));
  }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    Rule& rule = rules_[static_cast<std::size_t>(set)];
    if (residents.positions().back() == prompt_ - 1) rule = cheapest(residents);
    if (rule == Rule::kFull) return;
    leave_out(residents, rule, drop);
  }

 private:
  [[nodiscard]] std::int64_t share_of_prompt(double share) const {
    return static_cast<std::int64_t>(share * static_cast<double>(prompt_));
  }
  [[nodiscard]] bool is_kept(std::int32_t position, Rule rule) const {
    if (position < special_) return true;
    return rule >= Rule::kPunctuation && position < prompt_ &&
           std::binary_search(punctuation_.begin(), punctuation_.end(), position);
  }

  /// Appends the indices of the residents that a rule does not keep, ascending.
  void leave_out(const Residents& residents, Rule rule, std::vector<std::int32_t>& drop) {
    const std::int64_t newest = rule >= Rule::kLocal ? local_ : 0;
    const auto positions = residents.positions();
    others_.clear();
    scores_.clear();
    for (std::int32_t i = 0; i < residents.size() - newest; ++i) {
      if (is_kept(positions[static_cast<std::size_t>(i)], rule)) continue;
      others_.push_back(i);
      scores_.push_back(residents.column(kScore)[static_cast<std::size_t>(i)]);
    }
    const auto all = static_cast<std::int64_t>(others_.size());
    const std::int64_t stay = rule >= Rule::kFrequent ? std::min(frequent_, all) : 0;
    chosen_.clear();
    lowest(scores_, static_cast<std::int32_t>(all - stay), chosen_);
    for (const std::int32_t i : chosen_) drop.push_back(others_[static_cast<std::size_t>(i)]);
  }

  /// The first rule with which the prompt's queries would have seen enough of their attention.
  Rule cheapest(const Residents& residents) {
    const auto scores = residents.column(kScore);
    const auto near = residents.column(kNear);
    std::vector<std::int32_t> left_out;
    for (const Rule rule : {Rule::kSpecial, Rule::kPunctuation, Rule::kFrequent, Rule::kLocal}) {
      left_out.clear();
      leave_out(residents, std::min(rule, Rule::kFrequent), left_out);
      double seen = 0;
      std::size_t next = 0;
      for (std::int32_t i = 0; i < residents.size(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        const bool out = next < left_out.size() && left_out[next] == i;
        if (out) ++next;
        if (!out) seen += scores[at];
        if (out && rule == Rule::kLocal) seen += near[at];
      }
      if (seen / static_cast<double>(prompt_) >= recovery_) return rule;
    }
    return Rule::kFull;
  }

  std::int64_t prompt_;
  std::int64_t special_;
  std::vector<std::int32_t> punctuation_;
  std::int64_t frequent_;
  std::int64_t local_;
  double recovery_;
  Reducer reduce_;
  std::vector<Rule> rules_;  ///< [set]
  std::vector<std::int32_t> others_;
  std::vector<double> scores_;
  std::vector<std::int32_t> chosen_;
};

constexpr std::array kParams{
    share_param("recovery", "Share of the prompt's attention that a head's chosen rule must keep", "0.95"),
    Param{.name = "special",
          .help = "First tokens, which count as special tokens; every rule keeps them",
          .unit = Unit::kTokens,
          .fallback = "1",
          .low = 1,
          .high = kMaxTokens},
    Param{.name = "punctuation",
          .help = "Positions of punctuation in the prompt, such as 1;5;9",
          .kind = ParamKind::kText,
          .fallback = "none"},
    share_param("frequent", "Tokens kept for their attention, as a share of the prompt", "0.3"),
    share_param("local", "Newest tokens kept, as a share of the prompt", "0.3"),
    kGroupParam,
    kAggParam,
    kPlacementParam};

Status check(const Choice& choice) {
  auto positions = positions_of(choice.text("punctuation"));
  if (positions.ok()) return Done{};
  return std::move(positions).error();
}

PolicyTraits traits(const Choice& /*choice*/) {
  return {.prompt_rows = kAllRows, .decode_rows = true, .columns = 2, .state_bytes_per_cell = 4};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<FastGen>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "fastgen",
         .summary = "Each head uses the cheapest of five rules that keeps enough of the prompt's attention",
         .source = "arXiv 2310.01801 (paper only; its repository holds no code)",
         .params = kParams,
         .divergences = "The five rules, from the cheapest to the most expensive, keep: special tokens; "
                        "punctuation; tokens with most attention; newest tokens; everything. Each rule also "
                        "keeps the tokens of the rules before it. A recording does not mark special tokens "
                        "and punctuation, so parameters give them. The attention that a rule keeps is "
                        "measured on the recorded rows and averaged over the prompt's queries."},
    .golden_name = "fastgen",
    .check = check,
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::fastgen
