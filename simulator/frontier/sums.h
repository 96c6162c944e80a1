// The sums from which the points of a frontier are computed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/frontier/samples.h"

namespace kvplan::frontier {

/// Sums for a policy, a budget and a format.
struct Sums {
  explicit Sums(std::int64_t samples) : p95(samples) {}
  void add(const Sums& other) {
    bytes += other.bytes;
    metadata_bytes += other.metadata_bytes;
    mass.add(other.mass);
    error.add(other.error);
    p95.add(other.p95);
  }
  std::int64_t bytes{0};
  std::int64_t metadata_bytes{0};
  Mean mass;
  Mean error;
  Percentile95 p95;
};

/// Sums for a policy and a budget, whatever the format.
struct LaneSums {
  void add(const LaneSums& other) {
    entries.add(other.entries);
    bound.add(other.bound);
    overlap.add(other.overlap);
    entries_max = std::max(entries_max, other.entries_max);
    needles += other.needles;
    needle_states += other.needle_states;
  }
  Mean entries;
  Mean bound;
  Mean overlap;
  std::int64_t entries_max{0};
  double needles{0};  ///< sum of the kept shares
  std::int64_t needle_states{0};
};

}  // namespace kvplan::frontier
