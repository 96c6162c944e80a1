// "Did you mean": the nearest known name for an unknown one, and the list of what exists.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

/// The name in `known` with the least edit distance to `word` (insert, delete, replace, swap of neighbours), if it is
/// close enough to be a typing error (distance at most a third of the longer word); empty otherwise.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

/// `unknown KIND "WORD"; did you mean "NAME"? (known: a, b, c)`
std::string unknown_name(std::string_view kind, std::string_view word,
                         std::span<const std::string_view> known);

/// At most `most` names of `known` that `word` may mean, without regard to case. Likely typing errors come first, by
/// distance; then names that contain the word, and names with which the word begins.
std::vector<std::string_view> near_names(std::string_view word, std::span<const std::string_view> known,
                                         std::size_t most);

/// `unknown KIND "WORD"; did you mean "A", "B" or "C"? WHERE_ALL_ARE`: for more names than a reader wants to see.
std::string unknown_name_of_many(std::string_view kind, std::string_view word,
                                 std::span<const std::string_view> known, std::string_view where_all_are);

}  // namespace kvplan
