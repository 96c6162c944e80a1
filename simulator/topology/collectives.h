// The rate that devices get when they communicate at the same time, and the time of a ring collective.
//
// A ring of n devices passes pieces of 1/n of the bytes from each device to the next, in rounds: n - 1 until every
// device has the sum of one piece, n - 1 more until all have everything (Patarasuk and Yuan, "Bandwidth optimal
// all-reduce algorithms for clusters of workstations", JPDC 69, 2009):
//
//     all-reduce   2 (n - 1) / n x bytes / rate + 2 (n - 1) x latency
//     all-gather     (n - 1) / n x bytes / rate +   (n - 1) x latency
//
// with the rate of the narrowest link, divided by the number of routes over it, and the mean latency of the n routes: a
// piece takes the routes one after the other, and devices wait for pieces, not for whole rounds of others.
#pragma once

#include <optional>
#include <span>

#include "simulator/topology/topology.h"

namespace kvplan::topology {

/// The rate of each of several routes when all are used at once.
struct SharedRate {
  std::int64_t bytes_per_s{0};  ///< rate of the route that gets least, rounded down
  std::int64_t latency_ns{0};   ///< of the route with the largest latency
};
/// REQUIRES: at least one route, each with a link.
SharedRate shared_rate(const Topology& topology, std::span<const Route> routes);

/// Time for moving bytes, in nanoseconds: fixed + per byte x bytes.
struct TransferTime {
  double fixed_ns{0}, ns_per_byte{0};
  [[nodiscard]] double ns(double bytes) const { return fixed_ns + ns_per_byte * bytes; }
};

/// Each device sends to the next of the list, the last to the first, over the widest routes.
class Ring {
 public:
  /// Nothing if some devices are not connected. REQUIRES: at least two places, all different.
  static std::optional<Ring> over(RouteFinder& routes, std::span<const Place> places);
  static std::optional<Ring> over(const Topology& topology, std::span<const Place> places);

  [[nodiscard]] std::int64_t bytes_per_s() const { return bytes_per_s_; }
  /// Mean latency of a round, in nanoseconds.
  [[nodiscard]] double round_ns() const { return round_ns_; }
  /// Time to sum `bytes` over all devices; each device has that many bytes.
  [[nodiscard]] TransferTime all_reduce() const;
  /// Time until each device has all `bytes`; at first each has an equal share.
  [[nodiscard]] TransferTime all_gather() const;

 private:
  Ring(std::int64_t devices, std::int64_t bytes_per_s, double round_ns)
      : devices_(devices), bytes_per_s_(bytes_per_s), round_ns_(round_ns) {}
  [[nodiscard]] TransferTime rounds(std::int64_t count) const;

  std::int64_t devices_, bytes_per_s_;
  double round_ns_;
};

}  // namespace kvplan::topology
