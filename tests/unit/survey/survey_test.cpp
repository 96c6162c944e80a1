// Surveys compared with their slow definitions, on random recordings; threads, missing data, and what is refused.
#include "simulator/survey/survey.h"
#include "simulator/attention/overlap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "simulator/survey/heavy.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/survey/recordings.h"

namespace kvplan::survey {
namespace {

const Pause kNoPause = [] { return Status(Done{}); };

Survey survey_of(const attention::Recording& recording, std::vector<std::int32_t> sequences = {},
                 int threads = 1) {
  auto found = run({.recording = &recording,
                    .sequences = std::move(sequences),
                    .threads = threads,
                    .rank_tokens = kNaiveRankTokens},
                   kNoPause);
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  return std::move(found).value();
}

void expect_near(const Pooled& found, const std::optional<double>& wanted, const std::string& what) {
  ASSERT_EQ(found.has_value(), wanted.has_value()) << what;
  if (!found) return;
  // Attention maps use roots of eigenvalues, so an empty tail may be 1e-8.
  const double most = what.find("_tail_") == std::string::npos ? 1e-9 : 1e-7;
  EXPECT_NEAR(*found, *wanted, most * std::max(1.0, std::fabs(*wanted))) << what;
}

/// Means over sequences.
class Means {
 public:
  void add(const std::string& key, double value) {
    sums_[key].first += value;
    ++sums_[key].second;
  }
  [[nodiscard]] std::optional<double> of(const std::string& key) const {
    const auto at = sums_.find(key);
    if (at == sums_.end()) return std::nullopt;
    return at->second.first / at->second.second;
  }

