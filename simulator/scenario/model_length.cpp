#include "simulator/scenario/model_length.h"

namespace kvplan::runs {

std::optional<std::int64_t> model_length(const scheduling::EngineTraits& engine,
                                         const model::ModelShape& shape) {
  return engine.beyond_model.counts_scaling && shape.scaled_positions ? shape.scaled_positions
                                                                      : shape.max_positions;
}

}  // namespace kvplan::runs
