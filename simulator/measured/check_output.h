// A check as text and as JSON.
#pragma once

#include <string>

#include "simulator/measured/check.h"

namespace kvplan::measured {

/// A table of quantities, then the cause.
std::string check_text(const Check& check, const runs::RunResult& run, std::size_t width);
/// {"quantities": [{"name", "predicted", "measured", "error"}], "cause", "why", "warnings"}; cause is null where
/// nothing errs.
std::string check_json(const Check& check);

}  // namespace kvplan::measured
