// "Did you mean": the nearest known name for an unknown one, and the list of what exists.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

/// The name in `known` with the least edit distance to `word` (insert, delete, replace, swap of neighbours), if it is
/// close enough to be a typing error (distance at most a third of the longer word); empty otherwise.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

/// `unknown KIND "WORD"; did you mean "NAME"? (known: a, b, c)`
std::string unknown_name(std::string_view kind, std::string_view word,
                         std::span<const std::string_view> known);

}  // namespace kvplan
