// The models of the recorded start-ups: their configs, as published beside their weights.
#pragma once

#include <string>

#include "simulator/model/model_shape.h"

namespace kvplan::runs::testing {

/// The model of a row of start_ups.csv; `quantization` is that column. Fails the test if there is none.
model::ModelShape start_up_model(const std::string& name, const std::string& quantization);

}  // namespace kvplan::runs::testing
