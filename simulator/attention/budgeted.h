// A policy whose budget comes from outside: what a scheme (budget.h) grants a layer, or each KV head of it, takes
// the place of the parameter that says how many tokens stay (PolicyKind::budget).
//
// A scheme counts the tokens of a prompt. A policy that drops while decoding holds that number from then on; so where
// a scheme retains a prompt whole because it is short, the layer goes on with as many tokens as the prompt had. Where
// it leaves a layer alone (Retained::whole) nothing is ever dropped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/budget.h"
#include "simulator/attention/catalogue.h"

namespace kvplan::attention {

/// Tokens of each layer: one number, or one for each KV head.
struct Grants {
  std::vector<std::vector<std::int64_t>> tokens;  ///< empty: there is no budget
  bool by_head{false};
  friend bool operator==(const Grants&, const Grants&) = default;
};

/// Whole numbers of what a scheme retains, rounded down; a layer that is left alone has kMaxTokens.
Grants grants_of(const Retained& retained);

/// `policy` with this budget, for a layer at `place`. Errors (field --budget): the policy takes no number of tokens;
/// it has one set for the layer or distributes by itself, and the budget is by heads; fewer tokens than it protects.
Result<PolicyChoice> with_budget(const PolicyChoice& policy, std::span<const std::int64_t> tokens,
                                 bool by_head, const LayerPlace& place);

/// `policy` as the layer at `place` has it by `grants`; as it is where there are none. An error names the layer.
Result<PolicyChoice> policy_of_layer(const PolicyChoice& policy, const Grants& grants,
                                     const LayerPlace& place);

/// The fewest tokens that `with_budget` accepts, at least 1. REQUIRES: the policy takes a number of tokens.
std::int64_t least_budget(const PolicyChoice& policy);

/// What is known of `policy` when a budget gives its number of tokens; where the number matters, that of the largest,
/// since layers differ. As it is if it takes none.
PolicyTraits traits_with_budget(const PolicyChoice& policy);
/// Its parameters with a budget of so many tokens, of one that has PolicyTraits::count_at.
/// REQUIRES: tokens >= least_budget.
Choice choice_with_budget(const PolicyChoice& policy, std::int64_t tokens, std::int64_t prompt);

/// What lengths say of `policy` with a budget of so many tokens, without making it: what `traits` says of
/// `with_budget`. REQUIRES: traits.count or traits.interval, set as they are of `policy`; tokens >= least_budget.
core::KeptCount count_with_budget(const PolicyChoice& policy, std::int64_t tokens, std::int64_t prompt);
KeptInterval interval_with_budget(const PolicyChoice& policy, std::int64_t tokens);

/// Whether `NAME:key=value,...` gives this parameter.
bool gives_param(std::string_view text, std::string_view param);
/// Whether `text` gives the number of tokens itself.
bool gives_budget(std::string_view text);
/// `text` with the parameters of the budget that it does not give, for so many tokens: of 8, `h2o` becomes
/// `h2o:recent=4,hh=4`. A text that gives them, or a policy without a budget, comes back as it is.
std::string with_budget_params(std::string_view text, std::int64_t tokens);
/// Names of the policies that take a budget, parted by commas.
std::string policies_with_budget();

/// The policy of a layer: made by its kind or, where PolicyChoice::by_head is set, one of these for each KV head.
std::unique_ptr<LayerPolicy> make_policy(const PolicyChoice& policy, const LayerPlace& place,
                                         const StopAsked& stop_asked = {});

}  // namespace kvplan::attention
