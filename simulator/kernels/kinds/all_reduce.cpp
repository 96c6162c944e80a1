// all-reduce: the engine's own implementation, for a message of 16-bit elements on every device.
//
// Roofline: a floor of 4 us, plus 2 (n - 1) / n of the message over a device's link, each way.
#include <array>

#include "simulator/kernels/kernel_kind.h"
#include "simulator/kernels/kinds/rates.h"

namespace kvplan::kernels {
namespace {

constexpr std::array<KeyColumn, 2> kColumns{{{"kernel_source"}, {"num_gpus", KeyForm::kNumber}}};
constexpr double kFloorUs = 4;

double roofline(const KernelCall& call, const model::DeviceShape& device) {
  const double devices = call.numbers[1];
  return kFloorUs + 1e6 * 2 * (devices - 1) / devices * 2 * call.at / link_rate(device);
}

}  // namespace

const KernelKind& all_reduce_kind() {
  static constexpr KernelKind kKind{.name = "all-reduce",
                                    .files = "allreduce",
                                    .columns = kColumns,
                                    .axis = "message_size",
                                    .launched_us = 0,
                                    .shape_before_engine = false,
                                    .roofline = roofline,
                                    .between = nullptr,
                                    .around = nullptr};
  return kKind;
}

}  // namespace kvplan::kernels
