// kvplan attention analyse: the golden case, hand-made rows, and ranks by a second method.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <cmath>

#include "simulator/attention/memory_recording.h"
#include "simulator/formats/analysis.h"
#include "simulator/formats/linear.h"
#include "tests/unit/traces/support.h"

namespace kvplan::formats {
namespace {

namespace dom = simdjson::dom;
using traces::testing::run_kvplan;

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/formats/";

/// Every number of `golden` is in `found`.
void expect_holds(dom::element found, dom::element golden, const std::string& where) {
  if (golden.is_object()) {
    for (const auto& [key, value] : dom::object(golden)) {
      if (key == "case" || key == "analysis" || key == "input") continue;
      dom::element inner;
      ASSERT_EQ(found[key].get(inner), simdjson::SUCCESS) << where << key;
      expect_holds(inner, value, where + std::string(key) + ".");
    }
  } else if (golden.is_array()) {
    ASSERT_EQ(dom::array(found).size(), dom::array(golden).size()) << where;
    for (std::size_t i = 0; i < dom::array(golden).size(); ++i)
      expect_holds(found.at(i), golden.at(i), where + std::to_string(i) + ".");
  } else if (golden.is_int64()) {
    EXPECT_EQ(simdjson::minify(found), simdjson::minify(golden)) << where;
  } else if (golden.is_double()) {
    EXPECT_NEAR(double(found), double(golden), 1e-8 + 1e-8 * std::fabs(double(golden))) << where;
  } else {
    EXPECT_EQ(simdjson::minify(found), simdjson::minify(golden)) << where;
  }
}

TEST(FormatAnalysis, GivesTheGoldenCase) {
  const auto ran =
      run_kvplan("attention analyse " + kGolden + "inputs/A.json --energy 0.99 --threshold 0.01 --json -");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  dom::parser found;
  dom::parser golden;
  expect_holds(found.parse(ran.out), golden.load(kGolden + "cases/analysis_A.json"), "");
}

Result<Analysis> analysis_of(const std::vector<double>& rows, std::int64_t tokens, AnalysisRequest request) {
  attention::RecordingInfo info;
  info.sequences.push_back({.name = "", .tokens = tokens, .prompt_tokens = 0});
  const attention::MemoryRecording recording(info, {{.f64 = rows, .f32 = {}}});
  return analyse(recording, request, []() -> Status { return Done{}; });
}

/// Four rows whose figures were computed by hand: .76 .24 is the second one.
TEST(FormatAnalysis, OfRowsByHand) {
  const std::vector<double> rows{1, .76, .24, .66, .07, .27, .46, .18, .26, .10};
  const auto found = analysis_of(rows, 4, {});
  ASSERT_TRUE(found.ok());
  const AttentionStructure& head = found.value().attention.at(0);
  ASSERT_TRUE(head.spectrum.has_value());
  EXPECT_EQ(head.spectrum->effective_rank, 3);
  EXPECT_NEAR(head.spectrum->stable_rank, 1.0679, 5e-5);
  EXPECT_EQ(head.sparsity_full, 6.0 / 16);
  EXPECT_EQ(head.sparsity_causal, 0);
  EXPECT_FALSE(head.sink_mass.has_value());
  EXPECT_FALSE(found.value().monitor.has_value());
  const auto coarse = analysis_of(rows, 4, {.energy = 0.9, .threshold = 0.1});
  ASSERT_TRUE(coarse.ok());
  EXPECT_EQ(coarse.value().attention.at(0).spectrum->effective_rank, 1);
  EXPECT_EQ(coarse.value().attention.at(0).sparsity_causal, 1 - 8.0 / 10);
}

TEST(FormatAnalysis, SaysWhatIsNotThere) {
  const auto found = analysis_of({1}, 1, {.layer = 1});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().field, "--layer");
  const auto one = analysis_of({1}, 1, {});
  ASSERT_TRUE(one.ok());
  EXPECT_FALSE(one.value().attention.at(0).mean_relative_entropy.has_value());
}

}  // namespace
}  // namespace kvplan::formats
