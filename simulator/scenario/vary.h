// Paths of a scenario that take several values, their notation, and the combinations of values, all or chosen ones.
//
//   PATH=VALUE;VALUE;...     values, separated by semicolons since components contain commas
//   PATH=A..B:STEP           A, A + STEP, ... up to B, in decimals; may be mixed with values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// One path with its values.
struct Vary {
  std::string path;
  std::vector<std::string> values;
  std::string file{};                 ///< the file with the values; empty: the command line
  std::vector<std::int64_t> lines{};  ///< lines in that file, parallel to the values; empty without a file
};

/// Most values of one path.
inline constexpr std::int64_t kMostValues = 1'000'000;

/// Spaces around values are ignored. Errors: no path, an empty value, a value twice, an invalid range.
Result<Vary> parse_vary(std::string_view text);

/// Path and value, in the order of the paths.
using Varied = std::vector<std::pair<std::string, std::string>>;

/// Combinations of the values, numbered from 0. Either all of them, the last path changing fastest: computed on
/// demand, so any number takes no memory. Or chosen ones, in the order in which they were chosen.
class Combinations {
 public:
  /// Errors: a path twice, more than `most` combinations. Without paths there is one combination.
  static Result<Combinations> of(std::vector<Vary> varies, std::int64_t most);
  /// `places`: for one combination after the other, the index of each path's value. Errors: a path twice. REQUIRES: at
  /// least one path and one combination.
  static Result<Combinations> chosen(std::vector<Vary> varies, std::vector<std::uint32_t> places);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] const std::vector<Vary>& varies() const { return varies_; }
  /// The index of each path's value among the path's values. REQUIRES: 0 <= number < count().
  [[nodiscard]] std::vector<std::size_t> places(std::int64_t number) const;
  [[nodiscard]] Varied at(std::int64_t number) const;
  /// `settings`, followed by the settings of the combination.
  [[nodiscard]] std::vector<Setting> settings(const std::vector<Setting>& settings,
                                              std::int64_t number) const;

 private:
  explicit Combinations(std::vector<Vary> varies) : varies_(std::move(varies)) {}
  std::vector<Vary> varies_;
  std::vector<std::uint32_t> chosen_;  // empty: all
  std::int64_t count_{1};
};

/// Distinguishes a user's mistake from impossible combinations: a value that is invalid alone, and in every
/// combination, is a mistake. Call `told` for each combination, then `slips` once.
class ValueCheck {
 public:
  explicit ValueCheck(const Combinations& combinations);
  /// `error`: why the combination is invalid; null if it is valid.
  void told(std::int64_t number, const Error* error);
  /// The first mistake, in the order of paths and values.
  [[nodiscard]] Status slips(const std::vector<Setting>& settings) const;

 private:
  struct Value {
    bool read{false};
    std::optional<Error> refused;  ///< the first error of this value
  };
  const Combinations& combinations_;
  std::vector<std::vector<Value>> values_;  // by path and place
};

}  // namespace kvplan::runs
