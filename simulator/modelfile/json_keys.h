// What JSON files of others have beside JSON: keys that occur twice in one object, of which parsers disagree which one
// counts, so that they are an error; and numbers that only Python writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace simdjson::dom {
class element;
}

namespace kvplan {

/// Path of the first key that occurs twice in its object, such as "text_config.head_dim"; nothing if there is none.
std::optional<std::string> key_given_twice(const simdjson::dom::element& document);

/// The text with Python's names of numbers that JSON has not (Infinity, NaN) as 1e300: a number beyond all limits, so
/// that a key that is read says so.
std::string with_plain_numbers(std::string_view text);

}  // namespace kvplan
