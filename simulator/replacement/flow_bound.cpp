#include "simulator/replacement/flow_bound.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/replacement/replacements.h"

namespace kvplan::replacement {
namespace {

/// A block kept in all gaps [begin, end) between references; gap k is after reference k.
struct Interval {
  std::int64_t begin, end;
};

std::vector<Interval> reuses(const References& refs) {
  std::vector<Interval> out;
  std::vector<std::int64_t> last(refs.distinct, -1);
  for (std::int64_t k = 0; k < refs.count(); ++k) {
    std::int64_t& before = last[refs.ids[static_cast<std::size_t>(k)]];
    if (before >= 0) out.push_back({before, k});
    before = k;
  }
  return out;
}

/// Removes the intervals during which never more than `capacity` overlap, because they can always be kept.
std::vector<Interval> contended(std::vector<Interval> intervals, std::int64_t references,
                                std::int64_t capacity) {
  std::vector<std::int64_t> tight(static_cast<std::size_t>(references) +
                                  1);  // number of too full gaps before gap k
  for (const Interval& i : intervals) {
    ++tight[static_cast<std::size_t>(i.begin)];
    --tight[static_cast<std::size_t>(i.end)];
  }
  std::int64_t open = 0, full = 0;
  for (std::int64_t& entry : tight) {
    open += entry;
    entry = full;
    full += open > capacity ? 1 : 0;
  }
  std::erase_if(intervals, [&](const Interval& i) {
    return tight[static_cast<std::size_t>(i.begin)] == tight[static_cast<std::size_t>(i.end)];
  });
  return intervals;
}

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, std::int64_t,
                    boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor,
                                                    boost::property<boost::edge_weight_t, std::int64_t>>>>>;

void add_edge(Graph& graph, std::size_t from, std::size_t to, std::int64_t capacity, std::int64_t cost) {
  const auto edge = boost::add_edge(from, to, graph).first;
  const auto back = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, edge, capacity);
  boost::put(boost::edge_capacity, graph, back, std::int64_t{0});
  boost::put(boost::edge_reverse, graph, edge, back);
  boost::put(boost::edge_reverse, graph, back, edge);
  boost::put(boost::edge_weight, graph, edge, cost);
  boost::put(boost::edge_weight, graph, back, -cost);
}

/// Each unit of capacity is a unit of flow through the ends of the intervals in order of time. An edge from one end to
/// the next costs 1; an interval costs as much as the edges that it replaces, minus 1. So costs are never negative, and
/// paths differ in cost only by their intervals.
std::int64_t most_kept(const std::vector<Interval>& intervals, std::int64_t capacity) {
  if (intervals.empty()) return 0;
  std::vector<std::int64_t> ends;
  for (const Interval& i : intervals) ends.insert(ends.end(), {i.begin, i.end});
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  const auto place = [&](std::int64_t at) {
    return static_cast<std::size_t>(std::lower_bound(ends.begin(), ends.end(), at) - ends.begin()) + 1;
  };
  const std::size_t last = ends.size();  // `capacity` units enter at node 0
  Graph graph(last + 1);
  add_edge(graph, 0, 1, capacity, 0);
  for (std::size_t node = 1; node < last; ++node) add_edge(graph, node, node + 1, capacity, 1);
  for (const Interval& i : intervals) {
    const std::size_t from = place(i.begin), to = place(i.end);
    add_edge(graph, from, to, 1, static_cast<std::int64_t>(to - from) - 1);
  }
  boost::successive_shortest_path_nonnegative_weights(graph, std::size_t{0}, last);
  std::int64_t cost = 0;
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge) {
    const std::int64_t most = boost::get(boost::edge_capacity, graph, *edge);
    const std::int64_t flow = most - boost::get(boost::edge_residual_capacity, graph, *edge);
    if (flow > 0) cost += flow * boost::get(boost::edge_weight, graph, *edge);
  }
  return capacity * static_cast<std::int64_t>(last - 1) - cost;
}

}  // namespace

Result<FlowBound> flow_bound(const References& refs, std::int64_t capacity, bool (*stop_asked)(),
                             std::int64_t most_work) {
  const std::vector<Interval> all = reuses(refs);
  const std::vector<Interval> left = contended(all, refs.count(), capacity);
  FlowBound bound{.hits = 0, .method = "min-cost-flow", .intervals = static_cast<std::int64_t>(left.size())};
  // More units than intervals make no difference.
  const std::int64_t units = std::min(capacity, std::max<std::int64_t>(1, bound.intervals));
  if (bound.intervals <= most_work / units) {
    bound.hits = static_cast<std::int64_t>(all.size() - left.size()) + most_kept(left, units);
    return bound;
  }
  const auto choice = parse_component("belady:bypass=true", "replacement", replacement_descriptors());
  KVPLAN_CHECK(choice.ok());
  KVPLAN_TRY(const Hits hits,
             replacement_entry(choice.value()).replay(choice.value(), refs, capacity, stop_asked));
  bound.method = "greedy";
  bound.hits = hits.object;
  return bound;
}

}  // namespace kvplan::replacement
