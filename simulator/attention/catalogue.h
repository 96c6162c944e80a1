// All token policies. An explicit list: objects that register themselves vanish from static libraries.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

/// Every member, in the order in which lists show them.
std::span<const PolicyKind* const> policies();
/// Their descriptors, for parsing, `list`, `explain` and forms.
Catalogue policy_descriptors();

/// A policy with a value for each of its parameters.
struct PolicyChoice {
  const PolicyKind* kind;
  Choice choice;
  std::shared_ptr<const RecordedLayers>
      recorded{};                   ///< what its file says, once it was read (PolicyTraits::recorded)
  std::vector<HeadTable> tables{};  ///< what its files say of heads (PolicyTraits::head_tables)
  std::vector<Choice> by_head{};    ///< set where each KV head has a budget of its own (budgeted.h)
};
/// What the policy refuses although its ranges allow it.
Status check_policy(const PolicyChoice& policy);
/// Parses `NAME[:key=value,...]`; errors as parse_component and check_policy.
Result<PolicyChoice> parse_policy(std::string_view text);
/// The member that a choice made from `policy_descriptors()` belongs to.
PolicyChoice policy_of(Choice choice);

}  // namespace kvplan::attention
