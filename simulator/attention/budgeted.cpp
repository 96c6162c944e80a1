#include "simulator/attention/budgeted.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace kvplan::attention {
namespace {

/// KV heads that decide by the same rule with different budgets.
class ByHead final : public SetPolicy {
 public:
  ByHead(std::vector<std::unique_ptr<LayerPolicy>> heads, std::int32_t group)
      : heads_(std::move(heads)), group_(group) {}
  void foresee(std::int32_t set, std::span<const HeadRow> heads) override { of(set).foresee(set, heads); }
  void tensors(const LayerRows& rows) override {
    for (const auto& head : heads_) head->tensors(rows);
  }
  [[nodiscard]] std::span<const std::int32_t> shown(std::int32_t query_head) const override {
    return heads_[static_cast<std::size_t>(query_head / group_)]->shown(query_head);
  }
  void choose(std::int32_t set, const Residents& residents, std::span<const HeadRow> heads,
              std::vector<std::int32_t>& attended) override {
    of(set).choose(set, residents, heads, attended);
  }
  void update(std::int32_t set, Residents& residents, std::span<const HeadRow> heads) override {
    of(set).update(set, residents, heads);
  }
  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    of(set).by_set()->evict_set(set, residents, drop);
  }
  void make_room_in_set(std::int32_t set, const Residents& residents,
                        std::vector<std::int32_t>& drop) override {
    of(set).by_set()->make_room_in_set(set, residents, drop);
  }

 private:
  LayerPolicy& of(std::int32_t set) { return *heads_[static_cast<std::size_t>(set)]; }
  std::vector<std::unique_ptr<LayerPolicy>> heads_;
  std::int32_t group_;
};

Error refused(const std::string& what) {
  return bad_input(what).at_field("--budget");
}

Result<Choice> with_tokens(const PolicyChoice& policy, std::int64_t tokens, std::int64_t prompt) {
  const BudgetParam& budget = policy.kind->budget;
  if (budget.of_prompt && tokens >= prompt) tokens = static_cast<std::int64_t>(kMaxTokens);
  const std::int64_t beside = budget.beside.empty() ? 0 : policy.choice.integer(budget.beside);
  const auto params = policy.choice.descriptor().params;
  auto values = policy.choice.values();
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name != budget.param) continue;
    const auto low = static_cast<std::int64_t>(params[i].low);
    if (tokens - beside < low)
      return refused("expected at least " + std::to_string(low + beside) + " tokens for \"" +
                     std::string(policy.choice.name()) + "\", found " + std::to_string(tokens));
    values[i] = {.text = std::to_string(tokens - beside), .given = true};
  }
  Choice out(&policy.choice.descriptor(), std::move(values));
  const Status fits = policy.kind->check == nullptr ? Status(Done{}) : policy.kind->check(out);
  if (!fits.ok())
    return refused("gives " + std::to_string(tokens) + " tokens, and " + fits.error().to_string());
  return out;
}

/// True if `key=value,...` has this key.
bool gives(std::string_view pairs, std::string_view key) {
  for (;;) {
    const std::size_t end = end_of_pair(pairs);
    const std::string_view pair = pairs.substr(0, end);
    if (pair.substr(0, pair.find('=')) == key) return true;
    if (end == std::string_view::npos) return false;
    pairs.remove_prefix(end + 1);
  }
}

}  // namespace

Grants grants_of(const Retained& retained) {
  Grants out{.tokens = {}, .by_head = retained.by_head};
  for (std::size_t layer = 0; layer < retained.tokens.size(); ++layer) {
    out.tokens.emplace_back();
    for (const double tokens : retained.tokens[layer])
      out.tokens.back().push_back(static_cast<std::int64_t>(
          retained.leaves_alone(layer) ? kMaxTokens : std::clamp(std::floor(tokens), 0.0, kMaxTokens)));
  }
  return out;
}

Result<PolicyChoice> with_budget(const PolicyChoice& policy, std::span<const std::int64_t> tokens,
                                 bool by_head, const LayerPlace& place) {
  const std::string name(policy.choice.name());
  if (const BudgetParam& budget = policy.kind->budget; budget.param.empty())
    return refused("\"" + name + "\" " +
                   (budget.why_none.empty()
                        ? "has no parameter for the number of tokens, which a budget scheme would set"
                        : std::string(budget.why_none) + ", so no budget scheme can set it"));
  PolicyChoice out = policy;
  if (!by_head) {
    KVPLAN_TRY(out.choice, with_tokens(policy, tokens.front(), place.prompt));
    return out;
  }
  if (static_cast<std::int64_t>(tokens.size()) != place.model_kv_heads())
    return refused("expected a budget for each of " + std::to_string(place.model_kv_heads()) +
                   " KV heads, found " + std::to_string(tokens.size()));
  const PolicyTraits traits = policy.kind->traits(policy.choice);
  const bool apart = traits.scope == Scope::kKvHead &&
                     policy.kind->make({.choice = policy.choice, .place = place})->by_set() != nullptr;
  if (!apart)
    return refused("\"" + name + "\" selects tokens per layer: expected one budget per layer, not per head");
  for (std::int32_t head = 0; head < place.kv_heads(); ++head) {
    const std::int64_t own = tokens[static_cast<std::size_t>(place.head_number(head))];
    KVPLAN_TRY(Choice choice, with_tokens(policy, own, place.prompt));
    out.by_head.push_back(std::move(choice));
  }
  return out;
}

