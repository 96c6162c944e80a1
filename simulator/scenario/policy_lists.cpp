#include "simulator/scenario/policy_lists.h"

#include <algorithm>
#include <cstdint>

#include "simulator/attention/catalogue.h"

namespace kvplan::runs {
namespace {

using Holds = bool (*)(const attention::PolicyChoice&);

/// A value of a parameter that has no default, as a user could write it.
std::string example_of(const Param& param) {
  constexpr double kTokens = 64;
  if (param.kind == ParamKind::kText) return param.choices.empty() ? "1" : std::string(param.choices.front());
  return std::to_string(static_cast<std::int64_t>(std::clamp(kTokens, param.low, param.high)));
}

bool runs(const attention::PolicyChoice& policy) {
  const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
  return policy.kind != &attention::kFull && !traits.keeps_everything() && !traits.recorded;
}

bool is_counted(const attention::PolicyChoice& policy) {
  const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
  return policy.kind->layer_counts != nullptr || traits.count_at != nullptr || traits.count ||
         traits.head_tables;
}

bool needs_none(const attention::PolicyChoice& policy) {
  return !policy.kind->traits(policy.choice).needs_recording();
}

/// The form of the policy for which `holds` is true, without parameters that must be given: with a parameter if that
/// makes the difference. Empty: there is no such form.
std::string written(const Descriptor& descriptor, Holds holds) {
  std::string example(descriptor.name);
  char separator = ':';
  for (const Param& param : descriptor.params) {
    if (!param.fallback.empty()) continue;
    example.append(1, separator).append(param.name).append("=").append(example_of(param));
    separator = ',';
  }
  const auto parsed = [](const std::string& text) { return attention::parse_policy(text); };
  const auto found = [&](const auto& policy) {
    return policy.ok() && runs(policy.value()) && holds(policy.value());
  };
  const bool as_it_is = found(parsed(example));
  for (const Param& param : descriptor.params) {
    const std::string with = std::string(descriptor.name) + " with " + std::string(param.name) + "=";
    const auto written_with = [&](std::string_view value) {
      return parsed(example + separator + std::string(param.name) + "=" + std::string(value));
    };
    for (const std::string_view choice : param.choices)
      if (!as_it_is && found(written_with(choice))) return with + std::string(choice);
    if (param.fallback.empty() || param.kind != ParamKind::kInteger ||
        param.name == attention::kGroupParam.name)
      continue;
    const auto one = written_with("1");
    if (!as_it_is && found(one)) return with + "1";
    if (as_it_is && one.ok() && !found(one)) return with + std::string(param.fallback);
  }
  return as_it_is ? std::string(descriptor.name) : std::string();
}

std::string list_of(Holds holds) {
  std::string out;
  for (const Descriptor* descriptor : attention::policy_descriptors()) {
    const std::string policy = written(*descriptor, holds);
    if (!policy.empty()) out += (out.empty() ? "" : ", ") + policy;
  }
  return out;
}

}  // namespace

const std::string& counted_policies() {
  static const std::string kAll = list_of(is_counted);
  return kAll;
}

const std::string& policies_without_recordings() {
  static const std::string kAll = list_of(needs_none);
  return kAll;
}

}  // namespace kvplan::runs