 private:
  std::map<std::string, std::pair<double, int>> sums_;
};

std::string place(std::size_t layer, std::string_view key, std::size_t a, std::size_t b = 0) {
  return std::to_string(layer) + " " + std::string(key) + " " + std::to_string(a) + " " + std::to_string(b);
}

double shared(const std::set<int>& a, const std::set<int>& b) {
  double common = 0;
  for (const int token : a) common += b.contains(token) ? 1 : 0;
  return common / static_cast<double>(a.size());
}

void add_angles(const NaiveLayer& layer, const NaiveLayer& next, std::size_t l, std::size_t h, Means& out) {
  const auto add = [&](const char* key, const auto& tensor_of, int size) {
    const auto angles = naive_angles(tensor_of(*layer.tensors), tensor_of(*next.tensors), size);
    for (std::size_t step = 0; step < angles.size(); ++step)
      out.add(place(l, key, h, 15 * (step + 1)), angles[step]);
  };
  using Tensors = attention::LayerTensors;
  add(
      "key_angles", [h](const Tensors& from) -> auto& { return from.keys[h]; }, layer.tensors->key_size);
  if (layer.tensors->values.empty()) return;
  add(
      "value_angles", [h](const Tensors& from) -> auto& { return from.values[h]; },
      layer.tensors->value_size);
}

/// All figures and overlaps of the recording's sequences.
Means naive_means(const attention::Recording& recording, const std::vector<std::int32_t>& sequences) {
  Means out;
  const auto layers = static_cast<std::size_t>(recording.info().layers);
  for (const std::int32_t sequence : sequences) {
    std::vector<NaiveLayer> all;
    for (std::size_t l = 0; l < layers; ++l)
      all.push_back(naive_of(recording, sequence, static_cast<std::int32_t>(l)));
    for (std::size_t l = 0; l < layers; ++l) {
      if (all[l].heads.front().empty()) continue;
      for (std::size_t h = 0; h < all[l].heads.size(); ++h) {
        for (const auto& [key, value] : naive_query_head(all[l], h)) out.add(place(l, key, h), value);
        for (int k = 1; k <= 256; k *= 2)
          if (const auto mass = naive_top_mass(all[l].heads[h], k))
            out.add(place(l, "top_mass", h, static_cast<std::size_t>(k)), *mass);
        for (std::size_t other = 0; other < all[l].heads.size(); ++other)
          if (const auto mine = naive_heavy({all[l].heads[h]}); !mine.empty())
            out.add(place(l, "heads", h, other), shared(mine, naive_heavy({all[l].heads[other]})));
      }
      for (std::size_t h = 0; all[l].tensors && h < all[l].tensors->keys.size(); ++h) {
        const bool next = l + 1 < layers && !all[l + 1].heads.front().empty();
        for (const auto& [key, value] : naive_kv_head(all[l], next ? &all[l + 1] : nullptr, h))
          out.add(place(l, key, h), value);
        if (next) add_angles(all[l], all[l + 1], l, h, out);
      }
      for (std::size_t other = 0; other < layers; ++other)
        if (const auto mine = naive_heavy(all[l].heads);
            !mine.empty() && all[other].heads.front().size() == all[l].heads.front().size())
          out.add(place(l, "layers", other), shared(mine, naive_heavy(all[other].heads)));
    }
  }
  return out;
}

void expect_all(const Survey& survey, const attention::Recording& recording,
                const std::vector<std::int32_t>& sequences) {
  const Means wanted = naive_means(recording, sequences);
  for (std::size_t l = 0; l < survey.layers.size(); ++l) {
    const LayerSurvey& layer = survey.layers[l];
    for (const FigureKind& kind : figure_kinds())
      for (std::size_t h = 0; h < layer.figures[index(kind.figure)].size(); ++h)
        expect_near(layer.figures[index(kind.figure)][h], wanted.of(place(l, kind.key, h)),
                    place(l, kind.key, h));
    for (const CurveKind& kind : curve_kinds()) {
      const auto& points = survey.points[index(kind.curve)];
      for (std::size_t h = 0; h < layer.curves[index(kind.curve)].size(); ++h)
        for (std::size_t p = 0; p < points.size(); ++p) {
          const std::string what = place(l, kind.key, h, static_cast<std::size_t>(points[p]));
          expect_near(layer.curves[index(kind.curve)][h][p], wanted.of(what), what);
        }
    }
    for (std::size_t a = 0; a < layer.head_overlap.size(); ++a)
      for (std::size_t b = 0; b < layer.head_overlap.size(); ++b)
        expect_near(layer.head_overlap[a][b], wanted.of(place(l, "heads", a, b)), place(l, "heads", a, b));
    for (std::size_t b = 0; b < survey.layers.size(); ++b)
      expect_near(survey.layer_overlap[l][b], wanted.of(place(l, "layers", b)), place(l, "layers", b));
  }
}

TEST(Survey, IsThatOfTheSlowDefinitionsOnTensors) {
  const auto seed = static_cast<std::uint64_t>(20261123);
  for (std::uint64_t i = 0; i < 12; ++i) {
    SCOPED_TRACE(i);
    Random random(seed + i, "survey");
    std::vector<std::int64_t> tokens;
    for (std::int64_t n = random.between(1, 3); n > 0; --n)
      tokens.push_back(random.chance(1, 3) ? random.between(1, 70) : random.between(60, 150));
    const auto recording =
        random_recording(random, tokens, static_cast<std::size_t>(random.between(1, 3)), i % 3 == 0);
    std::vector<std::int32_t> all;
    for (std::size_t s = 0; s < tokens.size(); ++s) all.push_back(static_cast<std::int32_t>(s));
    expect_all(survey_of(recording), recording, all);
    expect_all(survey_of(recording, {all.back()}), recording, {all.back()});
  }
}

TEST(Survey, IsThatOfTheSlowDefinitionsOnRows) {
  for (const auto kind : {attention::RowKind::kSmooth, attention::RowKind::kTies})
    for (const int tokens : {1, 2, 4, 5, 17, 64, 65, 66, 75, 140}) {
      SCOPED_TRACE(tokens);
      Random random(static_cast<std::uint64_t>(tokens), "rows");
      const auto recording = attention::recording_of(
          {attention::random_rows(random, 3, tokens, kind), attention::random_rows(random, 3, tokens, kind)});
      const Survey found = survey_of(*recording);
      expect_all(found, *recording, {0});
      EXPECT_TRUE(found.layers[0].figures[index(Figure::kKeyRank)].empty());
      EXPECT_EQ(found.layers[0].figures[index(Figure::kHeavyShare)][0].has_value(), tokens > 64);
    }
}

TEST(Survey, IsTheSameOnAnyNumberOfThreads) {
  Random random(5, "threads");
  const auto recording = random_recording(random, {90, 30, 120, 70, 66}, 3, false);
  const Survey one = survey_of(recording);
  for (const int threads : {2, 5, 16}) {
    const Survey many = survey_of(recording, {}, threads);
    for (std::size_t l = 0; l < one.layers.size(); ++l) {
      EXPECT_EQ(many.layers[l].figures, one.layers[l].figures) << "bit by bit";
      EXPECT_EQ(many.layers[l].curves, one.layers[l].curves);
      EXPECT_EQ(many.layers[l].head_overlap, one.layers[l].head_overlap);
    }
    EXPECT_EQ(many.layer_overlap, one.layer_overlap);
    EXPECT_EQ(many.overlap_by_chance, one.overlap_by_chance);
  }
}

TEST(Survey, OfACutRecordingHasWhatIsThere) {
  Random random(6, "cut");
  const auto tensors = [&](std::int64_t tokens) {
    attention::LayerTensors out = attention::random_tensors(random, 1, 2, tokens, false);
    while (out.key_size != 4 || out.value_size != 3)
      out = attention::random_tensors(random, 1, 2, tokens, false);
    return out;
  };
  std::vector<std::vector<attention::LayerTensors>> layers{
      {tensors(100), tensors(100), tensors(80), tensors(0)}};
  const ManyTensors recording(std::move(layers));
  const Survey found = survey_of(recording);
  expect_all(found, recording, {0});
  EXPECT_EQ(found.layers[3].sequences, 0);
  EXPECT_FALSE(found.layers[3].figures[index(Figure::kEntropy)][0].has_value());
  EXPECT_FALSE(found.layer_overlap[0][2].has_value()) << "other tokens";
  EXPECT_TRUE(found.layer_overlap[0][1].has_value());
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_NE(found.notes[0].find("2 layers of longer sequences"), std::string::npos);
  EXPECT_NE(found.notes[1].find("1 layers of sequences"), std::string::npos);
}

TEST(Survey, SaysWhatTheRecordingDoesNotHave) {
  Random random(7, "notes");
  const auto rows =
      attention::recording_of({attention::random_rows(random, 2, 30, attention::RowKind::kSmooth)});
  const Survey of_rows = survey_of(*rows);
  ASSERT_EQ(of_rows.notes.size(), 2U);
  EXPECT_NE(of_rows.notes[0].find("no keys and no values"), std::string::npos);
  EXPECT_NE(of_rows.notes[1].find("at most 64 tokens"), std::string::npos);
  attention::LayerTensors tensors = attention::random_tensors(random, 1, 1, 70, false);
  tensors.values.clear();
  const Survey no_values = survey_of(ManyTensors({{tensors}}));
  ASSERT_EQ(no_values.notes.size(), 1U);
  EXPECT_NE(no_values.notes[0].find("no values"), std::string::npos);
  EXPECT_TRUE(no_values.layers[0].figures[index(Figure::kKeyRank)][0].has_value());
  EXPECT_FALSE(no_values.layers[0].figures[index(Figure::kValueRank)][0].has_value());
}

/// Without queries there is no attention, but stored keys and values still have ranks.
TEST(Survey, KeysOrValuesAlone) {
  Random random(8, "alone");
  const attention::LayerTensors whole = attention::random_tensors(random, 2, 1, 70, false);
  const Survey all = survey_of(ManyTensors({{whole, whole}}));
  for (const bool keys : {true, false}) {
    attention::LayerTensors part = whole;
    part.queries.clear();
    (keys ? part.values : part.keys).clear();
    const Survey found = survey_of(ManyTensors({{part, part}}));
    const Figure there = keys ? Figure::kKeyRank : Figure::kValueRank;
    const Figure gone = keys ? Figure::kValueRank : Figure::kKeyRank;
    for (std::size_t h = 0; h < 2; ++h) {
      EXPECT_EQ(found.layers[0].figures[index(there)][h], all.layers[0].figures[index(there)][h]);
      EXPECT_FALSE(found.layers[0].figures[index(gone)][h].has_value());
    }
    ASSERT_EQ(found.notes.size(), 2U);
    EXPECT_NE(found.notes[0].find("there are no attention rows"), std::string::npos);
    EXPECT_NE(found.notes[1].find(keys ? "there are no values" : "there are no keys"), std::string::npos);
  }
}

TEST(Survey, RefusesSequencesThatAreNotThere) {
  Random random(8, "refuse");
  const auto rows =
      attention::recording_of({attention::random_rows(random, 1, 9, attention::RowKind::kSmooth)});
  const auto found = run({.recording = rows.get(), .sequences = {1}}, kNoPause);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().field, "--sequences");
  using Layers = std::vector<attention::LayerTensors>;
  const ManyTensors nothing(std::vector<Layers>(1, Layers(1)));
  const auto empty = run({.recording = &nothing}, kNoPause);
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().to_string(), "--sequences: no layer of the selected sequences was recorded");
  const auto stopped = run({.recording = rows.get()}, [] { return Status(interrupted_error()); });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::kInterrupted);
}

