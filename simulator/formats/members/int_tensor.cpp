// Symmetric integers with one scale for all heads and tokens of an append.
#include "simulator/formats/tensor_quantised.h"

namespace kvplan::formats {
namespace {

constexpr std::array kParams{bits_param("Bits of a code", "8"), kScaleParam, rounding_param("even")};

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<TensorQuantised>(shape, tensor_quantiser_of(choice));
}

}  // namespace

extern const FormatKind kIntTensor;
const FormatKind kIntTensor{
    .descriptor = {.family = kFamily,
                   .name = "int-tensor",
                   .summary = "Symmetric integers, one 4-byte scale for all heads and tokens of an append",
                   .source = "kvplan",
                   .params = kParams},
    .golden_name = "int_tensor",
    .make = make};

}  // namespace kvplan::formats
