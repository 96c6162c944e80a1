#include "simulator/model/weights.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"
#include "simulator/model/latent_weights.h"
#include "simulator/model/model_shape.h"
#include "simulator/model/ranks.h"

namespace kvplan::model {
namespace {

/// More weights than any limit on sizes lets through by mistake, and few enough for every sum of them.
constexpr Wide kMostWeights = Wide{1} << 56;
constexpr Wide kFineBitsOfByte = Wide{8} << 16;

std::int64_t bytes_of(Wide fine_bits) {
  return static_cast<std::int64_t>((fine_bits + kFineBitsOfByte - 1) / kFineBitsOfByte);
}

/// True for parts that a step with many tokens reads.
bool is_read(WeightPart part) {
  return part != WeightPart::kEmbedding && part != WeightPart::kVision && part != WeightPart::kTables;
}

std::int64_t units_of_rank(const WeightMatrix& matrix, std::int64_t ranks) {
  switch (matrix.division) {
    case Division::kWhole:
      return matrix.units;
    case Division::kShared:
      return ceil_div(matrix.units, ranks);
    case Division::kKvHeads:
      return matrix.units == 0 ? 0 : std::max<std::int64_t>(1, matrix.units / ranks);
  }
  return matrix.units;
}

/// Sums of wide numbers, by part.
class Tally {
 public:
  Tally(std::int64_t ranks, std::int64_t element_bytes, std::optional<std::int64_t> fine_bits)
      : ranks_(ranks), element_bits_((8 * element_bytes) << 16), fine_bits_(fine_bits) {}

  void add(const WeightMatrix& matrix, std::int64_t layers = 1) {
    Sum& sum = sums_[static_cast<std::size_t>(matrix.part)];
    const std::int64_t units = units_of_rank(matrix, ranks_);
    const Wide each = Wide{units} * matrix.unit_weights;
    const Wide all = each * matrix.copies * layers;
    if (matrix.part == WeightPart::kTables) {
      sum.fine_bits += all * element_bits_;
      return;
    }
    sum.weights += all;
    if (is_read(matrix.part)) sum.multiplied += each * matrix.used * layers;
    sum.by_activation[matrix.precision.activation_bits] += all;
    if (fine_bits_) {
      sum.fine_bits += all * *fine_bits_;
      return;
    }
    const std::int64_t stored = ceil_div(units, matrix.padded_units) * matrix.padded_units;
    const std::int64_t unit =
        matrix.padded_unit_weights > 0 ? matrix.padded_unit_weights : matrix.unit_weights;
    const std::int64_t bits = matrix.precision == Precision{} ? element_bits_ : matrix.precision.fine_bits;
    sum.fine_bits += Wide{stored} * unit * matrix.copies * layers * bits;
  }
  [[nodiscard]] Wide all() const {
    Wide count = 0;
    for (const Sum& sum : sums_) count += sum.weights;
    return count;
  }
  /// REQUIRES: at most kMostWeights.
  [[nodiscard]] StageWeights result() const {
    StageWeights out;
    for (std::size_t i = 0; i < kWeightParts; ++i) {
      const Sum& sum = sums_[i];
      PartWeights& part = out.parts[i];
      part.weights = static_cast<std::int64_t>(sum.weights);
      part.multiplied = static_cast<std::int64_t>(sum.multiplied);
      part.fine_bits = sum.fine_bits;
      Wide most = 0;
      for (const auto& [bits, count] : sum.by_activation) {
        if (count <= most) continue;
        most = count;
        part.activation_bits = bits;
      }
    }
    return out;
  }

