// Descriptors: the name of a component (an allocator, a token policy, a latency model, ...), what it does and which
// parameters it accepts. There is one descriptor per component; scenario checks, `list`, `explain`, `--help` and the
// forms of the desktop program are all derived from it, so a component in its catalogue appears everywhere.
//
// A component is written `NAME[:key=value[,key=value...]]`. `parse_component` turns that text into a
// `Choice`: the descriptor and a value for every parameter, checked against type, range and choices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan {

enum class ParamKind : std::uint8_t {
  kInteger,  ///< whole number
  kDecimal,  ///< decimal number, kept as text so that its user rounds it exactly once
  kFlag,     ///< true|false
  kText,     ///< one of `choices`, or any text if there are none
};

enum class Unit : std::uint8_t {
  kNone,
  kTokens,
  kBlocks,
  kBytes,
  kNs,
  kSeconds,
  kRatio,
  kRequests,
  kFlopsPerSecond,
  kBytesPerSecond
};
/// "tokens", "ns", ...; empty for kNone.
std::string_view unit_name(Unit unit);

/// One row of --help, of a form, of a documentation page.
struct Param {
  std::string_view name;
  std::string_view help;  ///< one sentence without a final full stop
  ParamKind kind{ParamKind::kInteger};
  Unit unit{Unit::kNone};
  std::string_view fallback;  ///< default value as a user would write it; empty = must be given
  double low{0};              ///< inclusive bounds; for kInteger and kDecimal
  double high{0};             ///< inclusive
  std::span<const std::string_view> choices{};  ///< for kText
  bool names_file{false};  ///< for kText: a path; in a scenario file relative to its folder
  /// If true, the written form of a choice leaves this parameter out while it has its default (Choice::says), so that
  /// texts and files from before this parameter existed do not change.
  bool default_unsaid{false};
};

struct Descriptor {
  std::string_view family;   ///< "allocator", "eviction", "latency", "engine", "router", ...
  std::string_view name;     ///< as written in scenarios
  std::string_view summary;  ///< one sentence
  std::string_view source;   ///< paper, repository and version of the modelled behaviour; "kvplan" for own
  std::span<const Param> params;
  /// For allocators: what one block id (or one range of memory) spans, and so what must be dropped before it is
  /// freed. One sentence; empty in other families.
  std::string_view spans{};
  /// Where the source, public code and this program differ, and which one is followed. Whole sentences; may be empty.
  std::string_view divergences{};
};

/// A component with a value for each of its parameters, in the order of the descriptor.
class Choice {
 public:
  struct Value {
    std::string text;  ///< the value as the user wrote it, or the default
    bool given{false};
  };
  Choice() = default;
  Choice(const Descriptor* descriptor, std::vector<Value> values);

  [[nodiscard]] const Descriptor& descriptor() const { return *descriptor_; }
  [[nodiscard]] std::string_view name() const { return descriptor_->name; }
  [[nodiscard]] const std::vector<Value>& values() const { return values_; }

  // REQUIRES for the functions below: the descriptor has a parameter of this name and kind.
  [[nodiscard]] std::int64_t integer(std::string_view param) const;
  [[nodiscard]] double decimal(std::string_view param) const;
  [[nodiscard]] const std::string& text(std::string_view param) const;
  [[nodiscard]] bool flag(std::string_view param) const;
  [[nodiscard]] bool given(std::string_view param) const;
  /// Paths of the files that the parameters name. Values written in place (`[...]`) and defaults are not files.
  [[nodiscard]] std::vector<std::string> files() const;
  /// True if the written form of the choice includes this parameter. Works for parameters of any kind.
  [[nodiscard]] bool says(std::string_view param) const;

  /// `NAME:key=value,...` with every parameter, including defaults (except Param::default_unsaid); only `NAME` if no
  /// parameter remains.
  [[nodiscard]] std::string to_string() const;

 private:
  /// The numeric value of a parameter's text, if it has one. Stored because parsing the text at every use is too slow.
  struct Number {
    std::optional<std::int64_t> integer;
    std::optional<double> decimal;
  };
  [[nodiscard]] std::size_t place(std::string_view param) const;
  [[nodiscard]] const Value& at(std::string_view param) const { return values_[place(param)]; }
  const Descriptor* descriptor_{nullptr};
  std::vector<Value> values_;
  std::vector<Number> numbers_;  ///< parallel to values_
};

using Catalogue = std::span<const Descriptor* const>;

/// End of the first pair of `key=value,key=value`: the position of the first comma outside quotes and brackets, or
/// npos. If a quote or bracket is never closed, every comma counts.
std::size_t end_of_pair(std::string_view pairs);

/// Parses `NAME[:key=value,...]` against a catalogue; error texts call it `family`. A value may be in quotes, "...";
/// inside them, and inside brackets, commas are part of it. Errors: unknown names and parameters, values of the wrong
/// type or out of range; the text lists what exists, and the error's field is "NAME" or "NAME:key".
Result<Choice> parse_component(std::string_view text, std::string_view family, Catalogue catalogue);

/// The same from a name and (key, value) pairs, as in a JSON object.
Result<Choice> make_choice(std::string_view name, std::span<const std::pair<std::string, std::string>> params,
                           std::string_view family, Catalogue catalogue);

/// Parses a whole decimal number with optional sign and nothing around it; nullopt for anything else or on overflow.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// Parses a finite decimal number such as 12, 0.5, 1e-3, .5; nullopt for anything else.
std::optional<double> parse_decimal(std::string_view text);
/// `text` x 2^shift, rounded once to the nearest integer, halves up, exactly (without a double in between). nullopt
/// if it is not a plain decimal number (an exponent is allowed) or does not fit 63 bits.
std::optional<std::int64_t> decimal_times_power_of_two(std::string_view text, int shift);

}  // namespace kvplan
