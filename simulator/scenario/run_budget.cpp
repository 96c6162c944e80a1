#include "simulator/scenario/run_budget.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kvplan::runs {
namespace {

const Descriptor kNone{
    .family = attention::kBudgetFamily,
    .name = "none",
    .summary = "The default in a scenario: the policy's own number of tokens, the same in every layer",
    .source = "kvplan",
    .params = {}};

/// The fewest tokens that a layer can have: the least budget of the policy, including what it always protects. A
/// positional policy also keeps the newest token if its cells stay in place.
std::int64_t least_tokens(const attention::PolicyChoice& policy) {
  const bool compact = policy.choice.text(attention::kPlacementParam.name) == "compact";
  const auto fits = [&](std::int64_t tokens) {
    const auto given = attention::with_budget(policy, std::array{tokens}, false, {.prompt = INT64_MAX});
    if (!given.ok()) return false;
    const attention::PolicyTraits traits = policy.kind->traits(given.value().choice);
    if (traits.interval) return compact || traits.interval->recent > 0;
    return !traits.count || traits.count->once || traits.budget == tokens;
  };
  std::int64_t low = attention::least_budget(policy);
  auto high = static_cast<std::int64_t>(attention::kMaxTokens);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (fits(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// Errors in the scheme's parameters are put at "budget: NAME", errors that name options of commands at "budget".
Error in_budget(const Error& error) {
  const bool own = !error.field.empty() && error.field.find("--") == std::string::npos;
  return bad_input(error.message).at_field(own ? "budget: " + error.field : std::string("budget"));
}

}  // namespace

Catalogue run_budgets() {
  static const std::vector<const Descriptor*> kAll = [] {
    std::vector<const Descriptor*> all{&kNone};
    const Catalogue schemes = attention::budget_descriptors();
    all.insert(all.end(), schemes.begin(), schemes.end());
    return all;
  }();
  return kAll;
}

bool is_budget(const Choice& choice) {
  return &choice.descriptor() != &kNone;
}

Result<RunBudget> RunBudget::make(const Choice& choice, const attention::PolicyChoice& policy,
                                  const model::ModelShape& model, const ScoresOpener& open) {
  constexpr std::int64_t kExample = 4096;  // tokens: a fault shows at any prompt length
  RunBudget out(choice, model.layers, least_tokens(policy));
  if (out.measured()) return out;
  if (attention::budget_of(choice).takes_scores) {
    if (!open) return bad_input("scores of heads cannot be read here").at_field("budget");
    auto scores = open(choice.text("scores"));
    if (!scores.ok())
      return in_budget(
          bad_input(scores.error().to_string()).at_field(std::string(choice.name()) + ":scores"));
    out.scores_ = std::move(scores).value();
  }
  KVPLAN_TRY(const attention::Grants grants, out.grants(kExample));
  out.by_head_ = grants.by_head;
  const auto heads = static_cast<std::int32_t>(model.kv_heads);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const auto of_layer = attention::policy_of_layer(policy, grants,
                                                     {.layer = static_cast<std::int32_t>(layer),
                                                      .layers = static_cast<std::int32_t>(model.layers),
                                                      .query_heads = heads,
                                                      .prompt = kExample});
    if (!of_layer.ok()) return in_budget(of_layer.error());
  }
  return out;
}

Result<attention::HeadTable> RunBudget::measure(const attention::Recording& recording, std::int32_t sequence,
                                                std::int64_t prompt) const {
  auto measured = attention::budget_of(choice_).measure(recording, sequence, prompt);
  if (!measured.ok()) return in_budget(measured.error());
  return measured;
}

Result<attention::Grants> RunBudget::grants(std::int64_t prompt, const attention::HeadTable& measured) const {
  const auto retained =
      attention::budget_of(choice_).retained({.choice = choice_,
                                              .layers = layers_,
                                              .prompt = prompt,
                                              .scores = this->measured() ? measured : scores_});
  if (!retained.ok()) return in_budget(retained.error());
  attention::Grants out = attention::grants_of(retained.value());
  for (auto& layer : out.tokens)
    for (std::int64_t& tokens : layer) tokens = std::max(tokens, least_);
  return out;
}

}  // namespace kvplan::runs
