// All that is known about a plan before any run: prices, the space, shapes that start, targets, trace and slice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/deployment/prices.h"
#include "simulator/planner/planner.h"

namespace kvplan::planner {

/// A shape that can be searched.
struct LiveShape {
  std::size_t shape{0};  ///< number in the space
  std::size_t group{0};  ///< group of its device
  std::int64_t gpus{1};  ///< of one replica
  std::int64_t pool_tokens{0};
  std::optional<std::int64_t> pool_low_tokens{}, pool_high_tokens{};  ///< set where the pool is derived
};

struct Prepared {
  Space space;
  std::vector<std::string> devices;  ///< canonical names, by group; one empty name: the scenario has none
  std::optional<runs::PriceList> prices;
  std::vector<LiveShape> shapes;
  std::vector<Refusal> refused;
  runs::Scenario first;  ///< scenario of the first live shape
  std::vector<Target> targets;
  runs::TracePtr trace, slice;
  std::int64_t longest_tokens{0};  ///< prompt and output tokens of the longest request
  /// A sentence about requests that servers reject, because they are longer than the model was made for; or empty.
  std::string too_long{};
  std::vector<std::string> notes;  ///< whole sentences

  /// Price of GPUs of a group per hour; without a price list, their number.
  [[nodiscard]] double cost(std::size_t group, std::int64_t gpus) const;
};

/// Errors: those of make_plan that are found without a run.
Result<Prepared> prepare(const PlanRequest& request);

}  // namespace kvplan::planner
