// Times of steps: measured shapes have their measured times; devices and dtypes without tables take shares of others.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>

#include "simulator/kernels/kind_curve.h"
#include "simulator/kernels/kinds/rates.h"
#include "simulator/kernels/measured_devices.h"
#include "simulator/kernels/packed_tables.h"
#include "simulator/kernels/table_index.h"
#include "simulator/modelfile/device_catalogue.h"

namespace kvplan::kernels {
namespace {

const model::DeviceShape& device_of(std::string_view name) {
  return *model::find_device(name).value();
}

KindCurve product(std::string_view device, std::string_view engine, const char* dtype, const char* n = "4096",
                  const char* k = "4096") {
  return nearest_curve(gemm_kind(), {device_of(device), engine, {}}, {dtype, n, k});
}

TEST(KindCurve, MeasuredShapesHaveTheirTimes) {
  for (const char* name : {"h100-sxm", "b200-sxm", "l40s"}) {
    const model::DeviceShape& device = device_of(name);
    for (const KernelKind* const kind : kernel_kinds()) {
      const PackedTable* const packed = find_packed(kind->files, names_in_tables(device), "vllm", {});
      ASSERT_NE(packed, nullptr);
      const TimeTable table =
          parse_time_table(unpack(*packed), column_names(*kind), std::string(packed->file)).value();
      for (std::size_t r = 0; r < table.rows.size(); r += 29) {
        const TimeRow& row = table.rows[r];
        const KindCurve curve = nearest_curve(*kind, {device, "vllm", {}}, row.key);
        if (curve.origin().engine != "vllm") continue;  // launched by the host
        for (std::size_t i = 0; i < row.us.size(); ++i) {
          const double measured = std::isnan(row.us[i]) ? curve(table.axis[i]) : row.us[i];
          EXPECT_NEAR(curve(table.axis[i]) / measured, 1, 1e-9) << packed->file;
        }
      }
    }
  }
}

/// Between measured ones, as a call of `kvplan latency` has it.
TEST(KindCurve, AgreesWithSingleCalls) {
  const model::DeviceShape& device = device_of("h200-sxm");
  for (const auto& [kind, key] :
       std::initializer_list<std::pair<const KernelKind*, std::vector<std::string>>>{
           {&gemm_kind(), {"bfloat16", "6144", "4096"}},
           {&gemm_kind(), {"fp8", "1280", "8192"}},
           {&gemm_kind(), {"bfloat16", "200000", "5120"}},
           {&all_reduce_kind(), {"vLLM_custom_graph", "4"}},
           {&prefill_attention_kind(), {"bfloat16", "bfloat16", "128", "0", "8", "1", "1"}}}) {
    const KindTimes times(*kind, device, "vllm", {});
    const KindCurve curve = nearest_curve(*kind, {device, "vllm", {}}, key);
    for (const double at : {1.0, 7.0, 64.0, 100.0, 3000.0, 20000.0})
      EXPECT_NEAR(curve(at) / times({key, numbers_in(key), at}).us, 1, 0.02) << kind->name << " " << at;
  }
}

TEST(KindCurve, TablesOfLaunchesAreNotUsed) {
  const KindCurve curve = product("h200-sxm", "vllm", "fp8_block");
  EXPECT_EQ(curve.origin().engine, "sglang");
  EXPECT_TRUE(curve.origin().other_engine);
  EXPECT_LT(curve(1), 30);
  EXPECT_EQ(product("h200-sxm", "vllm", "fp8").origin().engine, "vllm");
}

TEST(KindCurve, OtherDevicesTakeSharesOfTheNearest) {
  const model::DeviceShape& mi300x = device_of("mi300x");
  const KindCurve curve = product("mi300x", "vllm", "bfloat16", "8192", "8192");
  EXPECT_TRUE(curve.origin().other_device);
  EXPECT_EQ(curve.origin().gpu, by_likeness(mi300x).front()->gpu);
  EXPECT_EQ(curve.origin().source, TimeSource::kExtrapolated);
  const MeasuredDevice& near = *by_likeness(mi300x).front();
  const KindCurve of_near = product(near.device, "vllm", "bfloat16", "8192", "8192");
  // Where memory limits both, and where arithmetic does, times are as the rates.
  EXPECT_NEAR(curve(1) / of_near(1), near.bandwidth / 5.3e12, 0.06);
  EXPECT_NEAR(curve(16384) / of_near(16384), near.bf16_flops / 1307.4e12, 0.02);
  const KindCurve pcie = product("h100-pcie", "vllm", "bfloat16");
  EXPECT_EQ(by_likeness(device_of("h100-pcie")).front()->gpu.substr(0, 1), pcie.origin().gpu.substr(0, 1));
}

TEST(KindCurve, ADtypeWithoutTablesTakesSharesOfOneAlike) {
  const KindCurve curve = product("l40s", "vllm", "nvfp4");
  EXPECT_NE(curve.origin().dtype, "");
  EXPECT_TRUE(curve.origin().other_dtype || curve.origin().other_device);
  EXPECT_EQ(dtypes_like("bfloat16").size(), 1U);
  for (const char* dtype : {"nvfp4", "int4_wo", "fp8_block", "fp8", "int8_wo", "w4a16_mxfp4"}) {
    const auto alike = dtypes_like(dtype);
    EXPECT_EQ(alike.front(), dtype);
    EXPECT_EQ(alike.back(), "bfloat16");
    EXPECT_EQ(std::set<std::string_view>(alike.begin(), alike.end()).size(), alike.size()) << dtype;
  }
}

TEST(MeasuredDevices, HaveTheFiguresOfTheirFiles) {
  for (const MeasuredDevice& each : measured_devices()) {
    const model::DeviceShape& file = device_of(each.device);
    const model::DeviceShape shape = each.shape();
    for (const auto figure : {model::DeviceFigure::kBandwidth, model::DeviceFigure::kBf16Flops,
                              model::DeviceFigure::kFp8Flops, model::DeviceFigure::kDeviceLink}) {
      const auto value = [&](const model::DeviceShape& d) {
        return d.find(figure) ? d.find(figure)->value : 0;
      };
      EXPECT_EQ(value(shape), value(file)) << each.device;
    }
    EXPECT_EQ(by_likeness(file).size() + 1, measured_devices().size());
    EXPECT_TRUE(was_measured(gemm_kind(), file));
  }
  EXPECT_EQ(by_likeness(device_of("h200-sxm")).front()->gpu, "h100");
  EXPECT_FALSE(was_measured(gemm_kind(), device_of("mi300x")));
}

}  // namespace
}  // namespace kvplan::kernels
