// The wiring as a graph: devices, hosts, switches and networks are its places, links its edges.
//
// The rate of a link holds for each direction separately (NVLink, PCIe, InfiniBand: full duplex), or for both together.
// Transfers over a link at the same time share its rate evenly. Only routes.cpp knows how a route is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace kvplan::topology {

enum class PlaceKind : std::uint8_t { kDevice, kHost, kSwitch, kNetwork };

enum class Sharing : std::uint8_t {
  kEachWay,   ///< the rate holds in each direction
  kBothWays,  ///< the rate holds for both directions together
};

/// Index of a place.
using Place = std::size_t;

struct Link {
  Place first{0}, second{0};
  std::int64_t bytes_per_s{0};  ///< > 0
  std::int64_t latency_ns{0};   ///< added to the time of a message, >= 0
  Sharing sharing{Sharing::kEachWay};
};

/// A link, and the direction in which it is used.
struct Hop {
  std::size_t link{0};
  bool forwards{true};  ///< from `first` to `second`
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// Hops from source to target; none if both are the same place.
using Route = std::vector<Hop>;

class Topology {
 public:
  Place add(PlaceKind kind);
  /// Adds a link. REQUIRES: both places exist and differ; rate > 0, latency >= 0.
  void link(const Link& link);

  [[nodiscard]] std::span<const PlaceKind> places() const { return places_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }

  /// One route, as RouteFinder finds it; a RouteFinder is faster for many.
  [[nodiscard]] std::optional<Route> widest(Place from, Place to) const;
  [[nodiscard]] std::optional<Route> shortest(Place from, Place to) const;

  /// Rate of the route's narrowest link. REQUIRES: the route has a link.
  [[nodiscard]] std::int64_t width_of(const Route& route) const;
  [[nodiscard]] std::int64_t latency_of(const Route& route) const;

 private:
  std::vector<PlaceKind> places_;
  std::vector<Link> links_;
};

/// Finds many routes of one topology. A search ends at its destination, so the routes of a ring of thousands of devices
/// take seconds. Used by one thread at a time. REQUIRES: the topology outlives the finder and does not change.
class RouteFinder {
 public:
  explicit RouteFinder(const Topology& topology);
  ~RouteFinder();
  RouteFinder(const RouteFinder&) = delete;
  RouteFinder& operator=(const RouteFinder&) = delete;

  [[nodiscard]] const Topology& topology() const { return topology_; }
  /// The route with the widest narrowest link; among equal routes the one with least latency, then fewest links.
  /// Nothing if the places are not connected.
  std::optional<Route> widest(Place from, Place to);
  /// The route with the least latency, then with fewest links.
  std::optional<Route> shortest(Place from, Place to);

 private:
  struct Search;
  const Topology& topology_;
  std::unique_ptr<Search> search_;
};

}  // namespace kvplan::topology
