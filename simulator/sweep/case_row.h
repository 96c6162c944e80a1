// What a database keeps of a case: its figures, or why it could not run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/results/figures.h"

namespace kvplan::sweep {

struct CaseRow {
  std::int64_t number{0};  ///< of the case, from 0
  std::optional<Error> error;
  std::vector<plan::FigureValue>
      figures;  ///< parallel to plan::figures(). With an error they are empty, or only
                ///< fits.starts has a value: the engine would not start
};

}  // namespace kvplan::sweep
