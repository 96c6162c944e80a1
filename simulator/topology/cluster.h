// Nodes of devices as they are sold, as a graph:
//
//     device --- PCIe switch --- host        each device has its own port, one host for all of a node
//     device --- NVLink switch               where devices have links to each other; PCIe cards have bridges, by twos
//     PCIe switch --- network                an adapter for each device (NVIDIA DGX H100 user guide: eight for eight)
//
// Rates of device links and of PCIe are those of the device (simulator/model/devices). Meshes of links (AMD MI300X) are
// taken for a switch with all links of a device together: several rings use them at one time. Two sockets of a host are
// taken for one. Latencies, of half a route within a node or of the way to the network and back:
//
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
  std::int64_t network_bytes_per_s{50'000'000'000};  ///< of a device's adapter, each way
};

struct Cluster {
  Topology topology;
  std::vector<Place> devices;  ///< in order, node by node
  std::string within;          ///< what joins devices of a node, for people: "NVLink", ...
};

/// Errors: the device has no figure of its link to the host, though several devices are asked for (field host_link).
/// REQUIRES: positive members.
Result<Cluster> make_cluster(const model::DeviceShape& device, const ClusterShape& shape);

}  // namespace kvplan::topology
