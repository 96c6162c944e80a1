// A policy with a budget from a scheme (budget.h): the number of tokens that the scheme grants a layer, or each of its
// KV heads, replaces the policy's own parameter for the number of kept tokens (PolicyKind::budget).
//
// A scheme counts tokens of a prompt. A policy that drops tokens while decoding uses the same number from then on. So
// if a scheme keeps a short prompt whole, the layer keeps as many tokens as the prompt had. If it leaves a layer
// unlimited (Retained::whole), nothing is ever dropped there.
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

/// Granted tokens of each layer: one number, or one for each KV head.
struct Grants {
  std::vector<std::vector<std::int64_t>> tokens;  ///< empty: there is no budget
  bool by_head{false};
  friend bool operator==(const Grants&, const Grants&) = default;
};

/// Rounds down the scheme's numbers; a layer without a limit gets kMaxTokens.
Grants grants_of(const Retained& retained);

/// `policy` with this budget, for a layer at `place`. Errors (field --budget): the policy has no number of tokens; the
/// budget is by heads, but the policy has one set for the whole layer or distributes tokens to heads itself; fewer
/// tokens than the policy protects.
Result<PolicyChoice> with_budget(const PolicyChoice& policy, std::span<const std::int64_t> tokens,
                                 bool by_head, const LayerPlace& place);

/// `policy` for the layer at `place` with its share of `grants`; unchanged if there are none. Errors name the layer.
Result<PolicyChoice> policy_of_layer(const PolicyChoice& policy, const Grants& grants,
                                     const LayerPlace& place);

/// The fewest tokens that `with_budget` accepts, at least 1. REQUIRES: the policy takes a number of tokens.
std::int64_t least_budget(const PolicyChoice& policy);

/// Traits of `policy` when a budget gives its number of tokens. Traits that depend on the number are those of the
/// largest budget, since layers differ. Unchanged if the policy takes no budget.
PolicyTraits traits_with_budget(const PolicyChoice& policy);
/// The policy's parameters with a budget of `tokens`, for a policy with PolicyTraits::count_at. REQUIRES: tokens >=
/// least_budget.
Choice choice_with_budget(const PolicyChoice& policy, std::int64_t tokens, std::int64_t prompt);

/// Kept tokens by length with a budget of `tokens`: the same as in the traits of `with_budget`, without making that
/// policy. REQUIRES: `policy` has traits.count or traits.interval; tokens >= least_budget.
core::KeptCount count_with_budget(const PolicyChoice& policy, std::int64_t tokens, std::int64_t prompt);
KeptInterval interval_with_budget(const PolicyChoice& policy, std::int64_t tokens);

/// True: `NAME:key=value,...` gives this parameter.
bool gives_param(std::string_view text, std::string_view param);
/// True: `text` itself gives the number of tokens.
bool gives_budget(std::string_view text);
/// `text` with the policy's budget parameters added for `tokens` tokens: with 8, `h2o` becomes `h2o:recent=4,hh=4`. A
/// text that already has them, or a policy without a budget, is returned unchanged.
std::string with_budget_params(std::string_view text, std::int64_t tokens);
/// Names of the policies that take a budget, separated by commas.
std::string policies_with_budget();

/// Makes the policy of a layer; with PolicyChoice::by_head, one policy for each KV head behind one interface.
std::unique_ptr<LayerPolicy> make_policy(const PolicyChoice& policy, const LayerPlace& place,
                                         const StopAsked& stop_asked = {});

}  // namespace kvplan::attention
