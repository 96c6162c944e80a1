// Which table is used for a call, and the parts of predictions, on small tables with times known by hand.
#include <gtest/gtest.h>

#include "simulator/kernels/attention_roofline.h"
#include "simulator/kernels/grid_estimate.h"
#include "simulator/modelfile/device_catalogue.h"
#include "tests/unit/kernels/support.h"

namespace kvplan::kernels {
namespace {

using testing::made_up;

/// 10 us, plus 1 us for each 128 tokens of a KV head, for any number of query heads.
double straight(std::int64_t batch, double length, std::int64_t kv_heads) {
  return 10 + static_cast<double>(batch * kv_heads) * length / 128;
}

std::vector<MeasuredCall> straight_calls() {
  std::vector<MeasuredCall> calls;
  for (const std::int64_t batch : {1, 2, 4, 8})
    for (const std::int64_t length : {128, 256, 512})
      for (const std::int64_t kv_heads : {1, 2, 4})
        for (const std::int64_t group : {2, 4, 8})
          calls.push_back(
              {batch, length, kv_heads, group, straight(batch, static_cast<double>(length), kv_heads)});
  return calls;
}

TEST(TimeCurve, KnotsLinesAndWhatIsBehind) {
  const TimeCurve curve{
      {{0, 4, TimeSource::kExtrapolated}, {10, 6, TimeSource::kTable}, {20, 5, TimeSource::kTable}}, 0.5};
  const auto is = [&](double at, double us, TimeSource source) {
    EXPECT_EQ(curve(at).us, us) << at;
    EXPECT_EQ(curve(at).source, source) << at;
  };
  is(0, 4, TimeSource::kExtrapolated);
  is(5, 5, TimeSource::kExtrapolated);
  is(10, 6, TimeSource::kTable);
  is(15, 5.5, TimeSource::kInterpolated);
  is(20, 5, TimeSource::kTable);
  is(30, 10, TimeSource::kExtrapolated);
}

TEST(MeasuredGrid, RefusesWhatIsNoTable) {
  EXPECT_FALSE(MeasuredGrid::make({}).ok());
  EXPECT_FALSE(MeasuredGrid::make({{1, 1, 1, 1, 0}}).ok());
  EXPECT_FALSE(MeasuredGrid::make({{0, 1, 1, 1, 1}}).ok());
  EXPECT_FALSE(MeasuredGrid::make({{1, 1, 1, 1, 1}, {1, 1, 1, 1, 2}}).ok());
  EXPECT_TRUE(MeasuredGrid::make({{1, 1, 1, 1, 1}, {1, 2, 1, 1, 2}}).ok());
}

TEST(GridEstimate, MeansOfPairsWeightedByWhatTheyAgree) {
  // One time is missing; its neighbours along the batch are 10 and 30, along the cached tokens 19 and 21.
  const auto grid =
      MeasuredGrid::make({{1, 256, 1, 2, 10}, {3, 256, 1, 2, 30}, {2, 128, 1, 2, 19}, {2, 384, 1, 2, 21}})
          .value();
  const auto time = estimate(grid, {1, 1, 0, 0}, 0);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->source, TimeSource::kInterpolated);
  EXPECT_NEAR(time->us, 20, 1e-12);
  EXPECT_DOUBLE_EQ(doubt_of_pair(19, 21), 0.015 + 0.3 * 0.1);
  EXPECT_DOUBLE_EQ(doubt_of_pair(10, 30), 0.015 + 0.3 * 1);
  // A pair with nearly equal times counts for more: 40 between 10 and 70, 20 between 19 and 21.
  const auto other =
      MeasuredGrid::make({{1, 256, 1, 2, 10}, {3, 256, 1, 2, 70}, {2, 128, 1, 2, 19}, {2, 384, 1, 2, 21}})
          .value();
  const double far = 1 / (doubt_of_pair(10, 70) * doubt_of_pair(10, 70)), near = 1 / (0.045 * 0.045);
  EXPECT_NEAR(estimate(other, {1, 1, 0, 0}, 0)->us, (40 * far + 20 * near) / (far + near), 1e-9);
}

TEST(DecodeTimes, StraightTimesStayStraight) {
  const std::vector<KernelTable> tables{made_up(straight_calls())};
  const DecodeTimes times(tables, {{"G"}, "e", ""});
  EXPECT_EQ(times.engine_version(), "1.2");
  const auto is = [&](std::int64_t batch, std::int64_t length, std::int64_t kv_heads, std::int64_t group,
                      TimeSource source) {
    const auto time =
        times({.batch = batch, .kv_len = length, .q_heads = kv_heads * group, .kv_heads = kv_heads});
    ASSERT_TRUE(time);
    EXPECT_NEAR(time->us, straight(batch, static_cast<double>(length), kv_heads), 1e-9)
        << batch << " x " << length << ", " << kv_heads << " x " << group;
    EXPECT_EQ(time->source, source);
  };
  is(4, 256, 2, 4, TimeSource::kTable);
  is(4, 300, 2, 4, TimeSource::kInterpolated);
  is(3, 256, 2, 4, TimeSource::kInterpolated);
  is(4, 256, 3, 4, TimeSource::kInterpolated);
  is(4, 256, 2, 6, TimeSource::kInterpolated);
  is(3, 333, 3, 5, TimeSource::kInterpolated);
  is(7, 333, 3, 5, TimeSource::kExtrapolated);  // as 10.5 sequences of 2 heads, too
  is(16, 256, 2, 4, TimeSource::kExtrapolated);
  is(4, 256, 8, 4, TimeSource::kExtrapolated);
  is(4, 256, 2, 16, TimeSource::kExtrapolated);
  is(1, 4096, 1, 2, TimeSource::kExtrapolated);
}

TEST(DecodeTimes, MissingPlacesAreEstimated) {
  std::vector<MeasuredCall> calls = straight_calls();
  std::erase_if(calls,
                [](const MeasuredCall& c) { return c.batch == 4 && c.length == 256 && c.kv_heads == 2; });
  const std::vector<KernelTable> tables{made_up(calls)};
  const auto time =
      DecodeTimes(tables, {{"G"}, "e", ""})({.batch = 4, .kv_len = 256, .q_heads = 8, .kv_heads = 2});
  ASSERT_TRUE(time);
  EXPECT_EQ(time->source, TimeSource::kInterpolated);
  EXPECT_NEAR(time->us, straight(4, 256, 2), 0.05 * straight(4, 256, 2));
}

TEST(DecodeTimes, OtherHeadSizesAndElementsHaveTheTimeOfEqualBytes) {
  const std::vector<KernelTable> tables{made_up(straight_calls())};
  const DecodeTimes times(tables, {{"G"}, "e", ""});
  const DecodeCall call{.batch = 4, .kv_len = 512, .q_heads = 8, .kv_heads = 2};
  DecodeCall other = call;
  other.head_dim = 64;
  EXPECT_DOUBLE_EQ(times(other)->us, straight(4, 256, 2));
  EXPECT_EQ(times(other)->source, TimeSource::kExtrapolated);
  other = call;
  other.kv_elem_bytes = 1;
  EXPECT_DOUBLE_EQ(times(other)->us, straight(4, 256, 2));
  other.head_dim = 256;
  EXPECT_DOUBLE_EQ(times(other)->us, straight(4, 512, 2));
  EXPECT_EQ(times(other)->source, TimeSource::kExtrapolated);
}

TEST(DecodeTimes, Windows) {
  std::vector<MeasuredCall> windowed = straight_calls();
  for (MeasuredCall& call : windowed) call.us = 2 * straight(call.batch, 128, call.kv_heads);
  const std::vector<KernelTable> tables{made_up(straight_calls()), made_up(windowed, 128)};
  const DecodeTimes times(tables, {{"G"}, "e", ""});
  DecodeCall call{.batch = 4, .kv_len = 512, .q_heads = 8, .kv_heads = 2, .window = 128};
  EXPECT_EQ(times(call)->us, 2 * straight(4, 128, 2));
  EXPECT_EQ(times(call)->source, TimeSource::kTable);
  call.kv_len = 1 << 20;
  EXPECT_EQ(times(call)->us, 2 * straight(4, 128, 2)) << "a window hides what is longer";
  call.kv_len = 32;
  DecodeCall whole = call;
  whole.window = 0;
  EXPECT_DOUBLE_EQ(times(call)->us, 2 * times(whole)->us) << "within the window as without one";
  EXPECT_EQ(times(call)->source, TimeSource::kExtrapolated);
  call.window = 300;
  call.kv_len = 5000;
  whole.kv_len = 300;
  EXPECT_EQ(times(call)->us, times(whole)->us) << "no table of this window: the tokens that are seen";
  EXPECT_EQ(times(call)->source, TimeSource::kExtrapolated);
}

TEST(DecodeTimes, VersionsAndNames) {
  std::vector<KernelTable> tables;
  for (const char* version : {"0.9.1", "0.14.0rc2", "0.10.0"}) {
    tables.push_back(made_up({{1, 128, 1, 2, static_cast<double>(tables.size() + 1)}}));
    tables.back().engine_version = version;
    tables.back().kernel = version;
  }
  const auto with = [&](const std::string& version) {
    return DecodeTimes(tables, {{"A", "G"}, "e", version});
  };
  const DecodeCall call{.batch = 1, .kv_len = 128, .q_heads = 2, .kv_heads = 1};
  EXPECT_EQ(with("").engine_version(), "0.14.0rc2") << "the last one";
  EXPECT_EQ(with("")(call)->us, 2);
  EXPECT_EQ(with("")(call)->source, TimeSource::kTable);
  EXPECT_EQ(with("0.9.1")(call)->us, 1);
  EXPECT_EQ(with("0.9.1")(call)->source, TimeSource::kTable);
  EXPECT_EQ(with("0.9.1").kernels(), (std::vector<std::string>{"0.9.1"}));
  EXPECT_EQ(with("0.10.0")(call)->us, 3);
  EXPECT_EQ(with("2")(call)->us, 2);
  EXPECT_EQ(with("2")(call)->source, TimeSource::kExtrapolated);
  EXPECT_TRUE(DecodeTimes(tables, {{"A"}, "e", ""}).empty());
  EXPECT_TRUE(DecodeTimes(tables, {{"G"}, "other", ""}).empty());
  EXPECT_FALSE(DecodeTimes(tables, {{"G"}, "other", ""})(call));
}

TEST(DecodeTimes, OrderOfVersions) {
  const std::vector<std::string_view> ascending{"0.9",       "0.10",       "0.10.1", "0.14.0",
                                                "0.14.0rc2", "0.14.0rc10", "1"};
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t k = 0; k < ascending.size(); ++k)
      EXPECT_EQ(version_before(ascending[i], ascending[k]), i < k) << ascending[i] << " " << ascending[k];
  EXPECT_FALSE(version_before("1.02", "1.2"));
  EXPECT_FALSE(version_before("1.2", "1.02"));
}

