// Devices as data: every file compared with the table from which most of their figures come; and broken files.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"
#include "tests/unit/traces/support.h"

namespace kvplan::model {
namespace {

TEST(Devices, FilesAreNamedAsTheirDevices) {
  ASSERT_EQ(devices().size(), embedded_devices().size());
  for (const EmbeddedConfig& file : embedded_devices()) {
    const DeviceShape device = parse_device(file.text, std::string(file.file)).value();
    EXPECT_EQ(device.name + ".json", file.file);
    EXPECT_EQ(find_device(device.name).value()->name, device.name);
    for (const std::string& alias : device.aliases) EXPECT_EQ(find_device(alias).value()->name, device.name);
    const auto& reported = device.find(DeviceFigure::kReportedBytes);
    const std::int64_t usable = device.at(DeviceFigure::kUsableBytes).value;
    EXPECT_LT(usable, reported ? reported->value : INT64_MAX) << device.name;
    const auto& most = device.find(DeviceFigure::kUsableBytesMost);
    EXPECT_LE(usable, most ? most->value : INT64_MAX) << device.name;
    for (const auto& figure : device.figures) EXPECT_TRUE(!figure || !figure->source.empty()) << device.name;
  }
  EXPECT_EQ(find_device("H200").value()->name, "h200-sxm");
  EXPECT_NE(find_device("h200-sxn").error().to_string().find("unknown device \"h200-sxn\"; did you mean"),
            std::string::npos);
}

/// A line of CSV without quotes.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> out;
  std::istringstream in(line + ",");
  for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
  return out;
}

TEST(Devices, AgreeWithTheTable) {
  KVPLAN_NEED_SHARED();
  const std::string path = traces::testing::shared_traces() + "/../reference/gpu-specs.csv";
  std::istringstream table(traces::testing::read_file(path));
  std::string line;
  std::getline(table, line);
  const std::vector<std::string> names = cells_of(line);
  std::size_t rows = 0;
  while (std::getline(table, line)) {
    const std::vector<std::string> cells = cells_of(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size() && i < cells.size(); ++i) row[names[i]] = cells[i];
    ASSERT_TRUE(find_device(row["id"]).ok()) << row["id"];
    const DeviceShape& device = *find_device(row["id"]).value();
    const auto equal = [&](const char* column, DeviceFigure figure) {
      if (row[column].empty()) return;
      ASSERT_TRUE(device.find(figure)) << row["id"] << " " << column;
      EXPECT_EQ(std::to_string(device.find(figure)->value), row[column]) << row["id"] << " " << column;
    };
    equal("mem_marketed_gb", DeviceFigure::kMarketedGb);
    equal("mem_reported_bytes", DeviceFigure::kReportedBytes);
    equal("mem_visible_bytes_min", DeviceFigure::kUsableBytes);
    equal("mem_visible_bytes_max", DeviceFigure::kUsableBytesMost);
    equal("bw_peak_Bps", DeviceFigure::kBandwidth);
    equal("bw_decode_slope_Bps", DeviceFigure::kBandwidthReached);
    equal("bf16_dense_flops", DeviceFigure::kBf16Flops);
    equal("fp8_dense_flops", DeviceFigure::kFp8Flops);
    equal("int8_dense_ops", DeviceFigure::kInt8Ops);
    equal("sm_count", DeviceFigure::kMultiprocessors);
    equal("l2_bytes", DeviceFigure::kL2Bytes);
    equal("smem_optin_block_bytes", DeviceFigure::kSharedMemoryBytes);
    equal("pcie_Bps_per_direction", DeviceFigure::kHostLink);
    equal("gpu_link_Bps_per_direction", DeviceFigure::kDeviceLink);
    equal("tdp_w", DeviceFigure::kPowerW);
    ++rows;
  }
  EXPECT_EQ(rows, 9U);
}

TEST(Devices, BrokenFilesAreOneLine) {
  const std::string figures = R"("usable_bytes":{"value":1,"mark":"measured","source":"s"},)"
                              R"("bandwidth":{"value":1,"mark":"assumed","source":""},)"
                              R"("bf16_flops":{"value":1,"mark":"published","source":"s"})";
  const auto file = [](const std::string& inside) {
    return R"({"name":"d","title":"D","aliases":[],"vendor":"v","architecture":"a","memory":"m","note":"",)"
           R"("figures":{)" +
           inside + "}}";
  };
  EXPECT_TRUE(parse_device(file(figures), "d.json").ok());
  const auto error = [&](const std::string& text) {
    return parse_device(text, "d.json").error().to_string();
  };
  EXPECT_EQ(error("{"), "d.json: expected a JSON object with the figures of a device");
  EXPECT_EQ(error("{}"), "d.json: name: expected a string");
  EXPECT_EQ(error(file("")), "d.json: usable_bytes: expected this figure, found nothing");
  EXPECT_NE(error(file(figures + R"(,"bandwith":{})"))
                .find("unknown figure \"bandwith\"; did you mean \"bandwidth\""),
            std::string::npos);
  EXPECT_NE(error(file(figures + R"(,"power_w":{"value":-1,"mark":"assumed","source":""})"))
                .find("power_w: expected as value a whole number from 0"),
            std::string::npos);
  EXPECT_EQ(error(file(figures + R"(,"power_w":{"value":1,"mark":"sure","source":""})")),
            "d.json: power_w: expected the mark measured, published or assumed, found \"sure\"");
  EXPECT_EQ(error(file(figures + R"(,"bandwidth":{"value":1,"mark":"assumed","source":""})")),
            "d.json: bandwidth: expected one value, found a second");
}

}  // namespace
}  // namespace kvplan::model
