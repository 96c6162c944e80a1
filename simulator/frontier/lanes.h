// The lanes of a frontier: policies, each with every budget, and the formats in which kept tokens are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/catalogue.h"
#include "simulator/formats/formats.h"

namespace kvplan::frontier {

/// A budget scheme: it grants each layer, or each of its KV heads, a number of tokens of a prompt.
struct Scheme {
  Choice choice;
  std::optional<std::int64_t> budget;  ///< tokens that replace its capacity, if the text has none
  std::string text;                    ///< as it was written
};

/// A policy with one budget.
struct Lane {
  attention::PolicyChoice policy;
  /// Tokens that each KV head keeps, or with a scheme its capacity; absent for a policy without a budget (`full`,
  /// `recorded`), or if the scheme's text has its capacity.
  std::optional<std::int64_t> budget;
  std::string text;  ///< the policy as the user wrote it
  /// Grants each layer its number of tokens, which replaces the number in `policy`. Until then `policy` has the
  /// scheme's capacity, or a number larger than any prompt if the scheme has none.
  std::optional<Scheme> scheme{};
};

/// A format, or none. Without a format every element has the size that the recording states for the model's cache.
struct Storage {
  std::optional<formats::FormatChoice> format;
  std::string text;  ///< as the user wrote it; "full" without a format

  [[nodiscard]] std::string_view golden_name() const {
    return format ? format->kind->golden_name : formats::kFullFormat.golden_name;
  }
};

/// Splits `NAME[:key=value,...]` at semicolons outside quotes and brackets, and trims blanks. Errors: an empty part,
/// the same part twice.
Result<std::vector<std::string>> split_components(std::string_view text);

/// Parses `NAME[:key=value,...];...` of the family "budget". A scheme with a parameter `capacity` that is not given
/// gets one entry for each of `budgets`. Errors (field --budget): as parse_component.
Result<std::vector<Scheme>> schemes_of(std::string_view text, std::span<const std::int64_t> budgets);

/// A lane for each policy and budget, then for each scheme, in this order. Parameters that make up the budget may be
/// missing: h2o uses half of it for recent tokens, streaming-llm 4 for sinks (at most half). Given parameters stay,
/// except the one that the budget determines. Errors: as parse_policy; a policy that takes no budget, with the names
/// of those that do; fewer tokens than a policy protects.
Result<std::vector<Lane>> lanes_of(std::string_view policies, std::span<const std::int64_t> budgets,
                                   std::span<const Scheme> schemes = {});

/// The policy of a lane with a scheme for the layer at `place`: made as by lanes_of with the tokens granted there, or
/// with the fewest that any head is granted. Errors name the layer.
Result<attention::PolicyChoice> policy_of_layer(const Lane& lane, const attention::Grants& grants,
                                                const attention::LayerPlace& place);

/// Parses formats; `full` means storage without a format. Errors as parse_format.
Result<std::vector<Storage>> storages_of(std::string_view formats, std::string_view option = "--formats");

}  // namespace kvplan::frontier
