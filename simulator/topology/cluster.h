// Nodes of devices as they are sold, as a graph:
//
//     device --- PCIe switch --- host        each device has its own port; one host for all devices of a node
//     device --- NVLink switch               if devices have links to each other; PCIe cards have bridges, in pairs
//     PCIe switch --- network                an adapter for each device (NVIDIA DGX H100 user guide: eight for eight)
//
// The rates of device links and of PCIe are those of the device (simulator/model/devices). A mesh of links (AMD MI300X)
// is modelled as a switch with the sum of a device's links: several rings use them at the same time. Two sockets of a
// host are modelled as one. Latencies, of half a route within a node or of the way to the network and back:
// host are modelled as one. Latencies, of half a route within a node, or of the way to the network and back:
//     NVLink      0.47 us from device to device    PCIe   1.0 us    network   2.7 us
//
// hwLat of ring and protocol LL in NVIDIA NCCL, src/graph/tuning.cc (github.com/NVIDIA/nccl, commit 01afd20).
#pragma once

#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/model/device.h"
#include "simulator/topology/topology.h"

namespace kvplan::topology {

struct ClusterShape {
  std::int64_t devices{1};
  std::int64_t node_devices{8};
  std::int64_t network_bytes_per_s{50'000'000'000};  ///< rate of a device's network adapter, each way
};

struct Cluster {
  Topology topology;
  std::vector<Place> devices;  ///< node by node
  std::string within;          ///< what connects devices of a node, as text: "NVLink", ...
};

/// Errors: the device has no rate of its link to the host, but several devices are asked for (field host_link).
/// REQUIRES: positive members.
Result<Cluster> make_cluster(const model::DeviceShape& device, const ClusterShape& shape);

}  // namespace kvplan::topology
