// moe: one layer of experts on one rank, gate and down projections together.
//
// Roofline: a floor of 10 us, plus the longer of memory and arithmetic. Memory: three matrices of each expert that some
// token of the step chose, with the rank's share of experts (moe_ep_size) and of their width (moe_tp_size); of E
// experts, k for each token, t tokens choose E x (1 - (1 - k / E)^t) if they choose evenly. Arithmetic: 6 x hidden x
// width operations for each token and expert. A shape without a measurement takes this roofline
// times the ratio of measured time to roofline of similar rows.
#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/kernels/kernel_kind.h"
#include "simulator/kernels/kinds/rates.h"

namespace kvplan::kernels {
namespace {

constexpr std::array<KeyColumn, 7> kColumns{{{"moe_dtype"},
                                             {"hidden_size", KeyForm::kNumber},
                                             {"inter_size", KeyForm::kNumber},
                                             {"topk", KeyForm::kNumber, 2},
                                             {"num_experts", KeyForm::kNumber},
                                             {"moe_tp_size", KeyForm::kNumber},
                                             {"moe_ep_size", KeyForm::kNumber, 2}}};
constexpr double kFloorUs = 10;

double roofline(const KernelCall& call, const model::DeviceShape& device) {
  const std::string& dtype = call.key[0];
  const auto number = [&](std::size_t i) { return call.numbers[i]; };
  const double hidden = number(1), width = number(2) / number(5), chosen = number(3), experts = number(4);
  const double ranks = number(6);
  const double touched =
      std::max(1.0, experts * (1 - std::pow(1 - std::min(chosen / experts, 1.0), call.at)) / ranks);
  const double bytes = touched * 3 * hidden * width * weight_bytes(dtype) + 4 * call.at * hidden;
  const double flops = 6 * call.at * chosen / ranks * hidden * width;
  return kFloorUs + 1e6 * std::max(bytes / memory_rate(device), flops / product_flops(device, dtype));
}

}  // namespace

const KernelKind& moe_kind() {
  static constexpr KernelKind kKind{.name = "moe",
                                    .files = "moe",
                                    .columns = kColumns,
                                    .axis = "tokens",
                                    .launched_us = 0,
                                    .shape_before_engine = true,
                                    .roofline = roofline,
                                    .between = nullptr,
                                    .around = nullptr};
  return kKind;
}

}  // namespace kvplan::kernels
