#include "traces/record/turns.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/depth_first_search.hpp>
#include <exception>
#include <queue>
#include <string>
#include <tuple>
#include <utility>

namespace kvplan::traces {
namespace {

using Graph = boost::compressed_sparse_row_graph<boost::directedS>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

/// Thrown by the search: the requests of a cycle, each of which waits for the one before it.
struct Circle : std::exception {
  std::vector<Vertex> requests;
};

/// Lists requests in the order in which the search leaves them: each after all that wait for it.
class Order : public boost::default_dfs_visitor {
 public:
  Order(std::vector<Vertex>& left, std::vector<Vertex>& came_from) : left_(&left), came_from_(&came_from) {}
  void tree_edge(Edge edge, const Graph& graph) const {
    (*came_from_)[boost::target(edge, graph)] = boost::source(edge, graph);
  }
  void back_edge(Edge edge, const Graph& graph) const {
    Circle circle;
    const Vertex begin = boost::target(edge, graph);
    for (Vertex at = boost::source(edge, graph);; at = (*came_from_)[at]) {
      circle.requests.push_back(at);
      if (at == begin) break;
    }
    std::reverse(circle.requests.begin(), circle.requests.end());
    throw circle;
  }
  void finish_vertex(Vertex request, const Graph& /*graph*/) const { left_->push_back(request); }

 private:
  std::vector<Vertex>* left_;
  std::vector<Vertex>* came_from_;
};

Error circle_error(const std::vector<Vertex>& requests) {
  constexpr std::size_t kNamed = 8;
  std::string text = "requests wait for each other in a circle: request ";
  if (requests.size() == 1)
    return bad_input(text + std::to_string(requests[0]) + " waits for itself").at_field("waits");
  const std::size_t named = std::min(requests.size(), kNamed);
  for (std::size_t i = 0; i < named; ++i) text += std::to_string(requests[i]) + " before ";
  if (named < requests.size()) text += std::to_string(requests.size() - named) + " more before ";
  return bad_input(text + std::to_string(requests[0])).at_field("waits");
}

/// Requests that waits join, each named by the least of them.
std::vector<std::int32_t> groups_of(const Waits& waits, std::int64_t requests) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> graph(
      static_cast<std::size_t>(requests));
  for (std::size_t k = 0; k < waits.size(); ++k)
    if (waits.later(k) < requests)
      boost::add_edge(static_cast<std::size_t>(waits.request[k]), static_cast<std::size_t>(waits.before[k]),
                      graph);
  std::vector<std::int32_t> group(static_cast<std::size_t>(requests));
  const auto groups = static_cast<std::size_t>(boost::connected_components(graph, group.data()));
  std::vector<std::int32_t> least(groups, -1);
  for (std::size_t r = 0; r < group.size(); ++r) {
    std::int32_t& name = least[static_cast<std::size_t>(group[r])];
    if (name < 0) name = static_cast<std::int32_t>(r);
    group[r] = name;
  }
  return group;
}

/// A request of the session that no other waits for yet.
struct OpenEnd {
  std::int64_t end_ns;
  std::int32_t request;
  /// The requests that it waits for itself; those that ended last are at the end
  std::vector<std::int32_t> before;
  bool operator>(const OpenEnd& other) const {
    return std::pair(end_ns, request) > std::pair(other.end_ns, other.request);
  }
};

/// A request that runs in parallel to others inherits their waits, but at most this many, the last to end: otherwise
/// the product of parallel requests and those before them would be too large.
constexpr std::size_t kMostTakenOver = 64;

void wait_for(Waits& waits, std::int32_t request, std::int32_t before) {
  waits.request.push_back(request);
  waits.before.push_back(before);
}

/// The waits of one session's requests, given by (arrival, position).
void chain_session(const Trace& trace, std::span<const std::int32_t> members,
                   const std::vector<bool>& states_own, Waits& out) {
  std::priority_queue<OpenEnd, std::vector<OpenEnd>, std::greater<>> open;
  for (const std::int32_t r : members) {
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t arrival = trace.arrival_ns[i];
    const std::int64_t took = i < trace.e2e_ns.size() ? std::max<std::int64_t>(trace.e2e_ns[i], 0) : 0;
    OpenEnd own{arrival, r, {}};
    if (__builtin_add_overflow(arrival, took, &own.end_ns)) own.end_ns = INT64_MAX;
    for (; !open.empty() && open.top().end_ns <= arrival; open.pop())
      own.before.push_back(open.top().request);
    if (own.before.empty() && !open.empty()) {  // it runs in parallel to all of them
      const std::vector<std::int32_t>& theirs = open.top().before;
      const std::size_t taken = std::min(theirs.size(), kMostTakenOver);
      own.before.assign(theirs.end() - static_cast<std::ptrdiff_t>(taken), theirs.end());
    }
    if (!states_own[i])
      for (const std::int32_t before : own.before) wait_for(out, r, before);
    open.push(std::move(own));
  }
}

}  // namespace

