#include "simulator/cli/policy_input.h"

#include <utility>

#include "simulator/attention/replay.h"
#include "simulator/io/budget_files.h"
#include "simulator/io/policy_files.h"

namespace kvplan::cli {

Result<PolicyInput> parse_policy_input(const std::string& policy, std::string_view option,
                                       const std::string& budget) {
  PolicyInput out;
  auto parsed = attention::parse_policy(policy);
  if (!parsed.ok()) return bad_input(parsed.error().to_string()).at_field(option);
  out.policy = std::move(parsed).value();
  if (budget.empty()) return out;
  auto scheme = parse_component(budget, attention::kBudgetFamily, attention::budget_descriptors());
  if (!scheme.ok()) return bad_input(scheme.error().to_string()).at_field("--budget");
  out.budget = std::move(scheme).value();
  return out;
}

Status read_policy_input(PolicyInput& input, const attention::Recording& recording, std::int32_t sequence,
                         std::int64_t prompt) {
  KVPLAN_TRY_DO(io::read_policy_files(input.policy));
  if (!input.budget) return Done{};
  KVPLAN_TRY(const auto retained,
             io::retained_of(*input.budget, recording.info().layers, prompt, {&recording, sequence}));
  input.grants = attention::grants_of(retained);
  return Done{};
}

Result<attention::PolicyChoice> policy_at(const PolicyInput& input, const attention::Recording& recording,
                                          std::int32_t layer, std::int64_t prompt) {
  const attention::RecordingInfo& info = recording.info();
  if (!input.budget || layer >= info.layers || !info.has_layer(layer)) return input.policy;
  KVPLAN_TRY(const std::int32_t group, attention::group_of(input.policy, info.layer(layer)));
  return attention::policy_of_layer(input.policy, input.grants,
                                    attention::place_of(info, layer, group, prompt));
}

}  // namespace kvplan::cli
