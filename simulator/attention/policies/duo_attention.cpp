// DuoAttention: each KV head has a learned gate. Heads with high gates keep everything, the others only the first and
// newest tokens.
#include <array>
#include <memory>
#include <vector>

#include "simulator/attention/head_intervals.h"
#include "simulator/attention/policy.h"

namespace kvplan::attention::duo_attention {
namespace {

constexpr std::array kParams{
    head_table_param(
        "gates",
        "Learned gate of each KV head: a JSON file with one list per layer, or the lists themselves"),
    Param{.name = "sparsity",
          .help = "Share of all heads in the model that keep only first and newest tokens (streaming heads)",
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = "0.5",
          .low = 0,
          .high = 1},
    Param{.name = "sink",
          .help = "First tokens that streaming heads keep",
          .unit = Unit::kTokens,
          .fallback = "64",
          .low = 0,
          .high = kMaxTokens},
    Param{.name = "recent",
          .help = "Newest tokens that streaming heads keep",
          .unit = Unit::kTokens,
          .fallback = "256",
          .low = 1,
          .high = kMaxTokens},
    kGroupParam,
    kAggParam,
    kPlacementParam};

PolicyTraits traits(const Choice& /*choice*/) {
  return {.head_tables = true};
}
std::unique_ptr<LayerPolicy> make(const LayerInput& input) {
  const HeadTable& gates = input.tables[0];
  const double threshold = gate_threshold(gates, input.choice.decimal("sparsity"));
  std::vector<bool> whole;
  whole.reserve(static_cast<std::size_t>(input.place.kv_heads()));
  for (std::int32_t head = 0; head < input.place.kv_heads(); ++head)
    whole.push_back(gate_of(gates, input.place.layer, input.place.head_number(head)) >= threshold);
  return std::make_unique<HeadIntervals>(
      whole, KeptInterval{.sink = input.choice.integer("sink"), .recent = input.choice.integer("recent")});
}

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "duo-attention",
         .summary =
             "Heads with high learned gates keep everything; the other heads keep first and newest tokens",
         .source = "arXiv 2410.10819 (DuoAttention)",
         .params = kParams,
         .divergences = "The public code breaks ties among gates with random noise; in kvplan, all heads at "
                        "the threshold keep everything. kvpress masks tokens instead of freeing them."},
    .golden_name = "duo_attention",
    .traits = traits,
    .make = make};

}  // namespace kvplan::attention::duo_attention
