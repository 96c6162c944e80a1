#include "simulator/modelfile/json_keys.h"

#include <simdjson.h>

#include <set>
#include <string_view>

namespace kvplan {
namespace {

namespace dom = simdjson::dom;

std::string below(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : std::string(path).append(".").append(key);
}

std::optional<std::string> first_twice(dom::element at, const std::string& path) {
  dom::object object;
  if (at.get_object().get(object) == simdjson::SUCCESS) {
    std::set<std::string_view> seen;
    for (const auto& [key, value] : object) {
      if (!seen.insert(key).second) return below(path, key);
      if (auto found = first_twice(value, below(path, key))) return found;
    }
    return std::nullopt;
  }
  dom::array array;
  if (at.get_array().get(array) != simdjson::SUCCESS) return std::nullopt;
  std::size_t i = 0;
  for (const dom::element value : array)
    if (auto found = first_twice(value, path + "[" + std::to_string(i++) + "]")) return found;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> key_given_twice(const dom::element& document) {
  return first_twice(document, "");
}

std::string with_plain_numbers(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    const auto name = [&](std::string_view word) { return !quoted && text.substr(i, word.size()) == word; };
    if (name("Infinity") || name("NaN")) {
      out += "1e300";
      i += name("NaN") ? 2 : 7;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace kvplan