 private:
  struct Sum {
    Wide weights{0}, multiplied{0}, fine_bits{0};
    std::map<std::int64_t, Wide> by_activation;
  };
  std::int64_t ranks_;
  std::int64_t element_bits_;  ///< in 2^-16 bits
  std::optional<std::int64_t> fine_bits_;
  std::array<Sum, kWeightParts> sums_;
};

/// Attention projections of a layer.
void add_attention(const ModelShape& m, const LayerCache& cache, std::vector<WeightMatrix>& out) {
  const WeightShape& w = m.weight_shape;
  if (cache.kind == CacheKind::kNone) return;
  const auto add = [&](const char* module, Division division, std::int64_t units, std::int64_t unit_weights) {
    out.push_back({.part = WeightPart::kAttention,
                   .module = module,
                   .division = division,
                   .units = units,
                   .unit_weights = unit_weights});
  };
  if (cache.kind == CacheKind::kHeads) {
    add("self_attn.q_proj", Division::kShared, m.query_heads, m.hidden * w.key_size);
    add("self_attn.k_proj", Division::kKvHeads, cache.heads, m.hidden * cache.key_size);
    add("self_attn.v_proj", Division::kKvHeads, cache.heads, m.hidden * cache.value_size);
  } else {
    add_latent_projections(m, cache, out);
  }
  add("self_attn.o_proj", Division::kShared, m.query_heads, w.value_size * m.hidden);
}

/// The feed-forward block of a layer.
void add_feed_forward(const ModelShape& m, bool experts, std::vector<WeightMatrix>& out) {
  const WeightShape& w = m.weight_shape;
  const std::int64_t unit = w.matrices * m.hidden;
  const auto add = [&](WeightPart part, const char* module, std::int64_t width) {
    out.push_back({.part = part,
                   .module = module,
                   .division = Division::kShared,
                   .units = width,
                   .unit_weights = unit,
                   .row = m.hidden});
  };
  if (!experts) {
    add(WeightPart::kDense, "mlp.down_proj", w.feed_forward);
    return;
  }
  out.push_back({.part = WeightPart::kRouter, .unit_weights = m.hidden * w.experts});
  add(WeightPart::kExperts, "mlp.experts.0.down_proj", w.expert_feed_forward);
  out.back().copies = w.experts;
  out.back().used = w.experts_per_token;
  if (w.shared_feed_forward > 0)
    add(WeightPart::kShared, "mlp.shared_experts.down_proj", w.shared_feed_forward);
}

}  // namespace

std::string_view weight_part_name(WeightPart part) {
  constexpr std::array<std::string_view, kWeightParts> kNames{
      "embedding", "output layer",   "attention", "state layers", "dense feed-forward",
      "experts",   "shared experts", "router",    "norms",        "vision",
      "tables"};
  return kNames[static_cast<std::size_t>(part)];
}

void add_latent_projections(const ModelShape& m, const LayerCache& cache, std::vector<WeightMatrix>& out) {
  KVPLAN_CHECK(cache.kind == CacheKind::kLatent);
  const WeightShape& w = m.weight_shape;
  const auto add = [&](const char* module, Division division, std::int64_t units, std::int64_t unit_weights) {
    out.push_back({.module = module, .division = division, .units = units, .unit_weights = unit_weights});
  };
  if (w.query_rank > 0) {
    add("self_attn.q_a_proj", Division::kWhole, 1, m.hidden * w.query_rank);
    add("self_attn.q_b_proj", Division::kShared, m.query_heads, w.query_rank * w.key_size);
  } else {
    add("self_attn.q_proj", Division::kShared, m.query_heads, m.hidden * w.key_size);
  }
  add("self_attn.kv_a_proj_with_mqa", Division::kWhole, 1, m.hidden * (cache.latent_size + cache.rope_size));
  add("self_attn.kv_b_proj", Division::kShared, m.query_heads,
      cache.latent_size * (w.key_size - cache.rope_size + w.value_size));
}

ModelWeights plain_weights(const ModelShape& m) {
  const WeightShape& w = m.weight_shape;
  ModelWeights out;
  std::int64_t layer = 0;
  for (const LayerRun& run : m.runs)
    for (std::int64_t i = 0; i < run.layers; ++i, ++layer) {
      std::vector<WeightMatrix> matrices;
      add_attention(m, run.cache, matrices);
      add_feed_forward(m, w.experts > 0 && layer >= w.dense_layers, matrices);
      matrices.push_back({.part = WeightPart::kNorms, .unit_weights = 2 * m.hidden});
      if (out.layers.empty() || out.layers.back().matrices != matrices)
        out.layers.push_back({.matrices = std::move(matrices)});
      ++out.layers.back().layers;
    }
  const WeightMatrix rows{.part = WeightPart::kEmbedding,
                          .division = Division::kShared,
                          .units = w.vocabulary,
                          .unit_weights = m.hidden};
  out.first = {rows};
  out.last = {rows, {.part = WeightPart::kNorms, .unit_weights = m.hidden}};
  out.last[0].part = WeightPart::kOutput;
  out.last[0].module = "lm_head";
  return out;
}

std::int64_t PartWeights::bytes() const {
  return bytes_of(fine_bits);
}

double PartWeights::weight_bits() const {
  return weights == 0 ? 16 : static_cast<double>(fine_bits) / 65536 / static_cast<double>(weights);
}

std::int64_t StageWeights::weights() const {
  std::int64_t sum = 0;
  for (const PartWeights& part : parts) sum += part.weights;
  return sum;
}

std::int64_t StageWeights::read() const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kWeightParts; ++i)
    if (is_read(static_cast<WeightPart>(i))) sum += parts[i].weights;
  return sum;
}