Result<PolicyChoice> policy_of_layer(const PolicyChoice& policy, const Grants& grants,
                                     const LayerPlace& place) {
  const auto layer = static_cast<std::size_t>(place.layer);
  if (layer >= grants.tokens.size()) return policy;
  auto out = with_budget(policy, grants.tokens[layer], grants.by_head, place);
  if (out.ok()) return out;
  return bad_input("layer " + std::to_string(layer) + ": " + out.error().message).at_field(out.error().field);
}

std::int64_t least_budget(const PolicyChoice& policy) {
  std::int64_t low = 1;
  auto high = static_cast<std::int64_t>(kMaxTokens);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (with_tokens(policy, middle, INT64_MAX).ok()) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

PolicyTraits traits_with_budget(const PolicyChoice& policy) {
  if (policy.kind->budget.param.empty()) return policy.kind->traits(policy.choice);
  const auto given = with_tokens(policy, static_cast<std::int64_t>(kMaxTokens), INT64_MAX);
  return policy.kind->traits(given.ok() ? given.value() : policy.choice);
}

Choice choice_with_budget(const PolicyChoice& policy, std::int64_t tokens, std::int64_t prompt) {
  return with_tokens(policy, tokens, prompt).value();
}

core::KeptCount count_with_budget(const PolicyChoice& policy, std::int64_t tokens, std::int64_t prompt) {
  core::KeptCount count = *policy.kind->traits(policy.choice).count;
  count.budget =
      policy.kind->budget.of_prompt && tokens >= prompt ? static_cast<std::int64_t>(kMaxTokens) : tokens;
  return count;
}

KeptInterval interval_with_budget(const PolicyChoice& policy, std::int64_t tokens) {
  const KeptInterval keep = *policy.kind->traits(policy.choice).interval;
  return {.sink = keep.sink, .recent = tokens - keep.sink};
}

bool gives_param(std::string_view text, std::string_view param) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && gives(text.substr(colon + 1), param);
}

bool gives_budget(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto all = policies();
  const auto kind = std::find_if(all.begin(), all.end(),
                                 [name](const PolicyKind* each) { return each->descriptor.name == name; });
  return kind != all.end() && colon != std::string_view::npos && !(*kind)->budget.param.empty() &&
         gives(text.substr(colon + 1), (*kind)->budget.param);
}

std::string with_budget_params(std::string_view text, std::int64_t tokens) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto all = policies();
  const auto kind = std::find_if(all.begin(), all.end(),
                                 [name](const PolicyKind* each) { return each->descriptor.name == name; });
  std::string out(text);
  if (kind == all.end() || (*kind)->budget.param.empty()) return out;
  const BudgetParam& budget = (*kind)->budget;
  const std::string_view pairs =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  char separator = pairs.empty() ? ':' : ',';
  if (colon != std::string_view::npos && pairs.empty()) out.pop_back();
  const auto add = [&](std::string_view param, std::int64_t value) {
    if (param.empty() || gives(pairs, param)) return;
    out.append(1, separator).append(param).append("=").append(std::to_string(value));
    separator = ',';
  };
  const std::int64_t beside = budget.beside.empty() ? 0 : std::min(budget.usual_beside, tokens / 2);
  add(budget.beside, beside);
  add(budget.param, tokens - beside);
  return out;
}

std::string policies_with_budget() {
  std::string out;
  for (const PolicyKind* kind : policies())
    if (!kind->budget.param.empty()) out.append(out.empty() ? "" : ", ").append(kind->descriptor.name);
  return out;
}

std::unique_ptr<LayerPolicy> make_policy(const PolicyChoice& policy, const LayerPlace& place,
                                         const StopAsked& stop_asked) {
  const auto made = [&](const Choice& choice) {
    return policy.kind->make({.choice = choice,
                              .place = place,
                              .recorded = policy.recorded.get(),
                              .tables = policy.tables,
                              .stop_asked = stop_asked});
  };
  if (policy.by_head.empty()) return made(policy.choice);
  std::vector<std::unique_ptr<LayerPolicy>> heads;
  for (const Choice& choice : policy.by_head) heads.push_back(made(choice));
  KVPLAN_CHECK(static_cast<std::int64_t>(heads.size()) == place.kv_heads(), std::ssize(heads));
  return std::make_unique<ByHead>(std::move(heads), place.group);
}

}  // namespace kvplan::attention
