// Coordinates of charts that are read back are the numbers of the result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "simulator/report/charts.h"
#include "simulator/report/number_text.h"
#include "simulator/report/palette.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/report/xml.h"

namespace kvplan::report {
namespace {

using observe::kStateNames;
using observe::kStates;
using observe::State;
using testing::Element;
using testing::parse_xml;
using testing::path_points;
using testing::Point;
using testing::result_of;
using testing::small_settings;
using testing::small_trace;

constexpr std::int64_t kBins = 7;
constexpr double kPixel = 0.011;  // coordinates have two decimals

/// The height of a step path in the middle of each bin.
std::vector<double> heights(const std::vector<Point>& path, std::size_t bins, const Plot& plot) {
  std::vector<double> out;
  for (std::size_t i = 0; i < bins; ++i) {
    const double x =
        plot.left + (plot.right - plot.left) * (static_cast<double>(i) + 0.5) / static_cast<double>(bins);
    for (std::size_t k = 1; k < path.size(); ++k) {
      if (path[k - 1].x <= x && x < path[k].x) {
        EXPECT_EQ(path[k - 1].y, path[k].y) << "not a step";
        out.push_back(path[k].y);
        break;
      }
    }
  }
  return out;
}

double bytes_of(const runs::ReplicaDetails& replica, std::size_t bin, std::size_t state) {
  return replica.timeline[bin].mean(state) * static_cast<double>(replica.layout.count_bytes()) +
         (state == index(State::kPadding) ? static_cast<double>(replica.layout.padding_bytes()) : 0);
}

void expect_stacked(const runs::RunResult& result) {
  const Plot plot;
  const Element svg = parse_xml(memory_chart(result, "m"));
  std::vector<double> expected(kBins, 0);
  std::size_t drawn = 0;
  for (const State state : kStackOrder) {
    std::vector<double> add(kBins, 0);
    for (const runs::ReplicaDetails& replica : result.details)
      for (std::size_t b = 0; b < add.size(); ++b) add[b] += bytes_of(replica, b, index(state));
    const auto paths = svg.with("id", "m-" + std::string(kStateNames[index(state)]));
    if (*std::max_element(add.begin(), add.end()) == 0) {
      EXPECT_TRUE(paths.empty()) << kStateNames[index(state)] << " is drawn and never there";
      continue;
    }
    ASSERT_EQ(paths.size(), 1U) << kStateNames[index(state)];
    ++drawn;
    // The upper edge is the first half of the outline, the lower edge the way back.
    std::vector<Point> outline = path_points(paths[0]->attributes.at("d"));
    const auto turn = std::find_if(outline.begin(), outline.end(),
                                   [&](const Point& p) { return std::fabs(p.x - plot.right) < kPixel; });
    ASSERT_NE(turn, outline.end());
    const std::vector<Point> upper(outline.begin(), turn + 1);
    std::vector<Point> lower(turn + 1, outline.end());
    std::reverse(lower.begin(), lower.end());
    const std::vector<double> low = heights(lower, kBins, plot);
    for (std::size_t b = 0; b < expected.size(); ++b) {
      EXPECT_NEAR((plot.bottom - low[b]) / (plot.bottom - plot.top),
                  expected[b] / static_cast<double>(result.capacity_bytes), kPixel / 200);
      expected[b] += add[b];
    }
    const std::vector<double> high = heights(upper, kBins, plot);
    ASSERT_EQ(high.size(), expected.size());
    for (std::size_t b = 0; b < expected.size(); ++b)
      EXPECT_NEAR((plot.bottom - high[b]) / (plot.bottom - plot.top),
                  expected[b] / static_cast<double>(result.capacity_bytes), kPixel / 200)
          << kStateNames[index(state)] << " in bin " << b;
  }
  EXPECT_GE(drawn, 5U);
  for (const double total : expected)
    EXPECT_NEAR(total / static_cast<double>(result.capacity_bytes), 1, 1e-12);
}

TEST(Charts, StackedAreasAreTheBinsOfTheLedger) {
  expect_stacked(result_of(small_settings(), small_trace(), kBins));
}

TEST(Charts, ReplicasAreSummed) {
  auto settings = small_settings();
  settings.push_back({"fleet.replicas", "3", {}, 0});
  expect_stacked(result_of(settings, small_trace(), kBins));
}

TEST(Charts, ManyBinsAreJoinedExactly) {
  const runs::RunResult many = result_of(small_settings(), small_trace(), 640);
  const runs::RunResult few = result_of(small_settings(), small_trace(), 320);
  EXPECT_EQ(memory_chart(many, "m"), memory_chart(few, "m"));
  EXPECT_EQ(batch_chart(many, "b"), batch_chart(few, "b"));
}

TEST(Charts, LinesAreMeansWithTheirRange) {
  const Plot plot;
  const runs::RunResult result = result_of(small_settings(), small_trace(), kBins);
  const Element svg = parse_xml(batch_chart(result, "b"));
  const auto& bins = result.details[0].timeline;
  double most = 6;  // the running slots are drawn, because they are within half again of the largest value
  for (const auto& bin : bins) most = std::max({most, static_cast<double>(bin.greatest[kStates + 1])});
  for (const auto& [style, row] : {std::pair{"l0", kStates}, std::pair{"l1 dashed", kStates + 1}}) {
    const auto line = svg.with("class", std::string("line ") + style);
    ASSERT_EQ(line.size(), 1U);
    const auto mean = heights(path_points(line[0]->attributes.at("d")), bins.size(), plot);
    ASSERT_EQ(mean.size(), bins.size());
    const auto range = svg.with("class", std::string("range ") + style);
    ASSERT_EQ(range.size(), 1U);
    const auto high = heights(path_points(range[0]->attributes.at("d")), bins.size(), plot);
    for (std::size_t b = 0; b < bins.size(); ++b) {
      const auto y = [&](double value) { return plot.bottom - (plot.bottom - plot.top) * value / most; };
      EXPECT_NEAR(mean[b], y(bins[b].mean(row)), kPixel);
      EXPECT_NEAR(high[b], y(static_cast<double>(bins[b].greatest[row])), kPixel);
    }
  }
  EXPECT_NE(svg.all_text().find("max_seqs 6"), std::string::npos);
}

TEST(Charts, DistributionIsThatOfTheRequests) {
  const Plot plot;
  runs::RunResult result = result_of(small_settings(), small_trace(), 0);
  EXPECT_TRUE(runs::is_saturated(result));  // so latencies that include waiting have no curve
  EXPECT_TRUE(parse_xml(latency_chart(result, "l")).with("class", "line l1 d-TTFT").empty());
  EXPECT_EQ(parse_xml(latency_chart(result, "l")).with("class", "line l2 d-TPOT").size(), 1U);
  result.saturation->saturated = false;
  std::vector<double> ttft;
  for (std::size_t i = 0; i < result.records.size(); ++i)
    if (result.records[i].status == observe::RequestStatus::kCompleted)
      ttft.push_back(seconds(result.records[i].first_token - result.records[i].arrival));
  std::sort(ttft.begin(), ttft.end());

  const Element svg = parse_xml(latency_chart(result, "l"));
  const auto path = svg.with("class", "line l1 d-TTFT");
  ASSERT_EQ(path.size(), 1U);
  const std::vector<Point> points = path_points(path[0]->attributes.at("d"));
  // A step to the right and one up for each request.
  ASSERT_EQ(points.size(), 1 + 2 * ttft.size());
  // The axis' own lines show where powers of ten are.
  const double per_decade = (points.back().x - points.front().x) / std::log10(ttft.back() / ttft.front());
  for (std::size_t k = 0; k < ttft.size(); ++k) {
    EXPECT_NEAR(points[1 + 2 * k].x, points.front().x + per_decade * std::log10(ttft[k] / ttft.front()),
                2 * kPixel);
    EXPECT_NEAR((plot.bottom - points[2 + 2 * k].y) / (plot.bottom - plot.top),
                static_cast<double>(k + 1) / static_cast<double>(ttft.size()), kPixel / 200);
  }
  const auto target = svg.with("class", "target l1");
  ASSERT_EQ(target.size(), 1U);
  EXPECT_NEAR(std::stod(target[0]->attributes.at("x1")),
              points.front().x + per_decade * std::log10(0.05 / ttft.front()), 2 * kPixel);
  EXPECT_NE(svg.all_text().find("TTFT target 50.0 ms"), std::string::npos);
}

TEST(Charts, SharesAreBarsOfTheirLength) {
  constexpr double kWide = 760 - (16 + 6.6 * 8);  // labels of up to eight characters
  ShareRow row{.label = "a, b", .fractions = {}};
  row.fractions[index(State::kLive)] = 0.25;
  row.fractions[index(State::kReserved)] = 0.5;
  row.fractions[index(State::kFree)] = 0.25;
  const Element svg = parse_xml(share_chart({row}, "s"));
  double right = -1;
  double sum = 0;
  for (const auto& [state, share] :
       {std::pair{"live", 0.25}, std::pair{"reserved", 0.5}, std::pair{"free", 0.25}}) {
    const auto boxes = svg.with("class", std::string("state s-") + state + " box");
    ASSERT_EQ(boxes.size(), 2U) << "bar and legend";
    const double left = std::stod(boxes[0]->attributes.at("x"));
    const double width = std::stod(boxes[0]->attributes.at("width"));
    if (right >= 0) {
      EXPECT_NEAR(left, right, 2 * kPixel);
    }
    right = left + width;
    sum += width;
    EXPECT_NEAR(width, share * kWide, 2 * kPixel);
  }
  EXPECT_NEAR(sum, kWide, 4 * kPixel);
}

TEST(Charts, HaveDescriptionsForScreenReaders) {
  const runs::RunResult result = result_of(small_settings(), small_trace(), kBins);
  for (const std::string& chart :
       {memory_chart(result, "a"), batch_chart(result, "b"), latency_chart(result, "c")}) {
    const Element svg = parse_xml(chart);
    EXPECT_EQ(svg.attributes.at("role"), "img");
    const std::string ids = svg.attributes.at("aria-labelledby");
    const std::size_t space = ids.find(' ');
    ASSERT_EQ(svg.with("id", ids.substr(0, space)).size(), 1U);
    const auto description = svg.with("id", ids.substr(space + 1));
    ASSERT_EQ(description.size(), 1U);
    EXPECT_FALSE(description[0]->text.empty());
    const Element document = parse_xml(svg_document(chart));
    ASSERT_EQ(document.named("style").size(), 1U);
    EXPECT_NE(document.named("style")[0]->text.find("prefers-color-scheme:dark"), std::string::npos);
  }
  const std::string described = parse_xml(memory_chart(result, "a")).named("desc").at(0)->text;
  EXPECT_NE(described.find("live " + percent(result.memory->mean_fraction[index(State::kLive)])),
            std::string::npos);
}

TEST(Charts, HeldWithoutTokensIsHatchedAndGreyIsFreeAlone) {
  for (std::size_t s = 0; s < kStates; ++s) {
    EXPECT_EQ(kStateStyles[s].colour == "#999999", s == index(State::kFree));
    const bool wanted = s == index(State::kReserved) || s == index(State::kHole) ||
                        s == index(State::kInternal) || s == index(State::kPadding);
    EXPECT_EQ(kStateStyles[s].hatch != Hatch::kNone, wanted) << kStateNames[s];
  }
  std::vector<State> order(kStackOrder.begin(), kStackOrder.end());
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    EXPECT_FALSE(order[i] == State::kInternal && order[i + 1] == State::kFree);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(std::unique(order.begin(), order.end()), order.end());
}

}  // namespace
}  // namespace kvplan::report
