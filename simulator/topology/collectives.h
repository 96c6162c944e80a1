// What devices that talk to each other at one time get of the links between them, and how long a ring of them takes.
//
// A ring of n devices passes pieces of 1/n of the bytes from each device to the next, in rounds: n - 1 until every
// device has the sum of one piece, n - 1 more until all have all (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms for clusters of workstations", JPDC 69, 2009):
//
//     all-reduce   2 (n - 1) / n x bytes / rate + 2 (n - 1) x latency
//     all-gather     (n - 1) / n x bytes / rate +   (n - 1) x latency
//
// with the rate of the narrowest link, divided by what runs over it at one time, and the mean latency of the n routes:
// a piece takes them one after the other, and devices wait for pieces, not for each other's rounds.
#pragma once

#include <optional>
#include <span>

#include "simulator/topology/topology.h"

namespace kvplan::topology {

/// What each of several routes gets while all of them are used.
struct SharedRate {
  std::int64_t bytes_per_s{0};  ///< of the one that gets least, rounded down
  std::int64_t latency_ns{0};   ///< of the one that takes longest
};
/// REQUIRES: at least one route, each with a link.
SharedRate shared_rate(const Topology& topology, std::span<const Route> routes);

/// Time of moving bytes, in nanoseconds: fixed + per byte x bytes.
struct TransferTime {
  double fixed_ns{0}, ns_per_byte{0};
  [[nodiscard]] double ns(double bytes) const { return fixed_ns + ns_per_byte * bytes; }
};

/// Each device sends to the next of the list, the last one to the first, over widest routes.
class Ring {
 public:
  /// Nothing where no links join two of them. REQUIRES: at least two places, no two alike.
  static std::optional<Ring> over(const Topology& topology, std::span<const Place> places);

  [[nodiscard]] std::int64_t bytes_per_s() const { return bytes_per_s_; }
  /// Mean latency of a round.
  [[nodiscard]] double round_ns() const { return round_ns_; }
  /// `bytes` on each device, summed over all of them.
  [[nodiscard]] TransferTime all_reduce() const;
  /// A share of `bytes` on each device, all of them on each in the end.
  [[nodiscard]] TransferTime all_gather() const;

 private:
  Ring(std::int64_t devices, std::int64_t bytes_per_s, double round_ns)
      : devices_(devices), bytes_per_s_(bytes_per_s), round_ns_(round_ns) {}
  [[nodiscard]] TransferTime rounds(std::int64_t count) const;

  std::int64_t devices_, bytes_per_s_;
  double round_ns_;
};

}  // namespace kvplan::topology
