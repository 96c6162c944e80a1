#include "simulator/latency/parts/weights_part.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/real.h"
#include "simulator/model/ranks.h"

namespace kvplan::latency {

Result<WeightsPart> WeightsPart::make(const StepShape& shape, const ProductRates& rates) {
  KVPLAN_TRY(const auto stages, model::stage_weights(shape.model, shape.tensor_ranks, shape.stages,
                                                     shape.fine_weight_bits, shape.stage_layers));
  const model::WeightShape& w = shape.model.weight_shape;
  const double flops = shape.figure(model::DeviceFigure::kBf16Flops) * rates.compute_efficiency;
  const double bandwidth = shape.figure(model::DeviceFigure::kBandwidth) * rates.memory_efficiency;
  // Numbers of weights on one rank, and the bytes of them.
  double layers = 0, expert = 0, output = 0, layer_bytes = 0, expert_bytes = 0, output_bytes = 0;
  for (const model::StageWeights& stage : stages) {
    // What was given is divided as the counted bytes are.
    const double scale = shape.weights_bytes
                             ? static_cast<double>(*shape.weights_bytes) / static_cast<double>(stage.bytes())
                             : 1;
    const model::PartWeights& experts = stage.of(model::WeightPart::kExperts);
    const model::PartWeights& last = stage.of(model::WeightPart::kOutput);
    // One expert of each layer of the stage that has some.
    const auto each = static_cast<double>(std::max<std::int64_t>(w.experts, 1));
    expert += static_cast<double>(experts.weights) / each;
    output += static_cast<double>(last.weights);
    layers += static_cast<double>(stage.read() - experts.weights - last.weights);
    expert_bytes += static_cast<double>(experts.bytes()) / each * scale;
    output_bytes += static_cast<double>(last.bytes()) * scale;
    layer_bytes += static_cast<double>(stage.read_bytes() - experts.bytes() - last.bytes()) * scale;
  }
  const auto read = [&](double bytes) { return bytes / bandwidth * kTicksPerSecond; };
  const auto compute = [&](double weights) { return 2 * weights / flops * kTicksPerSecond; };
  const auto experts = static_cast<double>(w.experts), per_token = static_cast<double>(w.experts_per_token);
  constexpr double kMost = static_cast<double>(std::int64_t{1} << 46);
  for (const double ticks : {read(layer_bytes), read(expert_bytes * experts), read(output_bytes),
                             compute(layers), compute(expert * per_token), compute(output)})
    if (!(ticks < kMost))
      return bad_input("expected weights that a step reads and multiplies within a minute")
          .at_field("latency");
  WeightsPart part;
  part.layers_ = {std::llround(read(layer_bytes)), FineTicks::of(compute(layers))};
  part.experts_ = {std::llround(read(expert_bytes * experts)), FineTicks::of(compute(expert * per_token))};
  part.output_ = {std::llround(read(output_bytes)), FineTicks::of(compute(output))};
  part.experts_of_layer_ = expert > 0 ? w.experts : 0;
  part.experts_per_token_ = w.experts_per_token;
  return part;
}

double WeightsPart::distinct_experts(std::int64_t tokens) const {
  if (experts_of_layer_ == 0) return 0;
  const auto experts = static_cast<double>(experts_of_layer_);
  const double missed = 1 - static_cast<double>(experts_per_token_) / experts;
  return experts * (1 - power(missed, static_cast<double>(tokens)));
}

std::int64_t WeightsPart::expert_read(std::int64_t tokens) const {
  if (experts_of_layer_ == 0) return experts_.read;
  return std::llround(static_cast<double>(experts_.read) * distinct_experts(tokens) /
                      static_cast<double>(experts_of_layer_));
}

Wide WeightsPart::expert_ticks(std::int64_t tokens) const {
  return std::max(Wide{expert_read(tokens)}, experts_.compute.times(tokens));
}

Wide WeightsPart::dense_ticks(std::int64_t tokens, std::int64_t requests) const {
  return std::max(Wide{layers_.read}, layers_.compute.times(tokens)) +
         std::max(Wide{output_.read}, output_.compute.times(requests));
}

Wide WeightsPart::read_ticks(std::int64_t tokens) const {
  return Wide{layers_.read} + expert_read(tokens) + output_.read;
}

}  // namespace kvplan::latency
