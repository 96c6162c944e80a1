// Routes compared with a model that walks every path without cycles, and the rates of routes that are used at one time.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "simulator/base/random.h"
#include "simulator/topology/collectives.h"

namespace kvplan::topology {
namespace {

/// All routes that pass no node twice.
std::vector<Route> every_route(const Topology& topology, Place from, Place to) {
  std::vector<Route> out;
  std::vector<bool> passed(topology.places().size());
  Route route;
  const std::function<void(Place)> walk = [&](Place at) {
    if (at == to) {
      out.push_back(route);
      return;
    }
    passed[at] = true;
    for (std::size_t i = 0; i < topology.links().size(); ++i) {
      const Link& link = topology.links()[i];
      if (link.first != at && link.second != at) continue;
      const bool forwards = link.first == at;
      const Place next = forwards ? link.second : link.first;
      if (passed[next]) continue;
      route.push_back({i, forwards});
      walk(next);
      route.pop_back();
    }
    passed[at] = false;
  };
  walk(from);
  return out;
}

/// Less is better.
using Rank = std::tuple<std::int64_t, std::int64_t, std::size_t>;

Rank by_latency(const Topology& topology, const Route& route) {
  return {0, topology.latency_of(route), route.size()};
}
Rank by_width(const Topology& topology, const Route& route) {
  return {-topology.width_of(route), topology.latency_of(route), route.size()};
}

void leads(const Topology& topology, const Route& route, Place from, Place to) {
  Place at = from;
  for (const Hop& hop : route) {
    const Link& link = topology.links()[hop.link];
    ASSERT_EQ(hop.forwards ? link.first : link.second, at);
    at = hop.forwards ? link.second : link.first;
  }
  ASSERT_EQ(at, to);
}

Topology drawn_topology(Random& random) {
  Topology topology;
  const std::int64_t places = random.between(2, 7);
  for (std::int64_t i = 0; i < places; ++i) topology.add(PlaceKind::kDevice);
  for (std::int64_t links = random.between(1, 12); links > 0; --links) {
    const auto a = static_cast<Place>(random.between(0, places - 1));
    const auto b = static_cast<Place>(random.between(0, places - 1));
    if (a == b) continue;
    topology.link({a, b, random.between(1, 6), random.between(0, 4),
                   random.chance(1, 2) ? Sharing::kEachWay : Sharing::kBothWays});
  }
  return topology;
}

TEST(Routes, AreAsGoodAsTheBestOfAll) {
  std::int64_t apart = 0, chosen = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    Random random(seed, "routes");
    SCOPED_TRACE(seed);
    const Topology topology = drawn_topology(random);
    const auto from = static_cast<Place>(random.below(topology.places().size()));
    const auto to = static_cast<Place>(random.below(topology.places().size()));
    if (from == to) continue;
    const std::vector<Route> all = every_route(topology, from, to);
    const auto widest = topology.widest(from, to), shortest = topology.shortest(from, to);
    ASSERT_EQ(widest.has_value(), !all.empty());
    ASSERT_EQ(shortest.has_value(), !all.empty());
    if (all.empty()) {
      ++apart;
      continue;
    }
    leads(topology, *widest, from, to);
    leads(topology, *shortest, from, to);
    const auto best = [&](auto rank) {
      std::vector<Rank> ranks;
      for (const Route& route : all) ranks.push_back(rank(topology, route));
      return *std::min_element(ranks.begin(), ranks.end());
    };
    ASSERT_EQ(by_width(topology, *widest), best(by_width));
    ASSERT_EQ(by_latency(topology, *shortest), best(by_latency));
    chosen += topology.width_of(*widest) > topology.width_of(*shortest) ? 1 : 0;
  }
  EXPECT_GT(apart, 50);
  EXPECT_GT(chosen, 50) << "the widest is not the shortest";
}

/// A finder that has searched before finds the same routes as a new one.
TEST(Routes, OneFinderFindsManyRoutes) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed, "finder");
    SCOPED_TRACE(seed);
    const Topology topology = drawn_topology(random);
    RouteFinder finder(topology);
    for (int i = 0; i < 20; ++i) {
      const auto from = static_cast<Place>(random.below(topology.places().size()));
      const auto to = static_cast<Place>(random.below(topology.places().size()));
      ASSERT_EQ(finder.widest(from, to), topology.widest(from, to));
      ASSERT_EQ(finder.shortest(from, to), topology.shortest(from, to));
    }
  }
}

