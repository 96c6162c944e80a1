#include "simulator/topology/cluster.h"

#include <algorithm>

namespace kvplan::topology {
namespace {

// Latencies of one link: a route within a node takes two NVLinks or four of PCIe; one to another node two of PCIe and
// two of the network.
constexpr std::int64_t kBridgeNs = 470;
constexpr std::int64_t kSwitchedNs = kBridgeNs / 2;
constexpr std::int64_t kPcieNs = 250;
constexpr std::int64_t kNetworkNs = (2700 - 2 * kPcieNs) / 2;

enum class Fabric : std::uint8_t { kNone, kSwitch, kBridges };

Fabric fabric_of(const model::DeviceShape& device) {
  const auto& link = device.find(model::DeviceFigure::kDeviceLink);
  if (!link || link->value == 0) return Fabric::kNone;
  return device.name.ends_with("-pcie") ? Fabric::kBridges : Fabric::kSwitch;
}

std::string fabric_name(const model::DeviceShape& device, Fabric fabric) {
  if (fabric == Fabric::kNone) return "PCIe";
  if (device.vendor != "nvidia") return "device links";
  return fabric == Fabric::kBridges ? "NVLink bridges" : "NVLink";
}

}  // namespace

Result<Cluster> make_cluster(const model::DeviceShape& device, const ClusterShape& shape) {
  const auto& host_link = device.find(model::DeviceFigure::kHostLink);
  if (shape.devices > 1 && (!host_link || host_link->value == 0))
    return bad_input("expected a device with this figure; it is unknown for " + device.name)
        .at_field("host_link");
  const Fabric fabric = fabric_of(device);
  Cluster out;
  out.within = fabric_name(device, fabric);
  const bool several = shape.devices > shape.node_devices;
  Topology& graph = out.topology;
  const Place network = several ? graph.add(PlaceKind::kNetwork) : 0;
  Place host = 0, links = 0;
  for (std::int64_t i = 0; i < shape.devices; ++i) {
    const std::int64_t within = i % shape.node_devices;
    const Place at = graph.add(PlaceKind::kDevice);
    if (shape.devices > 1) {
      if (within == 0) host = graph.add(PlaceKind::kHost);
      const Place port = graph.add(PlaceKind::kSwitch);
      graph.link({at, port, host_link->value, kPcieNs});
      graph.link({port, host, host_link->value, kPcieNs});
      if (several) graph.link({port, network, shape.network_bytes_per_s, kNetworkNs});
    }
    if (fabric == Fabric::kSwitch) {
      if (within == 0) links = graph.add(PlaceKind::kSwitch);
      graph.link({at, links, device.at(model::DeviceFigure::kDeviceLink).value, kSwitchedNs});
    } else if (fabric == Fabric::kBridges && within % 2 == 1) {
      graph.link({out.devices.back(), at, device.at(model::DeviceFigure::kDeviceLink).value, kBridgeNs});
    }
    out.devices.push_back(at);
  }
  return out;
}

}  // namespace kvplan::topology
