// A token policy given by options, together with the tokens that a budget scheme grants to each layer.
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
  attention::Grants grants;  ///< granted by `budget`, once files are read
};

/// `option`: the option that names the policy. `budget`: text of --budget; empty: none. Errors (field: the option):
/// unknown name, wrong parameters.
Result<PolicyInput> parse_policy_input(const std::string& policy, std::string_view option,
                                       const std::string& budget);

/// Reads the files that policy and scheme name, and computes grants for a prompt of the recorded sequence. Errors:
/// files that cannot be read, those of the scheme.
Status read_policy_input(PolicyInput& input, const attention::Recording& recording, std::int32_t sequence,
                         std::int64_t prompt);

/// The policy of one layer. If there is no scheme, or the recording lacks the layer, it is the named policy. REQUIRES:
/// read_policy_input was called.
Result<attention::PolicyChoice> policy_at(const PolicyInput& input, const attention::Recording& recording,
                                          std::int32_t layer, std::int64_t prompt);

}  // namespace kvplan::cli
