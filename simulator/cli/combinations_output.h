// `kvplan list combinations`: the table of choices that do not work together (simulator/scenario/combinations.h).
#pragma once

#include <string>
#include <string_view>

namespace kvplan::cli {

inline constexpr std::string_view kCombinations = "combinations";

/// Two tables: the pairs of parts that do not work together, and an explanation of each part.
std::string combinations_text();
/// {"combinations": [{part, other, result, known, reason, use}], "parts": [{name, path, about}]}
std::string combinations_json();

}  // namespace kvplan::cli