Result<Turns> turns_of(const Waits& waits, std::int64_t requests) {
  Turns turns;
  std::vector<std::pair<Vertex, Vertex>> edges;
  edges.reserve(waits.size());
  for (std::size_t k = 0; k < waits.size(); ++k)
    if (waits.later(k) < requests)
      edges.emplace_back(static_cast<Vertex>(waits.before[k]), static_cast<Vertex>(waits.request[k]));
  if (edges.empty()) return turns;
  std::sort(edges.begin(), edges.end());
  const auto count = static_cast<std::size_t>(requests);
  const Graph graph(boost::edges_are_sorted, edges.begin(), edges.end(), count);

  std::vector<Vertex> left;
  left.reserve(count);
  std::vector<Vertex> came_from(count);
  try {
    boost::depth_first_search(graph, boost::visitor(Order(left, came_from)));
  } catch (const Circle& circle) {
    return circle_error(circle.requests);
  }

  turns.waits_for.assign(count, 0);
  turns.first.reserve(count + 1);
  turns.followers.reserve(edges.size());
  for (Vertex r = 0; r < count; ++r) {
    turns.first.push_back(static_cast<std::uint32_t>(turns.followers.size()));
    const auto [begin, end] = boost::adjacent_vertices(r, graph);
    for (auto follower = begin; follower != end; ++follower) {
      turns.followers.push_back(static_cast<std::int32_t>(*follower));
      ++turns.waits_for[*follower];
    }
  }
  turns.first.push_back(static_cast<std::uint32_t>(turns.followers.size()));
  turns.group = groups_of(waits, requests);

  std::vector<std::int64_t> chain(count, 1);
  for (auto r = left.rbegin(); r != left.rend(); ++r) {
    turns.longest_chain = std::max(turns.longest_chain, chain[*r]);
    for (const std::int32_t follower : turns.followers_of(static_cast<std::int32_t>(*r))) {
      std::int64_t& length = chain[static_cast<std::size_t>(follower)];
      length = std::max(length, chain[*r] + 1);
    }
  }
  return turns;
}

std::vector<std::int64_t> group_starts_ns(const Trace& trace, const Turns& turns) {
  std::vector<std::int64_t> start(turns.group.size(), INT64_MAX);
  for (std::size_t r = 0; r < start.size(); ++r) {
    std::int64_t& first = start[static_cast<std::size_t>(turns.group[r])];
    first = std::min(first, trace.arrival_ns[r]);
  }
  return start;
}

Waits session_waits(const Trace& trace, std::int64_t requests) {
  Waits out;
  std::vector<bool> states_own(static_cast<std::size_t>(requests), false);
  for (std::size_t k = 0; k < trace.waits.size(); ++k) {
    if (trace.waits.later(k) >= requests) continue;
    wait_for(out, trace.waits.request[k], trace.waits.before[k]);
    states_own[static_cast<std::size_t>(trace.waits.request[k])] = true;
  }
  // Members of each session by (arrival, position): sort all that have one by (session, arrival, position).
  std::vector<std::int32_t> members;
  for (std::size_t r = 0; r < static_cast<std::size_t>(requests) && r < trace.session.size(); ++r)
    if (trace.session[r] >= 0) members.push_back(static_cast<std::int32_t>(r));
  const auto key = [&](std::int32_t r) {
    const auto i = static_cast<std::size_t>(r);
    return std::tuple(trace.session[i], trace.arrival_ns[i], r);
  };
  std::sort(members.begin(), members.end(), [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  for (auto begin = members.begin(); begin != members.end();) {
    const std::int32_t session = trace.session[static_cast<std::size_t>(*begin)];
    const auto end = std::find_if(begin, members.end(), [&](std::int32_t r) {
      return trace.session[static_cast<std::size_t>(r)] != session;
    });
    chain_session(trace, {begin, end}, states_own, out);
    begin = end;
  }
  sort_waits(out);
  return out;
}

void sort_waits(Waits& waits) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  pairs.reserve(waits.size());
  for (std::size_t k = 0; k < waits.size(); ++k) pairs.emplace_back(waits.request[k], waits.before[k]);
  std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) {
    return std::tuple(std::max(a.first, a.second), a.first, a.second) <
           std::tuple(std::max(b.first, b.second), b.first, b.second);
  });
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  waits.request.clear();
  waits.before.clear();
  for (const auto& [request, before] : pairs) wait_for(waits, request, before);
}

}  // namespace kvplan::traces
