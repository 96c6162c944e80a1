#include "simulator/scenario/extrapolation.h"

#include <array>

namespace kvplan::runs {
namespace {

constexpr Descriptor kNoExtrapolation{.family = kExtrapolationFamily,
                                      .name = "none",
                                      .summary = "A recording is used only if the model has its shape.",
                                      .source = "kvplan",
                                      .params = {}};

constexpr Descriptor kByShape{
    .family = kExtrapolationFamily,
    .name = "shape",
    .summary =
        "Recordings of another shape than the model's are used too. A layer of the model keeps the tokens of "
        "the recorded layer at the same relative depth, and a KV head those of the recorded head at the same "
        "relative index. Heads with the same recorded head keep the same tokens.",
    .source = "kvplan",
    .params = {}};

}  // namespace

Catalogue extrapolations() {
  static constexpr std::array kAll{&kNoExtrapolation, &kByShape};
  return kAll;
}

bool extrapolates_shape(const Choice& extrapolation) {
  return &extrapolation.descriptor() == &kByShape;
}

}  // namespace kvplan::runs
