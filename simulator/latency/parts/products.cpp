#include "simulator/latency/parts/products.h"

#include <algorithm>

#include "simulator/base/check.h"
#include "simulator/model/ranks.h"
#include "simulator/model/weights.h"

namespace kvplan::latency {
namespace {

using model::DeviceFigure;

constexpr std::string_view kBf16 = "bfloat16";

struct Formats {
  std::string_view attention{kBf16}, dense{kBf16}, shared{kBf16}, experts{kBf16}, output{kBf16};
};

/// Blackwell, compute capability 10 and 12.
bool multiplies_fp4(const model::DeviceShape& device) {
  return device.architecture.starts_with("sm_1");
}

bool multiplies_fp8(const model::DeviceShape& device) {
  const auto& fp8 = device.find(DeviceFigure::kFp8Flops);
  return fp8 && fp8->value > 0;
}

/// As a table names it. `bits` of a weight count its scales: NVFP4 has 4.5, MXFP4 4.25, groups of 128 in INT4 4.125 or
/// more; block fp8 8.002, fp8 of whole matrices 8.
std::string_view dtype_of(double bits, std::int64_t activation_bits, const model::DeviceShape& device) {
  if (bits > 12) return kBf16;
  if (bits > 6) {
    if (activation_bits > 8 || !multiplies_fp8(device)) return "int8_wo";
    return bits > 8.0005 ? "fp8_block" : "fp8";
  }
  if (activation_bits <= 8) return multiplies_fp4(device) ? "nvfp4" : "int4_wo";
  if (bits > 4.2 && bits < 4.3) return multiplies_fp4(device) ? "w4a8_mxfp4_mxfp8" : "w4a16_mxfp4";
  return "int4_wo";
}

/// Of most of a part's weights, as the checkpoint stores them.
model::Precision precision_of(const model::ModelShape& m, model::WeightPart part) {
  model::Precision most;
  Wide count = 0;
  const auto look = [&](const std::vector<model::WeightMatrix>& matrices, std::int64_t layers) {
    for (const model::WeightMatrix& each : matrices) {
      const Wide weights = Wide{each.units} * each.unit_weights * each.copies * layers;
      if (each.part != part || weights <= count) continue;
      count = weights;
      most = each.precision;
    }
  };
  for (const model::LayerWeights& run : m.matrices.layers) look(run.matrices, run.layers);
  look(m.matrices.last, 1);
  return most;
}

Formats published_formats(const model::ModelShape& m, const model::DeviceShape& device) {
  const auto of = [&](model::WeightPart part) {
    const model::Precision precision = precision_of(m, part);
    return dtype_of(precision.bits(), precision.activation_bits, device);
  };
  return {of(model::WeightPart::kAttention), of(model::WeightPart::kDense), of(model::WeightPart::kShared),
          of(model::WeightPart::kExperts), of(model::WeightPart::kOutput)};
}

Formats formats_of(const StepShape& shape) {
  const auto counted =
      model::stage_weights(shape.model, shape.tensor_ranks, shape.stages, std::nullopt, shape.stage_layers);
  KVPLAN_CHECK(counted.ok());
  const model::StageWeights& weights = counted.value().front();
  const Formats published = published_formats(shape.model, shape.device);
  double bits = 16;
  if (shape.weights_bytes) {
    bits = 8 * static_cast<double>(*shape.weights_bytes) / static_cast<double>(weights.weights());
  } else if (shape.fine_weight_bits) {
    bits = static_cast<double>(*shape.fine_weight_bits) / 65536;
  } else {
    return published;
  }
  const bool has_experts = shape.model.weight_shape.experts > 0;
  if (bits > 12) return {};
  if (bits > 6) {
    const std::string_view dtype = !multiplies_fp8(shape.device) ? "int8_wo"
                                   : has_experts                 ? "fp8_block"
                                                                 : "fp8";
    return {dtype, dtype, dtype, dtype, kBf16};
  }
  // Published with so few bits: they are those of the experts.
  if (has_experts && precision_of(shape.model, model::WeightPart::kExperts).bits() < 6) return published;
  const std::string_view dtype = multiplies_fp4(shape.device) ? "nvfp4" : "int4_wo";
  return {dtype, dtype, dtype, dtype, kBf16};
}

class Products {
 public:
  explicit Products(const StepShape& shape)
      : m_(shape.model), w_(m_.weight_shape), ranks_(shape.tensor_ranks), formats_(formats_of(shape)) {}

  StepProducts all() {
    add_attention();
    const std::int64_t expert_layers = w_.experts > 0 ? m_.layers - std::min(w_.dense_layers, m_.layers) : 0;
    add_feed_forward(formats_.dense, w_.feed_forward, m_.layers - expert_layers);
    add_feed_forward(formats_.shared, w_.shared_feed_forward, expert_layers);
    add(kBf16, w_.experts, m_.hidden, expert_layers);
    if (expert_layers > 0)
      out_.experts = {std::string(formats_.experts),
                      m_.hidden,
                      w_.expert_feed_forward,
                      w_.experts_per_token,
                      w_.experts,
                      ranks_,
                      expert_layers};
    out_.output = {std::string(formats_.output), ceil_div(w_.vocabulary, ranks_), m_.hidden, 1};
    return std::move(out_);
  }

 private:
  void add(std::string_view dtype, std::int64_t n, std::int64_t k, std::int64_t layers) {
    if (n < 1 || k < 1 || layers < 1) return;
    for (Product& each : out_.each_token)
      if (each.dtype == dtype && each.n == n && each.k == k) {
        each.layers += layers;
        return;
      }
    out_.each_token.push_back({std::string(dtype), n, k, layers});
  }

  void add_attention() {
    const std::int64_t heads = ceil_div(m_.query_heads, ranks_);
    for (const model::LayerRun& run : m_.runs) {
      const model::LayerCache cache = model::share_of(run.cache, ranks_);
      if (cache.kind == model::CacheKind::kNone) continue;
      if (cache.kind == model::CacheKind::kHeads) {
        add(formats_.attention, heads * w_.key_size + cache.heads * (cache.key_size + cache.value_size),
            m_.hidden, run.layers);
      } else {
        const std::int64_t down = cache.latent_size + cache.rope_size;
        if (w_.query_rank > 0) {
          add(formats_.attention, w_.query_rank + down, m_.hidden, run.layers);
          add(formats_.attention, heads * w_.key_size, w_.query_rank, run.layers);
        } else {
          add(formats_.attention, heads * w_.key_size + down, m_.hidden, run.layers);
        }
        add(kBf16, heads * (w_.key_size - cache.rope_size + w_.value_size), cache.latent_size, run.layers);
      }
      add(formats_.attention, m_.hidden, heads * w_.value_size, run.layers);
    }
  }

  void add_feed_forward(std::string_view dtype, std::int64_t width, std::int64_t layers) {
    const std::int64_t own = ceil_div(width, ranks_);
    add(dtype, (w_.matrices - 1) * own, m_.hidden, layers);
    add(dtype, m_.hidden, own, layers);
  }

  const model::ModelShape& m_;
  const model::WeightShape& w_;
  std::int64_t ranks_;
  Formats formats_;
  StepProducts out_;
};

}  // namespace

StepProducts products_of(const StepShape& shape) {
  return Products(shape).all();
}

}  // namespace kvplan::latency
