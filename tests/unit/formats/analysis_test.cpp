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

/// Checks that every number of `golden` is in `found`.
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

/// Four rows with figures computed by hand: .76 .24 is the second one.
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

/// The same rows as a matrix: singular values 1.5209 .3341 .2039 .0626, with .9364 .9816 .9984 and all of the energy.
TEST(FormatAnalysis, SingularValuesOfRowsByHand) {
  RowsSpectrum rows(4);
  for (const std::vector<double>& row :
       {std::vector<double>{1}, {.76, .24}, {.66, .07, .27}, {.46, .18, .26, .10}})
    rows.add(row);
  const auto values = rows.finish(0.99).singular_values;
  ASSERT_EQ(values.size(), 4U);
  const double expected[] = {1.5209, .3341, .2039, .0626};
  const double energies[] = {.9364, .9816, .9984, 1};
  double all = 0;
  for (const double value : values) all += value * value;
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(values[i], expected[i], 5e-5);
    sum += values[i] * values[i];
    EXPECT_NEAR(sum / all, energies[i], 5e-5);
  }
}

/// [[2, 2], [1, -1], [2, 2]]: singular values 4 and 1.41421, .8889 of the energy in the first, stable rank 1.125.
TEST(FormatAnalysis, SpectrumOfASmallMatrix) {
  const std::vector<float> m{2, 2, 1, -1, 2, 2};
  const TensorSpectrum found = tensor_spectrum(m, 2, 0.8888);
  ASSERT_EQ(found.singular_values.size(), 2U);
  EXPECT_NEAR(found.singular_values[0], 4, 1e-12);
  EXPECT_NEAR(found.singular_values[1], 1.41421, 5e-6);
  EXPECT_NEAR(found.spectrum.stable_rank, 1.125, 1e-12);
  EXPECT_EQ(found.spectrum.effective_rank, 1);
  EXPECT_EQ(tensor_spectrum(m, 2, 0.8890).spectrum.effective_rank, 2);
  // Half of the columns is one: its error is 1.41421 of the whole norm, the root of 18.
  EXPECT_EQ(found.tails.back().rank, 1);
  EXPECT_NEAR(found.tails.back().relative * std::sqrt(18.0), 1.41421, 5e-6);
}

/// Eight rows: 28 of 64 weights are zeros above the diagonal, none of the others is at or below .01, and 8 of them are
/// at or below .05. Entropies of all rows less those of seven are that of the last: 1.6184 nats, .7783 of ln 8.
TEST(FormatAnalysis, SparsityAndEntropyOfRowsByHand) {
  const std::vector<double> rows{1,   .76, .24, .66, .07, .27, .46, .18, .26, .10, .19, .41,
                                 .04, .21, .15, .41, .04, .14, .09, .02, .30, .08, .02, .31,
                                 .08, .21, .18, .12, .06, .03, .02, .21, .24, .37, .05, .02};
  const auto of = [&](std::int64_t tokens, double threshold) {
    const std::vector<double> first(rows.begin(), rows.begin() + tokens * (tokens + 1) / 2);
    return analysis_of(first, tokens, {.threshold = threshold}).value().attention.at(0);
  };
  EXPECT_EQ(of(8, .01).sparsity_full, .4375);
  EXPECT_EQ(of(8, .01).sparsity_causal, 0);
  EXPECT_NEAR(of(8, .05).sparsity_causal, .2222, 5e-5);
  EXPECT_NEAR(8 * of(8, .01).mean_entropy - 7 * of(7, .01).mean_entropy, 1.6184, 5e-5);
  EXPECT_NEAR(7 * of(8, .01).mean_relative_entropy.value() - 6 * of(7, .01).mean_relative_entropy.value(),
              .7783, 5e-5);
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
