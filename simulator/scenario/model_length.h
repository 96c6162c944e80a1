// The longest request that a server takes because of its model.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/model/model_shape.h"
#include "simulator/scheduling/engine.h"

namespace kvplan::runs {

/// The longest request that the model was made for, as this engine reads its config; nothing if the config does not say
/// it.
std::optional<std::int64_t> model_length(const scheduling::EngineTraits& engine,
                                         const model::ModelShape& shape);

}  // namespace kvplan::runs