TEST(AttentionRoofline, ByHand) {
  const model::DeviceShape& h100 = *model::find_device("H100").value();
  // 64 x 8 x 8192 tokens x 2 x 128 elements x 2 bytes, and 64 x 32 x 128 queries and the same number of outputs.
  DecodeCall call{.batch = 64, .kv_len = 8192, .q_heads = 32, .kv_heads = 8};
  const double bytes = 64.0 * 8 * 8192 * 512 + 64.0 * 32 * 128 * 4;
  EXPECT_NEAR(attention_roofline(call, h100).us, 12 + bytes / 3.2e6, 1e-9);
  EXPECT_EQ(attention_roofline(call, h100).source, TimeSource::kRoofline);
  call.window = 1024;
  EXPECT_NEAR(attention_roofline(call, h100).us, 12 + (64.0 * 8 * 1024 * 512 + 64.0 * 32 * 128 * 4) / 3.2e6,
              1e-9);
  call.window = 0;
  call.kv_elem_bytes = 1;  // 132 multiprocessors
  EXPECT_NEAR(attention_roofline(call, h100).us, 12 + 64.0 * 8 * 8192 * 256 / (132 * 23e3), 1e-9);
  call = {.batch = 64,
          .kv_len = 8192,
          .q_heads = 4096,
          .kv_heads = 8};  // 512 query heads for a KV head: computing
  EXPECT_NEAR(attention_roofline(call, h100).us, 12 + 4.0 * 4096 * 128 * 64 * 8192 / (0.6 * 989e6), 1e-6);
  const model::DeviceShape& pcie = *model::find_device("h100-pcie").value();  // no reached bandwidth is known
  call = {.batch = 64, .kv_len = 8192, .q_heads = 32, .kv_heads = 8};
  EXPECT_NEAR(attention_roofline(call, pcie).us, 12 + bytes / (0.9 * 2e6), 1e-9);
}

}  // namespace
}  // namespace kvplan::kernels
