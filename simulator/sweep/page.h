// The database of a sweep as one self-contained HTML page (report/html.h): the varied paths, the best case for some
// figures, requested analyses (fronts, heat maps, effects), the mean of these figures by the value of each path, and
// the errors of failed cases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "simulator/sweep/database.h"
#include "simulator/sweep/effects.h"
#include "simulator/sweep/heat.h"
#include "simulator/sweep/pareto.h"

namespace kvplan::sweep {

/// Requested analyses.
struct Analyses {
  std::optional<Front> front;
  std::vector<HeatMap> heat_maps;
  std::vector<Effects> effects;
};

/// `command`: the command line that makes this page again.
Result<std::string> sweep_page(Database& database, const Analyses& analyses, const std::string& command);

}  // namespace kvplan::sweep
