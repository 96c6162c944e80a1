// Where a value of a scenario was said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvplan::plan {

/// Whether somebody chose a value.
enum class Origin : std::uint8_t { kDefault, kGiven };

struct Source {
  enum class From : std::uint8_t {
    kDefault,
    kDerived,  ///< nobody chose it, and it follows from other values: step times from the device
    kGiven,    ///< by a program, or a file, that names no place
    kFile,     ///< `name`, on `line` where that is known
    kOption,   ///< of the command line, by its name
  };
  From from{From::kDefault};
  std::string name{};
  std::int64_t line{0};  ///< 1-based; 0: not known

  bool operator==(const Source&) const = default;
};

/// Of one parameter of a component.
struct ParamSource {
  std::string param;
  Source source;
};

/// "default", "derived", "given", "file", "option".
std::string_view from_name(Source::From from);
/// None for another text.
std::optional<Source::From> from_named(std::string_view name);

Origin origin_of(const Source& source);

/// What people are shown: a file without its folders ("hour.json:12"), an option ("--set"), or the name above.
std::string source_text(const Source& source);

}  // namespace kvplan::plan
