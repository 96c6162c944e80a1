// Seeded streams by name, for whatever draws by chance: made-up traces, some components (their parameter `seed`),
// benchmarks and tests. Whatever else in a run ever does takes the scenario's `seed`. Each user has a stream of its
// own, made from a seed and a stable name, so that adding a user disturbs no other. Own generator and own
// distributions: the C++ standard leaves the sequences of its distributions open.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvplan {

/// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state, every state is good.
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}
  /// The stream called `name` of a run with this seed.
  Random(std::uint64_t seed, std::string_view name);

  /// Uniform over all 64-bit values.
  std::uint64_t next();
  /// Uniform over [0, bound). REQUIRES: bound > 0. Without bias (values past the last whole multiple are
  /// redrawn).
  std::uint64_t below(std::uint64_t bound);
  /// Uniform over [low, high], both included. REQUIRES: low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// Uniform over [0, 1) in steps of 2^-53.
  double unit();
  /// True `numerator` times out of `denominator`.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

 private:
  std::uint64_t state_;
};

}  // namespace kvplan
