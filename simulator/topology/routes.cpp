#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/dijkstra_shortest_paths_no_color_map.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <exception>
#include <functional>
#include <limits>
#include <span>

#include "simulator/base/check.h"
#include "simulator/topology/topology.h"

namespace kvplan::topology {
namespace {

struct EdgeFacts {
  std::size_t link;
  std::int64_t bytes_per_s, cost;
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property, EdgeFacts>;
using Vertex = Graph::vertex_descriptor;
using Edge = Graph::edge_descriptor;

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
/// The cost of a nanosecond, which is more than that of any number of links.
constexpr std::int64_t kCostOfNs = std::int64_t{1} << 20;

Graph graph_of(const Topology& topology) {
  Graph graph(topology.places().size());
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    boost::add_edge(link.first, link.second, {i, link.bytes_per_s, link.latency_ns * kCostOfNs + 1}, graph);
  }
  return graph;
}

/// Thrown to end a search at its destination, where the distance is final.
struct Arrived : std::exception {};

/// Records the places that a search discovers, and ends it at the destination.
class Watch : public boost::default_dijkstra_visitor {
 public:
  Watch(Vertex to, std::vector<Vertex>& seen) : to_(to), seen_(&seen) {}
  template <class AnyGraph>
  void discover_vertex(Vertex vertex, const AnyGraph& /*graph*/) {
    seen_->push_back(vertex);
  }
  template <class AnyGraph>
  void examine_vertex(Vertex vertex, const AnyGraph& /*graph*/) {
    if (vertex == to_) throw Arrived();
  }

 private:
  Vertex to_;
  std::vector<Vertex>* seen_;
};

struct WideEnough {
  const Graph* graph{nullptr};
  std::int64_t bytes_per_s{0};
  bool operator()(const Edge& edge) const { return (*graph)[edge].bytes_per_s >= bytes_per_s; }
};

}  // namespace

Place Topology::add(PlaceKind kind) {
  places_.push_back(kind);
  return places_.size() - 1;
}

void Topology::link(const Link& link) {
  KVPLAN_CHECK(link.first < places_.size() && link.second < places_.size() && link.first != link.second);
  KVPLAN_CHECK(link.bytes_per_s > 0 && link.latency_ns >= 0);
  links_.push_back(link);
}

std::optional<Route> Topology::widest(Place from, Place to) const {
  return RouteFinder(*this).widest(from, to);
}

std::optional<Route> Topology::shortest(Place from, Place to) const {
  return RouteFinder(*this).shortest(from, to);
}

std::int64_t Topology::width_of(const Route& route) const {
  KVPLAN_CHECK(!route.empty());
  std::int64_t width = kFar;
  for (const Hop& hop : route) width = std::min(width, links_[hop.link].bytes_per_s);
  return width;
}

std::int64_t Topology::latency_of(const Route& route) const {
  std::int64_t ns = 0;
  for (const Hop& hop : route) ns += links_[hop.link].latency_ns;
  return ns;
}

/// State that searches share. All distances are infinite between two searches, so a search changes only the places that
/// it discovers.
struct RouteFinder::Search {
  explicit Search(const Topology& topology)
      : graph(graph_of(topology)),
        width(topology.places().size(), 0),
        cost(topology.places().size(), kFar),
        before(topology.places().size()) {}

  /// Fills the distances of `to` and of all nearer places. `forget` resets them.
  template <class AnyGraph, class Weights, class Compare, class Combine>
  void look(const AnyGraph& over, Place from, Place to, std::vector<std::int64_t>& distance, Weights weights,
            Compare compare, Combine combine, std::int64_t infinity, std::int64_t zero) {
    distance[from] = zero;
    before[from] = from;
    try {
      boost::dijkstra_shortest_paths_no_color_map_no_init(over, from, before.data(), distance.data(), weights,
                                                          boost::get(boost::vertex_index, graph), compare,
                                                          combine, infinity, zero, Watch(to, seen));
    } catch (const Arrived&) {
      return;
    }
  }
  void forget(std::vector<std::int64_t>& distance, std::int64_t infinity) {
    for (const Vertex vertex : seen) distance[vertex] = infinity;
    seen.clear();
  }

  /// The rate of the narrowest link of the widest route; 0 if there is no route.
  std::int64_t greatest_width(Place from, Place to) {
    // "Distances" are widths: a route is as wide as its narrowest link, and wider is nearer.
    look(
        graph, from, to, width, boost::get(&EdgeFacts::bytes_per_s, graph), std::greater<>(),
        [](std::int64_t a, std::int64_t b) { return std::min(a, b); }, 0, kFar);
    const std::int64_t found = width[to];
    forget(width, 0);
    return found;
  }

  /// As `shortest`, over links of at least this rate.
  std::optional<Route> shortest_over(std::span<const Link> links, Place from, Place to,
                                     std::int64_t bytes_per_s) {
    const boost::filtered_graph<Graph, WideEnough> wide(graph, WideEnough{&graph, bytes_per_s});
    look(wide, from, to, cost, boost::get(&EdgeFacts::cost, graph), std::less<>(),
         boost::closed_plus<std::int64_t>(kFar), kFar, 0);
    const bool found = cost[to] != kFar;
    forget(cost, kFar);
    if (!found) return std::nullopt;
    Route route;
    for (Place at = to; at != from; at = before[at]) {
      // Of several links between two places, a link with the least cost.
      std::optional<Edge> best;
      const auto [begin, end] = boost::out_edges(at, wide);
      for (auto edge = begin; edge != end; ++edge)
        if (boost::target(*edge, wide) == before[at] && (!best || graph[*edge].cost < graph[*best].cost))
          best = *edge;
      KVPLAN_CHECK(best.has_value());
      const std::size_t link = graph[*best].link;
      route.push_back({link, links[link].second == at});
    }
    std::reverse(route.begin(), route.end());
    return route;
  }

  Graph graph;
  std::vector<std::int64_t> width, cost;
  std::vector<Vertex> before, seen;
};

RouteFinder::RouteFinder(const Topology& topology)
    : topology_(topology), search_(std::make_unique<Search>(topology)) {}
RouteFinder::~RouteFinder() = default;

std::optional<Route> RouteFinder::widest(Place from, Place to) {
  if (from == to) return Route{};
  const std::int64_t width = search_->greatest_width(from, to);
  if (width == 0) return std::nullopt;
  return search_->shortest_over(topology_.links(), from, to, width);
}

std::optional<Route> RouteFinder::shortest(Place from, Place to) {
  return search_->shortest_over(topology_.links(), from, to, 0);
}

}  // namespace kvplan::topology
