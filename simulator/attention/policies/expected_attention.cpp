// Expected Attention: once, when the prompt ends, tokens are scored by the expected attention of future queries.
// These are modelled as normal, with mean and covariance of the prompt's queries before position encoding, rotated by
// the mean rotation of future positions. First tokens are always kept.
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "simulator/attention/kernels.h"
#include "simulator/attention/norms.h"
#include "simulator/attention/reduce.h"
#include "simulator/attention/selection.h"
#include "simulator/attention/tensor_rows.h"
#include "simulator/attention/tensor_score.h"
#include "simulator/base/real.h"

namespace kvplan::attention::expected_attention {
namespace {

/// Mean and covariance of the queries of one head.
struct QueryStatistics {
  std::vector<double> mean;
  std::vector<double> covariance;  ///< [i * size + j]
};

/// The mean over positions [first, first + count) of the rotation of each pair, as a cosine and a sine.
std::vector<SineCosine> mean_rotation(const Rotary& rotary, std::int64_t first, std::int64_t count) {
  std::vector<SineCosine> out;
  for (std::int32_t pair = 0; pair < rotary.dims / 2; ++pair) {
    SineCosine sum{.sine = 0, .cosine = 0};
    const double frequency = rotary.frequency(pair);
    for (std::int64_t p = first; p < first + count; ++p) {
      const SineCosine turn = sine_cosine(static_cast<double>(p) * frequency);
      sum.sine += turn.sine;
      sum.cosine += turn.cosine;
    }
    const double scale = rotary.amplitude / static_cast<double>(count);
    out.push_back({.sine = sum.sine * scale, .cosine = sum.cosine * scale});
  }
  return out;
}

/// Turns the elements at(0), at(1), ... by the mean rotation.
template <class At>
void turn(const Rotary& rotary, std::span<const SineCosine> by, const At& at) {
  for (std::int32_t pair = 0; pair < rotary.dims / 2; ++pair) {
    const auto [sine, cosine] = by[static_cast<std::size_t>(pair)];
    double& low = at(rotary.low(pair));
    double& high = at(rotary.high(pair));
    const double before = low;
    low = before * cosine - high * sine;
    high = high * cosine + before * sine;
  }
}

class ExpectedAttention final : public SetPolicy {
 public:
  explicit ExpectedAttention(const LayerInput& input)
      : place_(input.place),
        budget_(input.choice.integer("budget")),
        sink_(input.choice.integer("sink")),
        future_(input.choice.integer("future")),
        epsilon_(input.choice.decimal("epsilon")),
        aggregate_(aggregate_of(input.choice)) {}

  void tensors(const LayerRows& rows) override { rows_ = &rows; }

  void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) override {
    const std::int64_t tokens = residents.size();
    if (residents.positions().back() != place_.prompt - 1 || tokens <= budget_) return;
    const auto sinks = static_cast<std::size_t>(std::min(sink_, tokens));
    std::vector<double> score(static_cast<std::size_t>(tokens), std::numeric_limits<double>::infinity());
    if (sink_ < tokens) {
      const std::vector<double> expected = expectation(set);
      for (std::size_t i = 0; i < expected.size(); ++i) score[sinks + i] = expected[i];
    }
    lowest(score, static_cast<std::int32_t>(tokens - budget_), drop);
  }

 private:
  /// The expected attention of the tokens behind the sinks.
  [[nodiscard]] std::vector<double> expectation(std::int32_t set) const {
    const auto count = static_cast<std::size_t>(place_.prompt - sink_);
    std::vector<double> out(count);
    for (std::int32_t g = 0; g < place_.group; ++g) {
      const std::int32_t head = set * place_.group + g;
      const std::vector<double> weights = weights_of(statistics_of(head), rows_->keys(head));
      for (std::size_t i = 0; i < count; ++i)
        out[i] = aggregate_ == Aggregate::kMean ? out[i] + weights[i] / place_.group
                                                : std::max(out[i], weights[i]);
    }
    for (std::size_t i = 0; i < count; ++i)
      out[i] =
          (out[i] + epsilon_) * value_norm(*rows_, set * place_.group,
                                           static_cast<std::int32_t>(sink_) + static_cast<std::int32_t>(i));
    return out;
  }

