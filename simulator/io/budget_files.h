// Budget schemes with the scores that they read from files.
#pragma once

#include <cstdint>

#include "simulator/attention/budget.h"
#include "simulator/base/result.h"

namespace kvplan::io {

/// What a scheme retains of a prompt, in each layer of a model. Errors: those of the scheme; scores that cannot be read
/// (the field is the parameter).
Result<attention::Retained> retained_of(const Choice& budget, std::int64_t layers, std::int64_t prompt);

}  // namespace kvplan::io
