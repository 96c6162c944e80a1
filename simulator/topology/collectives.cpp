#include "simulator/topology/collectives.h"

#include <algorithm>
#include <limits>

#include "simulator/base/check.h"

namespace kvplan::topology {

SharedRate shared_rate(const Topology& topology, std::span<const Route> routes) {
  KVPLAN_CHECK(!routes.empty());
  struct Uses {
    std::int64_t forwards{0}, backwards{0};
  };
  std::vector<Uses> uses(topology.links().size());
  for (const Route& route : routes)
    for (const Hop& hop : route) ++(hop.forwards ? uses[hop.link].forwards : uses[hop.link].backwards);
  SharedRate rate{std::numeric_limits<std::int64_t>::max(), 0};
  for (const Route& route : routes) {
    KVPLAN_CHECK(!route.empty());
    for (const Hop& hop : route) {
      const Link& link = topology.links()[hop.link];
      const Uses& used = uses[hop.link];
      const std::int64_t sharers = link.sharing == Sharing::kBothWays ? used.forwards + used.backwards
                                   : hop.forwards                     ? used.forwards
                                                                      : used.backwards;
      rate.bytes_per_s = std::min(rate.bytes_per_s, std::max<std::int64_t>(1, link.bytes_per_s / sharers));
    }
    rate.latency_ns = std::max(rate.latency_ns, topology.latency_of(route));
  }
  return rate;
}

std::optional<Ring> Ring::over(const Topology& topology, std::span<const Place> places) {
  RouteFinder routes(topology);
  return over(routes, places);
}

std::optional<Ring> Ring::over(RouteFinder& finder, std::span<const Place> places) {
  const Topology& topology = finder.topology();
  KVPLAN_CHECK(places.size() > 1);
  std::vector<Route> routes;
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto route = finder.widest(places[i], places[(i + 1) % places.size()]);
    if (!route) return std::nullopt;
    routes.push_back(std::move(*route));
  }
  std::int64_t ns = 0;
  for (const Route& route : routes) ns += topology.latency_of(route);
  return Ring(static_cast<std::int64_t>(places.size()), shared_rate(topology, routes).bytes_per_s,
              static_cast<double>(ns) / static_cast<double>(places.size()));
}

TransferTime Ring::rounds(std::int64_t count) const {
  constexpr double kNsPerSecond = 1e9;
  const auto rounds = static_cast<double>(count);
  return {rounds * round_ns_,
          rounds / static_cast<double>(devices_) / static_cast<double>(bytes_per_s_) * kNsPerSecond};
}

TransferTime Ring::all_reduce() const {
  return rounds(2 * (devices_ - 1));
}

TransferTime Ring::all_gather() const {
  return rounds(devices_ - 1);
}

}  // namespace kvplan::topology
