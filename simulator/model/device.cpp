#include "simulator/model/device.h"

#include "simulator/base/check.h"

namespace kvplan::model {
namespace {

constexpr std::array<DeviceFigureKind, kDeviceFigures> kKinds{{
    {"marketed_gb", "Memory as it is sold, GB"},
    {"reported_bytes", "Memory that nvidia-smi reports", Unit::kBytes},
    {"usable_bytes", "Memory that a program is told of, the least that was seen", Unit::kBytes, true},
    {"usable_bytes_most", "The most that was seen, with other drivers", Unit::kBytes},
    {"bandwidth", "Peak of the device memory", Unit::kBytesPerSecond, true},
    {"bandwidth_reached", "Reached by decode attention", Unit::kBytesPerSecond},
    {"bf16_flops", "Peak of dense half precision", Unit::kFlopsPerSecond, true},
    {"fp8_flops", "Peak of dense fp8", Unit::kFlopsPerSecond},
    {"int8_ops", "Peak of dense int8, operations", Unit::kFlopsPerSecond},
    {"multiprocessors", "Multiprocessors, or compute units"},
    {"l2_bytes", "L2 cache", Unit::kBytes},
    {"shared_memory_bytes", "Shared memory that a block can ask for", Unit::kBytes},
    {"host_link", "Link to the host, each way", Unit::kBytesPerSecond},
    {"device_link", "Links to other devices, each way; 0: none", Unit::kBytesPerSecond},
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
