// Applies budget schemes with scores that are read from files.
#pragma once

#include <cstdint>

#include "simulator/attention/budget.h"
#include "simulator/attention/recording.h"
#include "simulator/base/result.h"

namespace kvplan::io {

/// A recorded sequence on which scores are measured.
struct MeasuredOn {
  const attention::Recording* recording{nullptr};  ///< null: nothing can be measured
  std::int32_t sequence{0};
};

/// Tokens of a prompt that a scheme keeps in each layer of a model. Errors: those of the scheme; scores that cannot
/// be read or measured (the field is the parameter).
Result<attention::Retained> retained_of(const Choice& budget, std::int64_t layers, std::int64_t prompt,
                                        const MeasuredOn& on = {});

}  // namespace kvplan::io
