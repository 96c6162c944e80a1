// A version of an engine, as the parameter `version` of its pool rule gives it: 0.19.0, v0.19, 0.21.1rc1.
#pragma once

#include <charconv>
#include <compare>
#include <optional>
#include <string_view>

namespace kvplan::model {

struct EngineVersion {
  int minor{0}, patch{0};  ///< of 0.minor.patch
  friend auto operator<=>(const EngineVersion&, const EngineVersion&) = default;
};

/// Nothing for a text that is no version. What follows the numbers (rc1, .post1, +cu129) does not matter.
inline std::optional<EngineVersion> parse_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  if (!text.starts_with("0.")) return std::nullopt;
  text.remove_prefix(2);
  EngineVersion out;
  const auto number = [&](int& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc{} || to < 0 || to > 999) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (!number(out.minor)) return std::nullopt;
  if (text.size() > 1 && text[0] == '.' && text[1] >= '0' && text[1] <= '9') {
    text.remove_prefix(1);
    if (!number(out.patch)) return std::nullopt;
  }
  const bool ends = text.empty() || std::string_view(".+-abcdr").find(text[0]) != std::string_view::npos;
  return ends && text != "." ? std::optional(out) : std::nullopt;
}

}  // namespace kvplan::model
