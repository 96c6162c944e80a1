// A window that shrinks from layer to layer, of symmetric integers with a scale for each append.
#include <algorithm>

#include "simulator/formats/tensor_quantised.h"

namespace kvplan::formats::pyramid_int8 {
namespace {

constexpr std::array kParams{bits_param("Bits per code", "8"),
                             rounding_param("trunc"),
                             kScaleParam,
                             kLayerParam,
                             kLayersParam,
                             Param{.name = "max_len",
                                   .help = "Tokens that the first layer keeps",
                                   .unit = Unit::kTokens,
                                   .fallback = "2048",
                                   .low = 1,
                                   .high = kMostTokens},
                             Param{.name = "ratio",
                                   .help = "The last layer keeps this share of the first layer's tokens; the "
                                           "layers between are interpolated linearly",
                                   .kind = ParamKind::kDecimal,
                                   .unit = Unit::kRatio,
                                   .fallback = "0.5",
                                   .low = 0,
                                   .high = 1},
                             Param{.name = "min_size",
                                   .help = "Minimum number of tokens per layer",
                                   .unit = Unit::kTokens,
                                   .fallback = "64",
                                   .low = 1,
                                   .high = kMostTokens}};

class PyramidInt8 final : public TensorQuantised {
 public:
  PyramidInt8(const Shape& shape, const TensorQuantiser& quantiser, std::int32_t window)
      : TensorQuantised(shape, quantiser), window_(window) {}

 protected:
  void on_prompt_end(const PromptQueries& /*queries*/) override { crop(); }
  void on_step_end() override { crop(); }

 private:
  void crop() {
    for (std::int32_t h = 0; h < shape().kv_heads; ++h) {
      std::vector<std::int32_t> old;
      for (std::int32_t i = 0; i + window_ < plane(Side::kKeys, h).tokens(); ++i) old.push_back(i);
      drop(h, old);
    }
  }

  std::int32_t window_;
};

Status check(const Choice& choice, const Shape& /*shape*/, std::int64_t /*prompt*/) {
  return check_placed(choice);
}

/// Number of tokens that the layer keeps.
std::int64_t window_of(const Choice& choice) {
  const auto most = static_cast<double>(choice.integer("max_len"));
  const auto layer = static_cast<double>(choice.integer("layer"));
  const auto last = static_cast<double>(std::max<std::int64_t>(choice.integer("layers") - 1, 1));
  // Computed in this order of operations, then truncated.
  const double share = 1.0 - (1.0 - choice.decimal("ratio")) * (layer / last);
  return std::max(static_cast<std::int64_t>(most * share), choice.integer("min_size"));
}

std::unique_ptr<Codec> make(const Choice& choice, const Shape& shape) {
  return std::make_unique<PyramidInt8>(shape, tensor_quantiser_of(choice),
                                       static_cast<std::int32_t>(window_of(choice)));
}

Regions bytes_of(const Choice& choice, const Shape& shape, const Lengths& lengths, Side side) {
  return tensor_bytes(
      tensor_quantiser_of(choice), shape,
      {.newest = std::min(lengths.stored(), window_of(choice)), .generated = lengths.generated}, side);
}

/// The format's own window keeps only the newest tokens, so the policy must not keep first tokens.
bool by_position(const Choice& /*choice*/, std::int64_t sinks) {
  return sinks == 0;
}

}  // namespace

extern const FormatKind kMember;
const FormatKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "pyramid-int8",
                   .summary = "Quantised pyramid of the design notes: each layer keeps its last tokens, "
                              "fewer in higher layers, as truncated integers with one scale per append",
                   .source = "kvplan's design notes on KV caches (QuantizedPyramid)",
                   .params = kParams,
                   .divergences = "With size n, a query attends to n + 1 tokens, as with all windows in "
                                  "kvplan: the design notes crop before they append."},
    .golden_name = "pyramid_int8",
    .check = check,
    .make = make,
    .lengths = {.regions = bytes_of, .keeps = window_of, .by_position = by_position},
    .of_layer = placed};

}  // namespace kvplan::formats::pyramid_int8
