// Keys that occur twice in one object of a JSON document. Parsers disagree about which of the two counts, so it is an
// error.
#pragma once

#include <optional>
#include <string>

namespace simdjson::dom {
class element;
}

namespace kvplan {

/// Path of the first key that occurs twice in its object, such as "text_config.head_dim"; nothing if there is none.
std::optional<std::string> key_given_twice(const simdjson::dom::element& document);

}  // namespace kvplan