  /// Statistics of the queries behind the sinks, rotated to future positions.
  [[nodiscard]] QueryStatistics statistics_of(std::int32_t head) const {
    const LayerTensors& all = *rows_->beside();
    const auto size = static_cast<std::size_t>(all.key_size);
    const auto& recorded = all.queries[static_cast<std::size_t>(head)];
    std::vector<std::vector<double>> queries;
    QueryStatistics out{.mean = std::vector<double>(size), .covariance = std::vector<double>(size * size)};
    for (std::int64_t t = sink_; t < place_.prompt; ++t) {
      const auto from = recorded.begin() + static_cast<std::ptrdiff_t>(t) * all.key_size;
      queries.emplace_back(from, from + all.key_size);
      if (all.rotary) unrotate(*all.rotary, all.position(t), queries.back());
      for (std::size_t c = 0; c < size; ++c) out.mean[c] += queries.back()[c];
    }
    const auto count = static_cast<double>(queries.size());
    for (double& each : out.mean) each /= count;
    for (auto& query : queries) {
      for (std::size_t c = 0; c < size; ++c) query[c] -= out.mean[c];
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) out.covariance[i * size + j] += query[i] * query[j];
    }
    for (double& each : out.covariance) each /= count;
    if (all.rotary) turn_to_come(all, out);
    return out;
  }

  void turn_to_come(const LayerTensors& all, QueryStatistics& it) const {
    const auto size = it.mean.size();
    const auto by = mean_rotation(*all.rotary, all.position(place_.prompt - 1) + 1, future_);
    turn(*all.rotary, by, [&](std::int32_t c) -> double& { return it.mean[static_cast<std::size_t>(c)]; });
    for (std::size_t j = 0; j < size; ++j)
      turn(*all.rotary, by,
           [&](std::int32_t c) -> double& { return it.covariance[static_cast<std::size_t>(c) * size + j]; });
    for (std::size_t i = 0; i < size; ++i)
      turn(*all.rotary, by,
           [&](std::int32_t c) -> double& { return it.covariance[i * size + static_cast<std::size_t>(c)]; });
  }

  /// The expectation of e^(scale * q . k) of a normal q is e^(scale * k . mean + scale^2 * k . covariance k / 2).
  [[nodiscard]] std::vector<double> weights_of(const QueryStatistics& queries, KeyView keys) const {
    const double scale = rows_->beside()->scale;
    const auto size = queries.mean.size();
    std::vector<double> out;
    std::vector<double> key(size);
    for (std::int64_t t = sink_; t < place_.prompt; ++t) {
      for (std::size_t c = 0; c < size; ++c)
        key[c] = keys.at(static_cast<std::int32_t>(t), static_cast<std::int32_t>(c));
      double mean = 0;
      double square = 0;
      for (std::size_t i = 0; i < size; ++i) {
        mean += key[i] * queries.mean[i];
        double row = 0;
        for (std::size_t j = 0; j < size; ++j) row += queries.covariance[i * size + j] * key[j];
        square += key[i] * row;
      }
      out.push_back(scale * mean + scale * scale * square / 2);
    }
    const double sum = exp_from_max(out);
    for (double& each : out) each /= sum;
    return out;
  }

  LayerPlace place_;
  std::int64_t budget_;
  std::int64_t sink_;
  std::int64_t future_;
  double epsilon_;
  Aggregate aggregate_;
  const LayerRows* rows_{nullptr};
};

constexpr std::array kParams{
    kTensorBudgetParam,
    Param{.name = "sink",
          .help = "First tokens, which are always kept and do not enter the statistics",
          .unit = Unit::kTokens,
          .fallback = "4",
          .low = 0,
          .high = kMaxTokens},
    Param{.name = "future",
          .help = "Future positions over which the rotary embedding is averaged",
          .unit = Unit::kTokens,
          .fallback = "512",
          .low = 1,
          .high = 65536},
    Param{.name = "epsilon",
          .help = "Constant added to the expected attention before it is multiplied by the norm of the value",
          .kind = ParamKind::kDecimal,
          .fallback = "0",
          .low = 0,
          .high = 1},
    kGroupParam,
    kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& choice) {
  return {.prompt_rows = 1,
          .keys = true,
          .queries = true,
          .prompt_queries = true,
          .value_norms = true,
          .count = core::KeptCount{.budget = choice.integer("budget"), .once = true}};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  return std::make_unique<ExpectedAttention>(input);
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "expected-attention",
         .summary = "When the prompt ends, keeps the tokens that future queries are expected to attend to; "
                    "needs recorded queries and keys with their rotary embedding, and values or their norms",
         .source = "arXiv 2510.00636; NVIDIA/kvpress@8bb29b9 "
                   "kvpress/presses/expected_attention_press.py",
         .params = kParams,
         .divergences = "The public code keeps int(P * (1 - ratio)) tokens and gives its sinks the highest "
                        "score, which may tie. kvplan undoes the recorded rotary embedding to get queries "
                        "before position encoding. The recording's logit scale replaces 1 / sqrt(d). Soft "
                        "caps, biases and windows do not enter the score. kvpress's published results under "
                        "this name use Ada-KV on top, with epsilon 0.01, and mask the evicted tokens."},
    .golden_name = "expected_attention",
    .budget = {.param = "budget", .of_prompt = true},
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::expected_attention
