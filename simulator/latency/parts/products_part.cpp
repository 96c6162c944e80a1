#include "simulator/latency/parts/products_part.h"

#include <algorithm>
#include <memory>

#include "simulator/model/weights.h"

namespace kvplan::latency {
namespace {

struct Times {
  kernels::KindCurve curve;
  double layers;
};

kernels::KindCurve curve_of(const Product& product, const kernels::CurveWish& wish) {
  return kernels::nearest_curve(kernels::gemm_kind(), wish,
                                {product.dtype, std::to_string(product.n), std::to_string(product.k)});
}

kernels::KindCurve curve_of(const ExpertProducts& experts, const kernels::CurveWish& wish) {
  return kernels::nearest_curve(kernels::moe_kind(), wish,
                                {experts.dtype, std::to_string(experts.hidden), std::to_string(experts.width),
                                 std::to_string(experts.chosen), std::to_string(experts.experts),
                                 std::to_string(experts.tensor_ranks), "1"});
}

}  // namespace

std::int64_t padded_tokens(std::int64_t tokens) {
  constexpr std::int64_t kMost = 512, kFine = 256;
  if (tokens > kMost || tokens < 3) return tokens;
  if (tokens <= 4) return 4;
  const std::int64_t step = tokens > kFine ? 16 : 8;
  return ceil_div(tokens, step) * step;
}

Result<ProductsPart> ProductsPart::make(const StepShape& shape, const kernels::CurveWish& wish) {
  KVPLAN_TRY(
      [[maybe_unused]] const auto counted,
      model::stage_weights(shape.model, shape.tensor_ranks, shape.stages, std::nullopt, shape.stage_layers));
  const StepProducts products = products_of(shape);
  ProductsPart part;
  auto each = std::make_shared<std::vector<Times>>();
  for (const Product& product : products.each_token) {
    each->push_back({curve_of(product, wish), static_cast<double>(product.layers)});
    const kernels::CurveOrigin& origin = each->back().curve.origin();
    if (each->size() == 1 || origin.source > part.weights_origin_.source) part.weights_origin_ = origin;
  }
  part.weights_ = CountedTicks([each](std::int64_t tokens) {
    const auto padded = static_cast<double>(padded_tokens(tokens));
    double us = 0;
    for (const Times& times : *each) us += times.layers * times.curve(padded);
    return us;
  });
  const auto output = std::make_shared<kernels::KindCurve>(curve_of(products.output, wish));
  part.output_ =
      CountedTicks([output](std::int64_t requests) { return (*output)(static_cast<double>(requests)); });
  if (products.experts.layers > 0) {
    const auto experts = std::make_shared<Times>(
        Times{curve_of(products.experts, wish), static_cast<double>(products.experts.layers)});
    part.experts_origin_ = experts->curve.origin();
    part.experts_ = CountedTicks([experts](std::int64_t tokens) {
      return experts->layers * experts->curve(static_cast<double>(padded_tokens(tokens)));
    });
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 46;
  if (part.weight_ticks(1, 1) + part.expert_ticks(1) > kMost)
    return bad_input("expected weights that a step reads and multiplies within a minute").at_field("latency");
  return part;
}

}  // namespace kvplan::latency
