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
    return bad_input("\"" + text + "\" gives the number of tokens that --budgets gives: leave one out")
        .at_field("--policies");
  KVPLAN_TRY(attention::PolicyChoice policy, parsed(attention::with_budget_params(text, budget)));
  // A prompt longer than any budget, so that the parameters are those of the budget.
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

Result<std::vector<Lane>> lanes_of(std::string_view policies, std::span<const std::int64_t> budgets) {
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
      continue;
    }
    KVPLAN_TRY(attention::PolicyChoice policy, parsed(text));
    if (name != "full" && text.find(':') == std::string::npos)
      return bad_input(
                 "\"" + std::string(name) +
                 "\" takes no budget: give its parameters, and it runs as it is; those that take one: " +
                 attention::policies_with_budget())
          .at_field("--policies");
    out.push_back({.policy = std::move(policy), .budget = {}, .text = text});
  }
  return out;
}

Result<std::vector<Storage>> storages_of(std::string_view formats) {
  auto texts = split_components(formats);
  if (!texts.ok()) return std::move(texts).error().at_field("--formats");
  std::vector<Storage> out;
  for (std::string& text : texts.value()) {
    auto format = formats::parse_format(text);
    if (!format.ok()) return bad_input(format.error().to_string()).at_field("--formats");
    Storage storage{.format = std::move(format).value(), .text = std::move(text)};
    if (storage.golden_name() == "full") storage.format.reset();
    out.push_back(std::move(storage));
  }
  return out;
}

}  // namespace kvplan::frontier
