// A case in a database: its figures, or the error if it could not run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/results/figures.h"

namespace kvplan::sweep {

struct CaseRow {
  std::int64_t number{0};  ///< number of the case, from 0
  std::optional<Error> error;
  std::vector<runs::FigureValue>
      /// Parallel to runs::figures(). If the case has an error, all are empty, or only fits.starts has a value: the
      /// engine would not start
      figures;
};

}  // namespace kvplan::sweep
