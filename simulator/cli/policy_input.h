// A token policy as options name it, and what a budget scheme of all layers gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/catalogue.h"
#include "simulator/attention/recording.h"

namespace kvplan::cli {

/// Life cycle: parse_policy_input, read_policy_input with the recording, then policy_at for each layer.
struct PolicyInput {
  attention::PolicyChoice policy;
  std::optional<Choice> budget;
  attention::Grants grants;  ///< by `budget`, once read
};

/// `option`: the one that names the policy. `budget`: text of --budget; empty: none. Errors (field: the option): no
/// such member, wrong parameters.
Result<PolicyInput> parse_policy_input(const std::string& policy, std::string_view option,
                                       const std::string& budget);

/// Reads the files that both name, and grants tokens to a prompt of the recorded sequence. Errors: files that cannot be
/// read, those of the scheme.
Status read_policy_input(PolicyInput& input, const attention::Recording& recording, std::int32_t sequence,
                         std::int64_t prompt);

/// The policy of one layer; without a scheme, or where the recording has no such layer, the one that was named.
/// REQUIRES: read.
Result<attention::PolicyChoice> policy_at(const PolicyInput& input, const attention::Recording& recording,
                                          std::int32_t layer, std::int64_t prompt);

}  // namespace kvplan::cli
