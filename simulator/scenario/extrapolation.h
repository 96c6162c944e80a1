// What recordings may be used for if they do not have the model's shape.
#pragma once

#include "simulator/base/component.h"

namespace kvplan::runs {

inline constexpr std::string_view kExtrapolationFamily = "extrapolation";

/// `none`, and the other values that a scenario can name.
Catalogue extrapolations();

/// True: layers and heads of recordings are used for those of the model. REQUIRES: the choice is of this family.
bool extrapolates_shape(const Choice& extrapolation);

}  // namespace kvplan::runs
