// Nodes of known devices: the links between ranks.
#include "simulator/topology/cluster.h"

#include <gtest/gtest.h>

#include <chrono>

#include "simulator/modelfile/device_catalogue.h"
#include "simulator/topology/collectives.h"

namespace kvplan::topology {
namespace {

const model::DeviceShape& device(std::string_view name) {
  return *model::find_device(name).value();
}

Ring ring_of(std::string_view name, const ClusterShape& shape) {
  const Cluster cluster = make_cluster(device(name), shape).value();
  EXPECT_EQ(cluster.devices.size(), static_cast<std::size_t>(shape.devices));
  return *Ring::over(cluster.topology, cluster.devices);
}

TEST(Cluster, DevicesOfANodeMeetOverTheirFastestLinks) {
  EXPECT_EQ(ring_of("H100", {.devices = 8}).bytes_per_s(), 450'000'000'000) << "NVLink, each way";
  EXPECT_EQ(ring_of("H100", {.devices = 8}).round_ns(), 470);
  EXPECT_EQ(ring_of("L40S", {.devices = 8}).bytes_per_s(), 32'000'000'000) << "PCIe 4";
  EXPECT_EQ(ring_of("L40S", {.devices = 8}).round_ns(), 1000);
  EXPECT_EQ(ring_of("h100-pcie", {.devices = 2}).bytes_per_s(), 300'000'000'000) << "a bridge";
  EXPECT_EQ(ring_of("h100-pcie", {.devices = 4}).bytes_per_s(), 64'000'000'000) << "PCIe between bridges";
}

TEST(Cluster, SeveralNodesMeetOverTheNetwork) {
  for (const std::int64_t network : {50'000'000'000, 25'000'000'000}) {
    const Ring ring = ring_of("H100", {.devices = 16, .network_bytes_per_s = network});
    EXPECT_EQ(ring.bytes_per_s(), network);
    EXPECT_DOUBLE_EQ(ring.round_ns(), (14 * 470 + 2 * 2700) / 16.0) << "two of the routes pass the network";
  }
  EXPECT_EQ(ring_of("L40S", {.devices = 16}).bytes_per_s(), 32'000'000'000) << "PCIe is narrower";
  // Devices with the same index in two nodes each have their own adapter.
  const Cluster cluster = make_cluster(device("H100"), {.devices = 16}).value();
  std::vector<Route> routes;
  for (std::size_t i = 0; i < 8; ++i)
    routes.push_back(*cluster.topology.widest(cluster.devices[i], cluster.devices[i + 8]));
  EXPECT_EQ(shared_rate(cluster.topology, routes).bytes_per_s, 50'000'000'000);
}

/// A former error: each route searched the whole cluster, so that 3,200 devices took half a minute.
TEST(Cluster, ManyDevicesTakeTheTimeOfTheirRoutes) {
  const auto begin = std::chrono::steady_clock::now();
  const Ring ring = ring_of("H100", {.devices = 4096});
  EXPECT_EQ(ring.bytes_per_s(), 50'000'000'000);
  EXPECT_DOUBLE_EQ(ring.round_ns(), (3584 * 470 + 512 * 2700.0) / 4096);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Cluster, SaysWhichFigureOfTheDeviceIsMissing) {
  model::DeviceShape bare = device("H100");
  bare.figures[static_cast<std::size_t>(model::DeviceFigure::kHostLink)].reset();
  EXPECT_TRUE(make_cluster(bare, {.devices = 1}).ok());
  const auto two = make_cluster(bare, {.devices = 2});
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().to_string(),
            "host_link: expected a device with this figure; it is unknown for h100-sxm");
  bare = device("H100");
  bare.figures[static_cast<std::size_t>(model::DeviceFigure::kDeviceLink)].reset();
  const Cluster slow = make_cluster(bare, {.devices = 2}).value();
  EXPECT_EQ(slow.within, "PCIe");
}

}  // namespace
}  // namespace kvplan::topology
