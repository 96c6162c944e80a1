// prefill-attention: causal attention of whole prompts of equal length, without cached tokens.
//
// Roofline: a floor of 8 us, plus the longer of memory (queries, outputs, keys and values once) and arithmetic: 4 x
// head size x query heads operations for each (query, key) pair: half of all pairs, or those within a window.
#include <algorithm>
#include <array>

#include "simulator/kernels/kernel_kind.h"
#include "simulator/kernels/kinds/rates.h"

namespace kvplan::kernels {
namespace {

constexpr std::array<KeyColumn, 7> kColumns{{{"attn_dtype"},
                                             {"kv_cache_dtype"},
                                             {"head_dim", KeyForm::kExact},
                                             {"window_size", KeyForm::kExact},
                                             {"num_heads", KeyForm::kNumber},
                                             {"num_key_value_heads", KeyForm::kNumber, 0.5},
                                             {"batch_size", KeyForm::kNumber}}};
constexpr double kFloorUs = 8;

double roofline(const KernelCall& call, const model::DeviceShape& device) {
  const auto number = [&](std::size_t i) { return call.numbers[i]; };
  const double size = number(2), window = number(3), heads = number(4), kv_heads = number(5),
               batch = number(6);
  const double tokens = call.at, seen = window > 0 ? std::min(window, tokens) : tokens;
  const double pairs = seen * tokens - seen * (seen - 1) / 2;
  const double bytes = batch * tokens * size * (4 * heads + 4 * kv_heads);
  const double flops = 4 * batch * heads * size * pairs;
  return kFloorUs + 1e6 * std::max(bytes / memory_rate(device), flops / product_flops(device, call.key[0]));
}

}  // namespace

const KernelKind& prefill_attention_kind() {
  static constexpr KernelKind kKind{.name = "prefill-attention",
                                    .files = "prefill-attention",
                                    .columns = kColumns,
                                    .axis = "tokens",
                                    .launched_us = 0,
                                    .shape_before_engine = false,
                                    .roofline = roofline,
                                    .between = nullptr,
                                    .around = nullptr};
  return kKind;
}

}  // namespace kvplan::kernels
