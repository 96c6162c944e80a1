// The cases of a plan as rows of a sweep's database (simulator/sweep), which `kvplan report` reads. There are two more
// tables than in a sweep's: `plan_path` (position, case, why, outcome), the steps of the search in their order, and
// `plan_numbers` (case, name, value), the values of the targets by which the search judged.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simulator/planner/trials.h"
#include "simulator/sweep/database.h"

namespace kvplan::planner {

struct DatabaseOptions {
  std::string path;
  bool resume{false};
  std::vector<std::pair<std::string, std::string>> inputs;  ///< files and their digests
};

/// `first`: a scenario of the space. Errors: the file exists (without resume); or it belongs to another plan.
Result<std::unique_ptr<Store>> open_database_store(const DatabaseOptions& options, const Space& space,
                                                   const std::vector<Target>& targets,
                                                   const runs::Scenario& first);

}  // namespace kvplan::planner
