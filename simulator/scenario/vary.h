// Paths of a scenario that take several values in turn: how they are written, and all their combinations, or some.
//
//   PATH=VALUE;VALUE;...     values, parted by semicolons since components contain commas
//   PATH=A..B:STEP           A, A + STEP, ... up to B, in decimals; may stand among values
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// One path with the values that it takes in turn.
struct Vary {
  std::string path;
  std::vector<std::string> values;
};

/// Most values of one path.
inline constexpr std::int64_t kMostValues = 1'000'000;

/// Spaces around values do not count. Errors: no path, an empty value, one twice, a range that is none.
Result<Vary> parse_vary(std::string_view text);

/// Path and value, in the order of the paths.
using Varied = std::vector<std::pair<std::string, std::string>>;

/// Combinations of the values, numbered from 0. All of them, the last path changing fastest: made when they are asked
/// for, so any number takes no memory. Or chosen ones, in the order in which they were chosen.
class Combinations {
 public:
  /// Errors: a path twice, more than `most` combinations. No path at all is one combination.
  static Result<Combinations> of(std::vector<Vary> varies, std::int64_t most);
  /// `places`: combination after combination, for each path the place of its value. Errors: a path twice. REQUIRES: a
  /// path, and a combination.
  static Result<Combinations> chosen(std::vector<Vary> varies, std::vector<std::uint32_t> places);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] const std::vector<Vary>& varies() const { return varies_; }
  /// The value of each path, as its place among the path's values. REQUIRES: 0 <= number < count().
  [[nodiscard]] std::vector<std::size_t> places(std::int64_t number) const;
  [[nodiscard]] Varied at(std::int64_t number) const;
  /// `settings` and, after them, those of the combination.
  [[nodiscard]] std::vector<Setting> settings(const std::vector<Setting>& settings,
                                              std::int64_t number) const;

 private:
  explicit Combinations(std::vector<Vary> varies) : varies_(std::move(varies)) {}
  std::vector<Vary> varies_;
  std::vector<std::uint32_t> chosen_;  // empty: all
  std::int64_t count_{1};
};

/// Tells a slip of the user from combinations that cannot be: a value that cannot be read alone, nor in any
/// combination, is a slip. Told of each combination, then asked once.
class ValueCheck {
 public:
  explicit ValueCheck(const Combinations& combinations);
  /// `error`: why the combination cannot be read; null where it can.
  void told(std::int64_t number, const Error* error);
  /// The first slip, in the order of paths and values.
  [[nodiscard]] Status slips(const std::vector<Setting>& settings) const;

 private:
  struct Value {
    bool read{false};
    std::optional<Error> refused;  ///< the first time
  };
  const Combinations& combinations_;
  std::vector<std::vector<Value>> values_;  // by path and place
};

}  // namespace kvplan::plan