/// Rows (1), (1/2, 1/2): squares of singular values are those roots of x^2 - 1.5 x + 0.25 = 0, 1.309 and 0.191.
TEST(Survey, RanksOfAttentionByHand) {
  const auto one = attention::recording_of({{{{1}, {.5, .5}}}});
  const Survey found = survey_of(*one);
  const auto value = [&](Figure figure) { return *found.layers[0].figures[index(figure)][0]; };
  EXPECT_EQ(value(Figure::kMapRank), 2);
  EXPECT_EQ(value(Figure::kMapValueRank), 2);
  EXPECT_NEAR(value(Figure::kMapStableRank), 1.5 / ((1.5 + std::sqrt(1.25)) / 2), 1e-14);
  EXPECT_NEAR(value(Figure::kMapTailHalf), std::sqrt((1.5 - std::sqrt(1.25)) / 2 / 1.5), 1e-7);
  // Ten rows that see only the first token have one direction.
  attention::Rows::value_type sink;
  for (std::size_t t = 0; t < 10; ++t) {
    sink.emplace_back(t + 1, 0.0);
    sink.back()[0] = 1;
  }
  const Survey of_sink = survey_of(*attention::recording_of({{sink}}));
  for (const Figure rank : {Figure::kMapRank, Figure::kMapValueRank, Figure::kMapStableRank})
    EXPECT_EQ(of_sink.layers[0].figures[index(rank)][0], 1.0);
}

