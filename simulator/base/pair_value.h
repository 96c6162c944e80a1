// How a value is written in the text of a component, NAME:key=value[,key=value...] (component.h).
#pragma once

#include <string>
#include <string_view>

namespace kvplan {

/// In quotes if it has commas, unless it is quoted already: the text that `parse_component` reads as that value.
inline std::string pair_value(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  if (quoted || text.find(',') == std::string_view::npos) return std::string(text);
  return std::string("\"").append(text).append("\"");
}

}  // namespace kvplan