std::int64_t StageWeights::multiplied() const {
  std::int64_t sum = 0;
  for (const PartWeights& part : parts) sum += part.multiplied;
  return sum;
}

std::int64_t StageWeights::bytes() const {
  Wide sum = 0;
  for (const PartWeights& part : parts) sum += part.fine_bits;
  return bytes_of(sum);
}

std::int64_t StageWeights::read_bytes() const {
  Wide sum = 0;
  for (std::size_t i = 0; i < kWeightParts; ++i)
    if (is_read(static_cast<WeightPart>(i))) sum += parts[i].fine_bits;
  return bytes_of(sum);
}

Result<std::vector<StageWeights>> stage_weights(const ModelShape& m, std::int64_t ranks, std::int64_t stages,
                                                std::optional<std::int64_t> fine_bits,
                                                const std::vector<std::int64_t>& stage_layers) {
  if (!m.weights_miss.empty())
    return bad_input("the weights of " + m.name + " cannot be counted: " + m.weights_miss).at_field("model");
  const ModelWeights weights = m.matrices.layers.empty() ? plain_weights(m) : m.matrices;
  std::vector<StageWeights> out;
  std::int64_t first = 0;
  for (const std::int64_t layers : layers_of_stages(m.layers, stages, stage_layers)) {
    Tally tally(ranks, m.element_bytes, fine_bits);
    std::int64_t begin = 0;
    for (const LayerWeights& run : weights.layers) {
      const std::int64_t end = begin + run.layers;
      const std::int64_t here = std::min(end, first + layers) - std::max(begin, first);
      if (here > 0)
        for (const WeightMatrix& matrix : run.matrices) tally.add(matrix, here);
      begin = end;
    }
    const bool last = first + layers == m.layers;
    // Where they are tied, a rank with both has one of them: it counts as the output layer, which is read.
    if (first == 0)
      for (const WeightMatrix& matrix : weights.first)
        if (!(last && m.weight_shape.tied && matrix.part == WeightPart::kEmbedding)) tally.add(matrix);
    if (last)
      for (const WeightMatrix& matrix : weights.last) tally.add(matrix);
    for (const WeightMatrix& matrix : weights.each) tally.add(matrix);
    if (tally.all() > kMostWeights)
      return bad_input("expected a model of at most 2^56 weights, " + m.name + " has more").at_field("model");
    out.push_back(tally.result());
    first += layers;
  }
  return out;
}

std::string precision_text(const StageWeights& weights) {
  std::map<std::int64_t, Wide> by_bits;  // in 2^-16 bits, on average of a part
  for (const PartWeights& part : weights.parts)
    if (part.weights > 0) by_bits[static_cast<std::int64_t>(part.fine_bits / part.weights)] += part.weights;
  const auto text = [](double bits) { return shortest(std::round(bits * 1000) / 1000); };
  if (by_bits.size() == 1) return text(static_cast<double>(by_bits.begin()->first) / 65536) + " bits each";
  std::string out;
  for (std::size_t i = 0; i < kWeightParts; ++i) {
    const PartWeights& part = weights.parts[i];
    constexpr double kHalf = 16;
    if (part.weights == 0 || part.weight_bits() == kHalf) continue;
    out += (out.empty() ? "" : ", ") + std::string(weight_part_name(static_cast<WeightPart>(i))) + " " +
           text(part.weight_bits()) + " bits";
  }
  return out + ", the rest 16";
}

}  // namespace kvplan::model
