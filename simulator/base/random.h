// Named random streams with a seed, for everything that is random: synthetic traces, some components (their parameter
// `seed`), benchmarks and tests. All other random draws of a run use the scenario's `seed`. Each user has its own
// stream, made from a seed and a fixed name, so adding a user changes no other stream. Generator and distributions are
// our own, since the C++ standard does not fix the sequences of its distributions.
#pragma once

#include <cstdint>
#include <string_view>

namespace kvplan {

/// SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state; every state is valid.
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}
  /// The stream called `name` of a run with this seed.
  Random(std::uint64_t seed, std::string_view name);

  /// Uniform over all 64-bit values.
  std::uint64_t next();
  /// Uniform over [0, bound), without bias (values past the last whole multiple are drawn again). REQUIRES: bound >
  /// 0.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform over [low, high], both included. REQUIRES: low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);
  /// Uniform over [0, 1) in steps of 2^-53.
  double unit();
  /// True with probability numerator / denominator.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) { return below(denominator) < numerator; }

 private:
  std::uint64_t state_;
};

}  // namespace kvplan
