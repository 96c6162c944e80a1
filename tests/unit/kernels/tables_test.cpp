// The tables of the program, and how they are read.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "simulator/modelfile/device_catalogue.h"
#include "tests/unit/kernels/support.h"

namespace kvplan::kernels {
namespace {

using testing::asked;
using testing::calls_of;
using testing::names_of;

constexpr std::string_view kText =
    "gpu,G\nengine,e\nengine_version,1\nkernel,k\nhead_dim,64\nwindow,0\nkv_elem_bytes,0.5\n"
    "q_heads,kv_heads,batch,16,32\n4,2,1,1.25,\n4,2,3,,7\n";

TEST(KernelTable, IsRead) {
  const auto table = parse_kernel_table(kText, "f");
  ASSERT_TRUE(table.ok()) << table.error().to_string();
  EXPECT_EQ(table.value().gpu, "G");
  EXPECT_EQ(table.value().engine_version, "1");
  EXPECT_EQ(table.value().head_dim, 64);
  EXPECT_EQ(table.value().kv_elem_bytes, 0.5);
  const MeasuredGrid& grid = table.value().grid;
  EXPECT_EQ(grid.measured(), 2U);
  EXPECT_EQ(grid.axes().batches, (Axis{1, 3}));
  EXPECT_EQ(grid.axes().lengths, (Axis{16, 32}));
  EXPECT_EQ(grid.axes().groups, (Axis{2}));
  EXPECT_EQ(grid.at({0, 0, 0, 0}), 1.25);
  EXPECT_EQ(grid.at({0, 1, 0, 0}), 0);
  EXPECT_EQ(grid.at({1, 1, 0, 0}), 7);
}

std::string error_with(std::string_view from, std::string_view to) {
  std::string text(kText);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  text.replace(at, from.size(), to);
  const auto table = parse_kernel_table(text, "f");
  return table.ok() ? "no error" : table.error().to_string();
}

TEST(KernelTable, ErrorsHaveTheirPlace) {
  EXPECT_EQ(error_with("engine,e", "motor,e"),
            "f:2: engine: expected this column name, a comma and its value");
  EXPECT_EQ(error_with("head_dim,64", "head_dim,0"),
            "f:5: head_dim: expected a whole number from 1 to 1073741824, found \"0\"");
  EXPECT_EQ(error_with("q_heads,kv_heads", "kv_heads,q_heads"),
            "f:8: q_heads: expected q_heads,kv_heads,batch followed by lengths");
  EXPECT_EQ(error_with("4,2,1,1.25,", "4,2,1,1.25"), "f:9: row: expected 5 cells, found 4");
  EXPECT_EQ(error_with("4,2,3", "3,2,3"), "f:10: q_heads: expected a multiple of kv_heads");
  EXPECT_EQ(error_with(",,7", ",,-7"), "f:10: time: expected a number from 0.001 to 1e+09, found \"-7\"");
  EXPECT_EQ(error_with("4,2,3,,7", "4,2,1,7,"), "f: expected one time per call, found two");
}

TEST(KernelTable, ThoseOfTheProgram) {
  std::size_t measured = 0;
  for (const KernelTable& table : kernel_tables()) {
    measured += table.grid.measured();
    EXPECT_TRUE(model::find_device(table.gpu).ok()) << "no device has the alias " << table.gpu;
    EXPECT_EQ(table.head_dim, 128);
  }
  EXPECT_EQ(kernel_tables().size(), 21U);
  EXPECT_EQ(measured, 42470U);
}

TEST(KernelTable, EveryMeasuredCallIsAnsweredExactly) {
  std::size_t calls = 0;
  for (const KernelTable& table : kernel_tables()) {
    const DecodeTimes times(kernel_tables(), names_of(table));
    for (const MeasuredCall& call : calls_of(table.grid)) {
      const auto time = times(asked(table, call));
      ASSERT_TRUE(time);
      ASSERT_EQ(time->us, call.us) << table.gpu << " " << call.batch << " x " << call.length;
      ASSERT_EQ(time->source, TimeSource::kTable);
      ++calls;
    }
  }
  EXPECT_EQ(calls, 42470U);
}

/// Times of measured calls that differ only in their length, by length.
using Curve = std::map<std::int64_t, double>;

TEST(KernelTable, BetweenTwoLengthsTimesLieOnTheStraightLine) {
  std::size_t pairs = 0, rising = 0;
  for (const KernelTable& table : kernel_tables()) {
    const DecodeTimes times(kernel_tables(), names_of(table));
    std::map<std::array<std::int64_t, 3>, Curve> curves;
    for (const MeasuredCall& call : calls_of(table.grid))
      curves[{call.batch, call.kv_heads, call.group}][call.length] = call.us;
    for (const auto& [same, curve] : curves) {
      for (auto a = curve.begin(), b = std::next(a); b != curve.end(); a = b++) {
        if (b->first != 2 * a->first) continue;
        ++pairs;
        double last = a->second;
        for (const std::int64_t part : {1, 3, 7}) {
          const std::int64_t length = a->first + (b->first - a->first) * part / 8;
          const auto time = times(asked(table, {same[0], length, same[1], same[2], 0}));
          ASSERT_TRUE(time);
          const double line = a->second + (b->second - a->second) * static_cast<double>(part) / 8;
          ASSERT_NEAR(time->us, line, 1e-9 * line);
          ASSERT_EQ(time->source, TimeSource::kInterpolated);
          if (a->second <= b->second) {
            ASSERT_GE(time->us, last) << "falls where the table rises";
            ASSERT_LE(time->us, b->second);
          }
          last = time->us;
        }
        rising += a->second <= b->second ? 1 : 0;
      }
    }
  }
  EXPECT_GT(pairs, 30000U);
  EXPECT_GT(rising, 20000U);
}

TEST(KernelTable, ShorterThanMeasuredNeverTakesLonger) {
  std::size_t curves = 0;
  for (const KernelTable& table : kernel_tables()) {
    const DecodeTimes times(kernel_tables(), names_of(table));
    for (const MeasuredCall& call : calls_of(table.grid)) {
      if (call.length != 128) continue;
      ++curves;
      double last = 0;
      for (const std::int64_t length : {1, 2, 3, 7, 8, 16, 31, 32, 64, 100, 127, 128}) {
        const auto time = times(asked(table, {call.batch, length, call.kv_heads, call.group, 0}));
        ASSERT_TRUE(time);
        ASSERT_GT(time->us, 0);
        ASSERT_GE(time->us, last * (1 - 1e-12))
            << table.gpu << " batch " << call.batch << " length " << length;
        ASSERT_EQ(time->source, length == 128 ? TimeSource::kTable : TimeSource::kExtrapolated);
        last = time->us;
      }
    }
  }
  EXPECT_GT(curves, 5000U);
}

TEST(KernelTable, LongerThanMeasuredNeverTakesLess) {
  for (const KernelTable& table : kernel_tables()) {
    const DecodeTimes times(kernel_tables(), names_of(table));
    for (const std::int64_t batch : {1, 3, 64, 2048, 5000}) {
      DecodeCall call = asked(table, {batch, 131072, 8, 4, 0});
      double last = times(call)->us;
      for (call.kv_len = 140000; call.kv_len < 3000000; call.kv_len *= 2) {
        const auto time = times(call);
        ASSERT_TRUE(time);
        ASSERT_EQ(time->source, TimeSource::kExtrapolated);
        ASSERT_GE(time->us, last);
        ASSERT_TRUE(std::isfinite(time->us));
        last = time->us;
      }
    }
  }
}

}  // namespace
}  // namespace kvplan::kernels
