// What a frontier compares: policies, each with every budget, and the formats in which what they keep is stored.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/formats/formats.h"

namespace kvplan::frontier {

/// A policy with one budget.
struct Lane {
  attention::PolicyChoice policy;
  /// Tokens that each stored head retains; nothing of a policy that is as it is (`full`, `recorded`).
  std::optional<std::int64_t> budget;
  std::string text;  ///< the policy as it was written
};

/// A format, or nothing: every element as large as the recording says that it is in the model's cache.
struct Storage {
  std::optional<formats::FormatChoice> format;
  std::string text;  ///< as it was written; "full" of nothing

  [[nodiscard]] std::string_view golden_name() const {
    return format ? format->kind->golden_name : std::string_view("full");
  }
};

/// `NAME[:key=value,...]` at semicolons that are neither in quotes nor in brackets, without blanks around. Errors: an
/// empty one, the same twice.
Result<std::vector<std::string>> split_components(std::string_view text);

/// A lane for each policy and budget, in this order. The parameters that make the budget may be missing: h2o takes half
/// of it for recent tokens, streaming-llm 4 for sinks (at most half). Those given stay, but for the one that the budget
/// decides. Errors: as parse_policy; a policy that takes no budget, with the names of those that do; too few tokens for
/// what a policy protects.
Result<std::vector<Lane>> lanes_of(std::string_view policies, std::span<const std::int64_t> budgets);

/// `full` is storage without a format. Errors as parse_format.
Result<std::vector<Storage>> storages_of(std::string_view formats);

}  // namespace kvplan::frontier