/// A key (1, 0) compared with others on the borders of steps: 0, 45 and 90 degrees, and the opposite direction.
TEST(Survey, AnglesByHand) {
  const auto layer = [](std::vector<float> keys) {
    attention::LayerTensors out;
    out.tokens = static_cast<std::int64_t>(keys.size()) / 2;
    out.key_size = 2;
    out.queries = {std::vector<float>(keys.size(), 0.0F)};
    out.keys = {std::move(keys)};
    return out;
  };
  const ManyTensors recording(
      {{layer({1, 0, 1, 0, 1, 0, 1, 0, 0, 0}), layer({9, 0, 3, 3, 0, -2, -5, 0, 1, 1})}});
  const Survey found = survey_of(recording);
  std::vector<Pooled> wanted(12, 0.0);
  for (const std::size_t step : {0U, 3U, 6U, 11U}) wanted[step] = 0.25;
  EXPECT_EQ(found.layers[0].curves[index(Curve::kKeyAngles)][0], wanted) << "the fifth has no length";
  EXPECT_EQ(found.layers[1].curves[index(Curve::kKeyAngles)][0], std::vector<Pooled>(12)) << "no next layer";
  EXPECT_EQ(found.points[index(Curve::kKeyAngles)],
            (std::vector<std::int64_t>{15, 30, 45, 60, 75, 90, 105, 120, 135, 150, 165, 180}));
  EXPECT_EQ(found.points[index(Curve::kTopMass)], (std::vector<std::int64_t>{1, 2, 4, 8}));
}

