// What a frontier compares: policies, each with every budget, and the formats in which what they keep is stored.
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

/// A budget scheme: each layer, or each KV head of it, retains what that grants of a prompt.
struct Scheme {
  Choice choice;
  std::optional<std::int64_t> budget;  ///< tokens that its capacity was left to
  std::string text;                    ///< as it was written
};

/// A policy with one budget.
struct Lane {
  attention::PolicyChoice policy;
  /// Tokens that each KV head retains, or with a scheme its capacity; nothing of a policy that is as it is (`full`,
  /// `recorded`), or where the scheme's text says it all.
  std::optional<std::int64_t> budget;
  std::string text;  ///< the policy as it was written
  /// Says how many tokens each layer retains, in place of the number that `policy` has: that of its capacity, or of
  /// more tokens than any prompt has where it takes none.
  std::optional<Scheme> scheme{};
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

/// `NAME[:key=value,...];...` of the family "budget". A scheme with a parameter `capacity` that is not given has each
/// of `budgets` for it, in turn. Errors (field --budget): as parse_component.
Result<std::vector<Scheme>> schemes_of(std::string_view text, std::span<const std::int64_t> budgets);

/// A lane for each policy and budget, and then for each scheme, in this order. The parameters that make the budget may
/// be missing: h2o takes half of it for recent tokens, streaming-llm 4 for sinks (at most half). Those given stay, but
/// for the one that the budget decides. Errors: as parse_policy; a policy that takes no budget, with the names of those
/// that do; too few tokens for what a policy protects.
Result<std::vector<Lane>> lanes_of(std::string_view policies, std::span<const std::int64_t> budgets,
                                   std::span<const Scheme> schemes = {});

/// The policy of a lane with a scheme in the layer at `place`: what lanes_of makes of as many tokens as it grants
/// there, or of the fewest of its heads. Errors name the layer.
Result<attention::PolicyChoice> policy_of_layer(const Lane& lane, const attention::Grants& grants,
                                                const attention::LayerPlace& place);

/// `full` is storage without a format. Errors as parse_format.
Result<std::vector<Storage>> storages_of(std::string_view formats, std::string_view option = "--formats");

}  // namespace kvplan::frontier
