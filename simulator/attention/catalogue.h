// The list of all token policies. It is explicit, because linkers drop self-registering objects from static libraries.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "simulator/attention/policy.h"

namespace kvplan::attention {

/// All members, in the order in which lists show them.
std::span<const PolicyKind* const> policies();
namespace full {
extern const PolicyKind kMember;
}
/// The policy that keeps every token, which is the same as no policy.
inline constexpr const PolicyKind& kFull = full::kMember;
/// Their descriptors, for parsing, `list`, `explain` and forms.
Catalogue policy_descriptors();

/// A policy with a value for each of its parameters.
struct PolicyChoice {
  const PolicyKind* kind;
  Choice choice;
  std::shared_ptr<const RecordedLayers>
      recorded{};                   ///< content of its file, once it was read (PolicyTraits::recorded)
  std::vector<HeadTable> tables{};  ///< content of its files about heads (PolicyTraits::head_tables)
  std::vector<Choice> by_head{};    ///< set if each KV head has its own budget (budgeted.h)
};
/// Errors: combinations of parameters that the policy does not accept, although each parameter is in range.
Status check_policy(const PolicyChoice& policy);
/// Parses `NAME[:key=value,...]`; errors as parse_component and check_policy.
Result<PolicyChoice> parse_policy(std::string_view text);
/// The policy of a choice that was made from `policy_descriptors()`.
PolicyChoice policy_of(Choice choice);

}  // namespace kvplan::attention