/// The largest mass of k tokens grows with k, up to the whole row.
TEST(Survey, TopMassGrowsToTheWholeRow) {
  Random random(10, "top");
  const auto recording = random_recording(random, {130, 70}, 1, false);
  const Survey found = survey_of(recording);
  EXPECT_EQ(found.points[index(Curve::kTopMass)].back(), 256);
  for (const auto& head : found.layers[0].curves[index(Curve::kTopMass)]) {
    EXPECT_TRUE(std::is_sorted(head.begin(), head.end()));
    EXPECT_NEAR(*head.back(), 1, 1e-12);
    EXPECT_LT(*head.front(), 1);
  }
}

TEST(Survey, RanksAreOfSequencesThatAreShortEnough) {
  Random random(9, "ranks");
  const auto recording = random_recording(random, {81, 80}, 1, false);
  const Survey found = survey_of(recording);
  EXPECT_EQ(found.rank_tokens, 80);
  EXPECT_TRUE(found.layers[0].figures[index(Figure::kMapRank)][0].has_value());
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("at most 80 tokens: 1 layers of longer sequences"), std::string::npos);
  const Survey none = survey_of(recording, {0});
  EXPECT_FALSE(none.layers[0].figures[index(Figure::kMapRank)][0].has_value());
  EXPECT_TRUE(none.layers[0].figures[index(Figure::kKeyRank)][0].has_value());
}

/// One row of 3 tokens after another, by hand: of tokens 0 and 1 of the first half, 0 is pivotal in both halves.
TEST(Survey, PersistenceByHand) {
  const attention::Rows rows{{{1}, {.6, .4}, {.2, .5, .3}, {.4, .05, .25, .3}}};
  const Survey found = survey_of(*attention::recording_of({rows}));
  const auto value = [&](Figure figure) { return found.layers[0].figures[index(figure)][0]; };
  EXPECT_EQ(value(Figure::kPersistence), 0.5) << "0 in row 3, 1 in row 2; before, 0 in row 1 alone";
  EXPECT_EQ(value(Figure::kPivotalShare), 0.5);
  EXPECT_EQ(value(Figure::kMeanPersistence), 1.0) << "0 alone: .2 + .4 against 1/3 + 1/4; 1 has .55";
  EXPECT_EQ(value(Figure::kSparsityFull), 1 - 10.0 / 16);
  EXPECT_FALSE(value(Figure::kSinkMass).has_value());
}

TEST(Survey, RankCorrelationByHand) {
  const std::vector<double> up{1, 2, 3, 9};
  const std::vector<double> down{4, 3, 2, -7};
  const std::vector<double> ties{1, 1, 5, 5};
  EXPECT_EQ(rank_correlation(up, up), 1.0);
  EXPECT_EQ(rank_correlation(up, down), -1.0);
  EXPECT_NEAR(*rank_correlation(up, ties), 4 / std::sqrt(5.0 * 4), 1e-15);
  EXPECT_FALSE(rank_correlation(up, std::vector<double>{2, 2, 2, 2}).has_value());
  EXPECT_EQ(greatest_of(ties, 3), (std::vector<std::int32_t>{1, 2, 3})) << "of equals the newer one";
  EXPECT_EQ(attention::in_common(std::vector<std::int32_t>{1, 4, 9}, std::vector<std::int32_t>{0, 4, 5, 9}),
            2);
}

}  // namespace
}  // namespace kvplan::survey