TEST(Routes, WhereBothEndsAreOnePlaceThereIsNoLink) {
  Topology topology;
  const Place here = topology.add(PlaceKind::kHost);
  EXPECT_EQ(topology.widest(here, here), Route{});
  EXPECT_EQ(topology.shortest(here, here), Route{});
}

/// For each route, counts the other routes on each of its links.
TEST(SharedRate, IsThatOfTheLeastAfterSharing) {
  std::int64_t shared = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed, "shared rate");
    SCOPED_TRACE(seed);
    const Topology topology = drawn_topology(random);
    std::vector<Route> routes;
    for (std::int64_t n = random.between(1, 5); n > 0; --n) {
      const auto route = topology.widest(static_cast<Place>(random.below(topology.places().size())),
                                         static_cast<Place>(random.below(topology.places().size())));
      if (route && !route->empty()) routes.push_back(*route);
    }
    if (routes.empty()) continue;
    std::int64_t least = INT64_MAX, longest = 0, alone = INT64_MAX;
    for (const Route& mine : routes) {
      longest = std::max(longest, topology.latency_of(mine));
      alone = std::min(alone, topology.width_of(mine));
      for (const Hop& hop : mine) {
        std::int64_t on_it = 0;
        for (const Route& other : routes)
          for (const Hop& o : other)
            if (o.link == hop.link &&
                (o.forwards == hop.forwards || topology.links()[hop.link].sharing == Sharing::kBothWays))
              ++on_it;
        least = std::min(least, std::max<std::int64_t>(1, topology.links()[hop.link].bytes_per_s / on_it));
      }
    }
    const SharedRate rate = shared_rate(topology, routes);
    ASSERT_EQ(rate.bytes_per_s, least);
    ASSERT_EQ(rate.latency_ns, longest);
    shared += least < alone ? 1 : 0;
  }
  EXPECT_GT(shared, 100);
}

TEST(Ring, TakesTheTimeOfItsFormula) {
  Topology topology;
  const Place hub = topology.add(PlaceKind::kSwitch);
  std::vector<Place> devices;
  for (int i = 0; i < 4; ++i) {
    devices.push_back(topology.add(PlaceKind::kDevice));
    topology.link({devices.back(), hub, i == 2 ? 50'000'000'000 : 100'000'000'000, i == 2 ? 500 : 300});
  }
  const auto ring = Ring::over(topology, devices);
  ASSERT_TRUE(ring);
  EXPECT_EQ(ring->bytes_per_s(), 50'000'000'000) << "both ways apart, the narrowest link decides";
  EXPECT_EQ(ring->round_ns(), 700) << "two routes of 600 and two of 800";
  // 2 x 3/4 x 1 MB at 50 GB/s = 30 us, and 6 rounds of 700 ns.
  EXPECT_NEAR(ring->all_reduce().ns(1e6), 30'000 + 4'200, 1e-6);
  EXPECT_NEAR(ring->all_gather().ns(1e6), 15'000 + 2'100, 1e-6);
  const Place alone = topology.add(PlaceKind::kDevice);
  EXPECT_FALSE(Ring::over(topology, std::vector<Place>{devices[0], alone}));
}

TEST(Ring, BothWaysOverOneLinkShareIt) {
  Topology topology;
  const std::vector<Place> two{topology.add(PlaceKind::kDevice), topology.add(PlaceKind::kDevice)};
  topology.link({two[0], two[1], 1000, 0, Sharing::kBothWays});
  EXPECT_EQ(Ring::over(topology, two)->bytes_per_s(), 500);
}

}  // namespace
}  // namespace kvplan::topology
