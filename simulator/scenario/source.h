// The source of a scenario's value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvplan::runs {

/// Whether a value was chosen by the user.
enum class Origin : std::uint8_t { kDefault, kGiven };

struct Source {
  enum class From : std::uint8_t {
    kDefault,
    kDerived,  ///< not chosen; it follows from other values, as step times from the device
    kGiven,    ///< given by a program, or by a file without a known line
    kFile,     ///< file `name`, on `line` if known
    kOption,   ///< option of the command line, by its name
  };
  From from{From::kDefault};
  std::string name{};
  std::int64_t line{0};  ///< 1-based; 0: not known

  bool operator==(const Source&) const = default;
};

/// The source of one parameter of a component.
struct ParamSource {
  std::string param;
  Source source;
};

/// "default", "derived", "given", "file", "option".
std::string_view from_name(Source::From from);
/// The inverse of from_name; nothing for any other text.
std::optional<Source::From> from_named(std::string_view name);

Origin origin_of(const Source& source);

/// Text for people: a file without its folders ("hour.json:12"), an option ("--set"), or the name above.
std::string source_text(const Source& source);

}  // namespace kvplan::runs
