// Makes a plan: the cheapest deployment that serves a trace within its targets, by search over devices, ranks and
// numbers of replicas, with what surrounds the answer. The command, the desktop program and other programs use this.
//
// Life cycle: fill a PlanRequest, call make_plan. The result does not depend on the number of threads. With a store,
// cases from before are not run again. An interruption (core::RunControl) ends it with the best so far, if there is
// one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/planner/plan.h"
#include "simulator/planner/trials.h"
#include "simulator/study/inputs.h"

namespace kvplan::planner {

struct PlanRequest {
  std::vector<runs::Setting> settings;  ///< the scenario, targets included
  std::optional<double> goodput_per_s;  ///< a target that scenarios do not have
  std::vector<std::string> rates{"1"};
  std::vector<std::string> devices;  ///< empty: the scenario's, else those of its price list
  std::vector<runs::Vary> may;       ///< deployment.tp and deployment.pp replace the default lists
  std::int64_t most_gpus{256};
  std::optional<double> budget_per_hour;
  double start_up_s{300};  ///< of a server, for the GPUs over the day
  /// Requests from which a slice is searched first.
  std::int64_t slice_from{8000};
  /// Resamples of the traffic for intervals; absent: 100, and fewer from 20,000 requests on (at least 20); 0: none.
  std::optional<std::int64_t> resamples;
  std::shared_ptr<runs::Inputs> inputs;
  int threads{1};
  core::RunControl* control{nullptr};
  /// Makes the store of cases when the space is known; may be empty.
  std::function<Result<std::unique_ptr<Store>>(const Space& space, const std::vector<Target>& targets,
                                               const runs::Scenario& first)>
      open_store;
  /// Runs so far, and those that are expected in all; called in the calling thread. May be empty.
  std::function<void(std::int64_t runs, std::int64_t expected)> on_progress;
};

/// Errors: a setting that cannot be read, a device without a price, no device that starts, no targets, targets or a
/// budget that nothing meets (with what would help), interrupted before anything was found.
Result<Plan> make_plan(const PlanRequest& request);

/// `may` with the whole path of a short name: "kv-format" is "format". The engine decides names of its parameters.
runs::Vary with_whole_path(runs::Vary may, const runs::Scenario& scenario);

}  // namespace kvplan::planner
