// The search for the cheapest deployment: which numbers of replicas of which shapes are tried, in which order, and what
// follows from the verdicts. It uses neither scenarios nor runs: it asks for verdicts in rounds, so the order of trials
// does not depend on the number of threads.
//
// Method. A shape is everything but the number of replicas. More replicas cost more and are assumed to meet all targets
// that fewer replicas meet. So each shape has a smallest number that meets them, found by doubling and halving. Shapes
// of one group (a kind of device) compete by price: after the first shape has an answer, every other shape is first
// tried with as many replicas as the price of this answer buys. If it misses the targets even then, it cannot be
// cheaper and is not tried further. The assumption is checked: around the answer of a group, its neighbours are tried
// too (below it down to the first overload, at most kNeighbours), and every pair of verdicts that contradicts the
// assumption is reported. If fewer replicas than the answer meet the targets, they become the answer.
//
// With slices, every shape is first searched on a part of the trace. The result only decides where the search on the
// whole trace begins, and which shapes are not tried: those with a slice that needs more than kSliceMargin times the
// price of the group's cheapest slice.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::planner {

/// The result of one case.
struct Verdict {
  bool ran{false};       ///< false: it cannot run
  bool meets{false};     ///< all targets hold
  bool overload{false};  ///< requests arrived faster than they were served, and this made it miss a target
  double tightness{0};   ///< see target.h
};

/// A case to try.
struct Trial {
  std::size_t shape{0};
  std::int64_t replicas{0};
  bool slice{false};
  std::string why;
};

struct SearchShape {
  std::size_t group{0};  ///< shapes of one group compete by price
  std::int64_t gpus_of_replica{1};
};

struct SearchRequest {
  std::vector<SearchShape> shapes;
  std::int64_t most_gpus{0};
  /// Price of a number of GPUs of a group; it must not fall with their number.
  std::function<double(std::size_t group, std::int64_t gpus)> cost;
  double most_cost{0};  ///< no answer costs more
  bool slices{false};
  /// Verdicts of the trials, in their order. An error ends the search.
  std::function<Result<std::vector<Verdict>>(const std::vector<Trial>&)> run;
};

/// How many smaller numbers of replicas than an answer are tried; an overload ends this earlier.
inline constexpr std::int64_t kNeighbours = 8;
inline constexpr double kSliceMargin = 1.5;

struct Found {
  std::size_t shape{0};
  std::int64_t replicas{0};
  std::int64_t gpus{0};
  double cost{0};
  double tightness{0};
};
/// True if `a` is cheaper; at equal price, with fewer GPUs, then farther from the limits, then the earlier shape.
bool better(const Found& a, const Found& b);

/// More replicas missed targets that fewer replicas met.
struct Contradiction {
  std::size_t shape{0};
  std::int64_t fewer{0}, more{0};
};

struct SearchResult {
  std::vector<std::optional<Found>> of_group;  ///< the cheapest of each group
  std::vector<std::optional<Found>> of_shape;  ///< the fewest replicas found; absent: none, or not searched
  std::vector<std::map<std::int64_t, Verdict>> tried;  ///< of each shape, by replicas, on the whole trace
  std::vector<Contradiction> contradictions;
  std::optional<Error> error;  ///< why the search ended early; everything else is what was found until then

  /// The cheapest of all groups.
  [[nodiscard]] std::optional<Found> best() const;
};

SearchResult search(const SearchRequest& request);

}  // namespace kvplan::planner
