// The survey of the bundled recording compared with the table that traces/recorder/sample/measure.py made of it, in
// traces/samples/SOURCES.md.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "simulator/io/attention_json.h"
#include "simulator/survey/survey.h"

namespace kvplan::survey {
namespace {

struct Row {
  double first, near, even, half, most, heavy, head_first, head_near;  ///< percent
};

/// Rounded as on that page.
constexpr std::array<Row, 6> kTable{{{4, 34, 11, 8.0, 32, 29, 8, 82},
                                     {0, 63, 11, 4.5, 19, 39, 1, 85},
                                     {0, 60, 11, 4.0, 17, 44, 0, 77},
                                     {0, 61, 11, 3.4, 17, 40, 1, 79},
                                     {1, 59, 11, 2.8, 14, 46, 2, 82},
                                     {0, 79, 11, 1.9, 9, 46, 1, 95}}};

double greatest(const LayerSurvey& layer, Figure figure) {
  double out = 0;
  for (const Pooled& value : layer.figures[index(figure)]) out = std::max(out, value.value_or(0));
  return out;
}

TEST(SurveyOfTheSample, HasTheFiguresOfTheRecordersOwnScript) {
  const auto recording =
      io::open_attention(std::string(KVPLAN_SOURCE_DIR) + "/traces/samples/tiny_llama.kva");
  ASSERT_TRUE(recording.ok()) << recording.error().to_string();
  const auto found = run({.recording = recording.value().get(), .threads = 2, .rank_tokens = 256},
                         [] { return Status(Done{}); });
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  ASSERT_EQ(found.value().layers.size(), kTable.size());
  EXPECT_EQ(found.value().tokens, 3002);
  ASSERT_EQ(found.value().notes.size(), 1U);
  EXPECT_NE(found.value().notes[0].find("24 layers of longer sequences"), std::string::npos);
  for (std::size_t l = 0; l < kTable.size(); ++l) {
    SCOPED_TRACE(l);
    const LayerSurvey& layer = found.value().layers[l];
    const auto mean = [&](Figure figure) { return 100 * layer.mean(figure).value_or(-1); };
    const Row& row = kTable[l];
    EXPECT_NEAR(mean(Figure::kFirstMass), row.first, 0.5);
    EXPECT_NEAR(mean(Figure::kNearMass), row.near, 0.5);
    EXPECT_NEAR(mean(Figure::kNearEven), row.even, 0.5);
    EXPECT_NEAR(mean(Figure::kHalfShare), row.half, 0.05);
    EXPECT_NEAR(mean(Figure::kMostShare), row.most, 0.5);
    EXPECT_NEAR(mean(Figure::kHeavyShare), row.heavy, 0.5);
    EXPECT_NEAR(100 * greatest(layer, Figure::kFirstMass), row.head_first, 0.5);
    EXPECT_NEAR(100 * greatest(layer, Figure::kNearMass), row.head_near, 0.5);
  }
}

}  // namespace
}  // namespace kvplan::survey
