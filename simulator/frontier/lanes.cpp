#include "simulator/frontier/lanes.h"

#include <algorithm>
#include <utility>

#include "simulator/attention/budgeted.h"

namespace kvplan::frontier {
namespace {

std::string_view name_of(std::string_view text) {
  return text.substr(0, text.find(':'));
}

Result<attention::PolicyChoice> parsed(const std::string& text) {
  auto policy = attention::parse_policy(text);
  if (!policy.ok()) return bad_input(policy.error().to_string()).at_field("--policies");
  return policy;
}

Result<Lane> lane_of(const std::string& text, std::int64_t budget) {
  if (attention::gives_budget(text))
    return bad_input("\"" + text +
                     "\" sets the number of tokens, which --budgets sets too: leave one of them out")
        .at_field("--policies");
  KVPLAN_TRY(attention::PolicyChoice policy, parsed(attention::with_budget_params(text, budget)));
  // The prompt is longer than any budget, so that the parameters become those of the budget.
  auto given =
      attention::with_budget(policy, std::span(&budget, 1), false, {.prompt = std::int64_t{1} << 40});
  if (!given.ok()) return bad_input(given.error().message).at_field("--budgets");
  return Lane{.policy = std::move(given).value(), .budget = budget, .text = text};
}

bool takes_budget(std::string_view name) {
  return std::any_of(attention::policies().begin(), attention::policies().end(), [name](const auto* kind) {
    return kind->descriptor.name == name && !kind->budget.param.empty();
  });
}

constexpr std::string_view kCapacity = attention::kBudgetCapacity.name;

bool takes_capacity(std::string_view scheme) {
  const Catalogue all = attention::budget_descriptors();
  return std::any_of(all.begin(), all.end(), [scheme](const Descriptor* d) {
    return d->name == scheme && std::any_of(d->params.begin(), d->params.end(),
                                            [](const Param& param) { return param.name == kCapacity; });
  });
}

}  // namespace

Result<std::vector<std::string>> split_components(std::string_view text) {
  std::vector<std::string> out{""};
  bool quoted = false;
  int depth = 0;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '(' || c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ')' || c == ']' || c == '}')) --depth;
    if (c == ';' && !quoted && depth <= 0) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  for (std::string& each : out) {
    const std::size_t begin = each.find_first_not_of(' ');
    if (begin == std::string::npos) return bad_input("expected NAME[:key=value,...], found nothing");
    each = each.substr(begin, each.find_last_not_of(' ') - begin + 1);
  }
  for (auto each = out.begin(); each != out.end(); ++each)
    if (std::find(out.begin(), each, *each) != each) return bad_input(*each + " is given twice");
  return out;
}

Result<std::vector<Scheme>> schemes_of(std::string_view text, std::span<const std::int64_t> budgets) {
  const auto parsed = [](const std::string& scheme) -> Result<Choice> {
    auto choice = parse_component(scheme, attention::kBudgetFamily, attention::budget_descriptors());
    if (!choice.ok()) return bad_input(choice.error().to_string()).at_field("--budget");
    return choice;
  };
  auto texts = split_components(text);
  if (!texts.ok()) return std::move(texts).error().at_field("--budget");
  std::vector<Scheme> out;
  for (std::string& scheme : texts.value()) {
    if (budgets.empty() || !takes_capacity(name_of(scheme)) || attention::gives_param(scheme, kCapacity)) {
      KVPLAN_TRY(Choice choice, parsed(scheme));
      out.push_back({.choice = std::move(choice), .budget = {}, .text = std::move(scheme)});
      continue;
    }
    const std::string given =
        scheme + (scheme.find(':') == std::string::npos ? ':' : ',') + std::string(kCapacity) + "=";
    for (const std::int64_t budget : budgets) {
      KVPLAN_TRY(Choice choice, parsed(given + std::to_string(budget)));
      out.push_back({.choice = std::move(choice), .budget = budget, .text = scheme});
    }
  }
  return out;
}

Result<attention::PolicyChoice> policy_of_layer(const Lane& lane, const attention::Grants& grants,
                                                const attention::LayerPlace& place) {
  const auto& tokens = grants.tokens[static_cast<std::size_t>(place.layer)];
  attention::PolicyChoice policy = lane.policy;
  const std::int64_t fewest = *std::min_element(tokens.begin(), tokens.end());
  KVPLAN_TRY(attention::PolicyChoice own, parsed(attention::with_budget_params(lane.text, fewest)));
  policy.choice = std::move(own.choice);
  return attention::policy_of_layer(policy, grants, place);
}

Result<std::vector<Lane>> lanes_of(std::string_view policies, std::span<const std::int64_t> budgets,
                                   std::span<const Scheme> schemes) {
  auto texts = split_components(policies);
  if (!texts.ok()) return std::move(texts).error().at_field("--policies");
  std::vector<Lane> out;
  for (const std::string& text : texts.value()) {
    const std::string_view name = name_of(text);
    if (takes_budget(name)) {
      for (const std::int64_t budget : budgets) {
        KVPLAN_TRY(Lane lane, lane_of(text, budget));
        out.push_back(std::move(lane));
      }
      for (const Scheme& scheme : schemes) {
        constexpr std::int64_t kMany = std::int64_t{1} << 20;  // more tokens than any prompt has
        const bool capacity = takes_capacity(scheme.choice.name());
        KVPLAN_TRY(Lane lane, lane_of(text, capacity ? scheme.choice.integer(kCapacity) : kMany));
        lane.budget = scheme.budget;
        lane.scheme = scheme;
        out.push_back(std::move(lane));
      }
      continue;
    }
    KVPLAN_TRY(attention::PolicyChoice policy, parsed(text));
    if (policy.kind != &attention::kFull && text.find(':') == std::string::npos)
      return bad_input(
                 "\"" + std::string(name) +
                 "\" takes no budget: give its parameters to run it once; policies that take a budget: " +
                 attention::policies_with_budget())
          .at_field("--policies");
    out.push_back({.policy = std::move(policy), .budget = {}, .text = text});
  }
  return out;
}

Result<std::vector<Storage>> storages_of(std::string_view formats, std::string_view option) {
  auto texts = split_components(formats);
  if (!texts.ok()) return std::move(texts).error().at_field(option);
  std::vector<Storage> out;
  for (std::string& text : texts.value()) {
    auto format = formats::parse_format(text);
    if (!format.ok()) return bad_input(format.error().to_string()).at_field(option);
    Storage storage{.format = std::move(format).value(), .text = std::move(text)};
    if (storage.format->kind == &formats::kFullFormat) storage.format.reset();
    out.push_back(std::move(storage));
  }
  return out;
}

}  // namespace kvplan::frontier
