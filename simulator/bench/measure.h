// How the benchmarks measure time: CPU seconds of this thread; the sides of a comparison take turns in one process; the
// result is the median, with the fastest and slowest round.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <vector>

namespace kvplan::bench {

inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Spread {
  double median{0};
  double fastest{0};
  double slowest{0};
};

/// One of the implementations that are compared.
struct Side {
  std::function<void()> body;
  int most{1 << 30};  ///< number of rounds in which it takes part: fewer for a slow one, 0 to leave it out
};

/// CPU seconds of each side: one warm-up each, then `rounds` times all sides in turn.
inline std::vector<Spread> measure(const std::vector<Side>& sides, int rounds) {
  std::vector<std::vector<double>> times(sides.size());
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (sides[i].most < std::max(round, 1)) continue;
      const double begin = cpu_seconds();
      sides[i].body();
      if (round > 0) times[i].push_back(cpu_seconds() - begin);
    }
  }
  std::vector<Spread> out;
  for (std::vector<double>& list : times) {
    std::sort(list.begin(), list.end());
    out.push_back(list.empty() ? Spread{} : Spread{list[list.size() / 2], list.front(), list.back()});
  }
  return out;
}

/// Digest of a sequence of numbers, from `kDigestBegin`.
inline constexpr std::uint64_t kDigestBegin = 14695981039346656037ULL;
constexpr std::uint64_t mix(std::uint64_t digest, std::uint64_t value) {
  return (digest ^ value) * 0x100000001B3ULL;
}

}  // namespace kvplan::bench
