// What recordings may represent if they do not have the model's shape.
#pragma once

#include "simulator/base/component.h"

namespace kvplan::runs {

inline constexpr std::string_view kExtrapolationFamily = "extrapolation";

/// `none`, and what a scenario can name instead.
Catalogue extrapolations();

/// True: layers and heads of recordings represent those of the model. REQUIRES: the choice is of this family.
bool extrapolates_shape(const Choice& extrapolation);

}  // namespace kvplan::runs
