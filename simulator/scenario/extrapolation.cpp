#include "simulator/scenario/extrapolation.h"

#include <array>

namespace kvplan::plan {
namespace {

constexpr Descriptor kNone{.family = kExtrapolationFamily,
                           .name = "none",
                           .summary = "A recording drives requests of a model of its own shape alone.",
                           .source = "kvplan",
                           .params = {}};

constexpr Descriptor kShape{
    .family = kExtrapolationFamily,
    .name = "shape",
    .summary =
        "Recordings of another shape drive requests too: a layer of the model keeps what the recorded one at "
        "the same depth does, a stored head what the recorded one at the same place among the heads does. "
        "Heads that stand for several keep the same tokens in all of these.",
    .source = "kvplan",
    .params = {}};

}  // namespace

Catalogue extrapolations() {
  static constexpr std::array kAll{&kNone, &kShape};
  return kAll;
}

bool extrapolates_shape(const Choice& extrapolation) {
  return &extrapolation.descriptor() == &kShape;
}

}  // namespace kvplan::plan
