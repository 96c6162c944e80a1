// What is wired to what, as a graph: devices, hosts, switches and networks are its places, links its edges.
//
// A link carries bytes both ways, each way apart (NVLink, PCIe, InfiniBand: full duplex) or both ways together. What
// runs over a link at one time shares its rate evenly. Only routes.cpp knows how a route is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace kvplan::topology {

enum class PlaceKind : std::uint8_t { kDevice, kHost, kSwitch, kNetwork };

enum class Sharing : std::uint8_t {
  kEachWay,   ///< its rate in each direction
  kBothWays,  ///< its rate for both directions together
};

/// Index of a place.
using Place = std::size_t;

struct Link {
  Place first{0}, second{0};
  std::int64_t bytes_per_s{0};  ///< > 0
  std::int64_t latency_ns{0};   ///< >= 0, that a message takes longer for it
  Sharing sharing{Sharing::kEachWay};
};

/// A link, and in which direction.
struct Hop {
  std::size_t link{0};
  bool forwards{true};  ///< from `first` to `second`
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// In the order in which bytes take them; none where both ends are one place.
using Route = std::vector<Hop>;

class Topology {
 public:
  Place add(PlaceKind kind);
  /// REQUIRES: both places are there and not the same; a rate above 0, a latency of at least 0.
  void link(const Link& link);

  [[nodiscard]] std::span<const PlaceKind> places() const { return places_; }
  [[nodiscard]] std::span<const Link> links() const { return links_; }

  /// The route whose narrowest link is widest; of those the one with the least latency, then with fewest links.
  /// Nothing where no links join the places.
  [[nodiscard]] std::optional<Route> widest(Place from, Place to) const;
  /// The route with the least latency, then with fewest links.
  [[nodiscard]] std::optional<Route> shortest(Place from, Place to) const;

  /// REQUIRES: the route has a link.
  [[nodiscard]] std::int64_t width_of(const Route& route) const;
  [[nodiscard]] std::int64_t latency_of(const Route& route) const;

 private:
  /// As `shortest`, over links of at least this rate.
  [[nodiscard]] std::optional<Route> shortest_over(Place from, Place to, std::int64_t bytes_per_s) const;

  std::vector<PlaceKind> places_;
  std::vector<Link> links_;
};

}  // namespace kvplan::topology
