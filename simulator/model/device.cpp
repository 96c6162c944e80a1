#include "simulator/model/device.h"

#include "simulator/base/check.h"

namespace kvplan::model {
namespace {

constexpr std::array<DeviceFigureKind, kDeviceFigures> kKinds{{
    {"marketed_gb", "Nominal memory size, GB"},
    {"reported_bytes", "Memory that nvidia-smi reports", Unit::kBytes},
    {"usable_bytes", "Memory that programs see, smallest observed value", Unit::kBytes, true},
    {"usable_bytes_most", "Memory that programs see, largest observed value (other drivers)", Unit::kBytes},
    {"bandwidth", "Peak bandwidth of device memory", Unit::kBytesPerSecond, true},
    {"bandwidth_reached", "Bandwidth that decode attention reaches", Unit::kBytesPerSecond},
    {"bf16_flops", "Peak dense half-precision FLOP/s", Unit::kFlopsPerSecond, true},
    {"fp8_flops", "Peak dense fp8 FLOP/s", Unit::kFlopsPerSecond},
    {"fp4_flops", "Peak dense fp4 FLOP/s", Unit::kFlopsPerSecond},
    {"int8_ops", "Peak dense int8 operations/s", Unit::kFlopsPerSecond},
    {"multiprocessors", "Streaming multiprocessors, or compute units"},
    {"l2_bytes", "L2 cache", Unit::kBytes},
    {"shared_memory_bytes", "Shared memory that one thread block can request", Unit::kBytes},
    {"host_link", "Bandwidth to the host, per direction", Unit::kBytesPerSecond},
    {"device_link", "Bandwidth to other devices, per direction; 0: no link", Unit::kBytesPerSecond},
    {"power_w", "Power limit, W"},
}};

}  // namespace

std::string_view mark_name(Mark mark) {
  switch (mark) {
    case Mark::kMeasured:
      return "measured";
    case Mark::kPublished:
      return "published";
    case Mark::kAssumed:
      return "assumed";
    case Mark::kComputed:
      return "computed";
    case Mark::kFitted:
      return "fitted";
    case Mark::kGiven:
      return "given";
  }
  return {};
}

const DeviceFigureKind& figure_kind(DeviceFigure figure) {
  return kKinds.at(static_cast<std::size_t>(figure));
}

const Figure& DeviceShape::at(DeviceFigure figure) const {
  const std::optional<Figure>& value = find(figure);
  KVPLAN_CHECK(value.has_value());
  return *value;
}

}  // namespace kvplan::model
