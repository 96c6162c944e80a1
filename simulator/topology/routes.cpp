#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <functional>
#include <limits>

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
/// A nanosecond costs more than any number of links does.
constexpr std::int64_t kCostOfNs = std::int64_t{1} << 20;

Graph graph_of(const Topology& topology) {
  Graph graph(topology.places().size());
  for (std::size_t i = 0; i < topology.links().size(); ++i) {
    const Link& link = topology.links()[i];
    boost::add_edge(link.first, link.second, {i, link.bytes_per_s, link.latency_ns * kCostOfNs + 1}, graph);
  }
  return graph;
}

/// The rate of the narrowest link of the widest route; 0 if there is no route.
std::int64_t greatest_width(const Graph& graph, Place from, Place to) {
  std::vector<std::int64_t> width(boost::num_vertices(graph));
  std::vector<Vertex> before(boost::num_vertices(graph));
  // "Distances" are widths: a route is as wide as its narrowest link, and wider is nearer.
  boost::dijkstra_shortest_paths(
      graph, from,
      boost::weight_map(boost::get(&EdgeFacts::bytes_per_s, graph))
          .distance_map(width.data())
          .predecessor_map(before.data())
          .distance_compare(std::greater<>())
          .distance_combine([](std::int64_t a, std::int64_t b) { return std::min(a, b); })
          .distance_inf(0)
          .distance_zero(kFar));
  return width[to];
}

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

std::optional<Route> Topology::shortest_over(Place from, Place to, std::int64_t bytes_per_s) const {
  const Graph all = graph_of(*this);
  const boost::filtered_graph<Graph, WideEnough> graph(all, WideEnough{&all, bytes_per_s});
  std::vector<std::int64_t> cost(places_.size());
  std::vector<Vertex> before(places_.size());
  boost::dijkstra_shortest_paths(graph, from,
                                 boost::weight_map(boost::get(&EdgeFacts::cost, all))
                                     .distance_map(cost.data())
                                     .predecessor_map(before.data()));
  if (cost[to] == kFar) return std::nullopt;
  Route route;
  for (Place at = to; at != from; at = before[at]) {
    // The cheapest link, if several connect the two.
    const Edge* best = nullptr;
    const auto [begin, end] = boost::out_edges(before[at], graph);
    std::vector<Edge> beside;
    std::copy_if(begin, end, std::back_inserter(beside),
                 [&](const Edge& edge) { return boost::target(edge, graph) == at; });
    for (const Edge& edge : beside)
      if (best == nullptr || all[edge].cost < all[*best].cost) best = &edge;
    KVPLAN_CHECK(best != nullptr);
    const std::size_t link = all[*best].link;
    route.push_back({link, links_[link].second == at});
  }
  std::reverse(route.begin(), route.end());
  return route;
}

std::optional<Route> Topology::widest(Place from, Place to) const {
  if (from == to) return Route{};
  const std::int64_t width = greatest_width(graph_of(*this), from, to);
  if (width == 0) return std::nullopt;
  return shortest_over(from, to, width);
}

std::optional<Route> Topology::shortest(Place from, Place to) const {
  return shortest_over(from, to, 0);
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

}  // namespace kvplan::topology
