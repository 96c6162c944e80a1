// Recordings of another shape in place of the model's: the run equals one with a recording of the model's shape that
// repeats each recorded layer and head as often as it is used.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/courses/drops_of_part.h"
#include "simulator/retention/rank_tracks.h"
#include "tests/coupling/settled.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

using core::PartTrack;
using memory::TablePer;
using runs::RankTracks;

struct Shape {
  int layers, heads;
};

/// Rows of the recording with 4 layers of 3 heads, or the rows that a model of another shape gets from it.
std::vector<attention::Rows> rows_for(Shape model) {
  Random random(5, "tables");
  std::vector<attention::Rows> recorded;
  for (int i = 0; i < kLayers; ++i)
    recorded.push_back(attention::random_rows(random, kHeads, 150, attention::RowKind::kSmooth));
  // Compares middles: searches the recorded place with a range that contains the middle.
  const auto standing = [](int place, int places, int known) {
    const double middle = (place + 0.5) / places;
    int at = 0;
    while ((at + 1.0) / known <= middle) ++at;
    return static_cast<std::size_t>(at);
  };
  std::vector<attention::Rows> out;
  for (int l = 0; l < model.layers; ++l) {
    out.emplace_back();
    for (int h = 0; h < model.heads; ++h)
      out.back().push_back(recorded[standing(l, model.layers, kLayers)][standing(h, model.heads, kHeads)]);
  }
  return out;
}

runs::RunOptions options_for(Shape model, const std::shared_ptr<const attention::Recording>& recording) {
  runs::RunOptions how = options(std::vector<std::int64_t>(kLayers, 0), recording);
  const auto& info = recording->info();
  how.open_model = [model, keys = info.key_size, values = info.value_size,
                    bytes = info.cache_element_bytes](const std::string& /*path*/) {
    return Result<model::ModelShape>(model::ModelShape{
        .name = "small",
        .source = "test",
        .layers = model.layers,
        .hidden = model.heads * values,
        .query_heads = model.heads,
        .kv_heads = model.heads,
        .element_bytes = bytes,
        .runs = {{model.layers, {.heads = model.heads, .key_size = keys, .value_size = values}}},
        .weight_shape = {.feed_forward = 12 * values, .key_size = keys, .value_size = values}});
  };
  return how;
}

Values with_pool(const std::string& policy, const std::string& table, const Values& more) {
  Values values = scenario_with(policy, table, "400");
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

TEST(Extrapolations, AreRunsOfAStretchedRecording) {
  const auto trace = trace_of(30, 150);
  const Shape recorded{kLayers, kHeads};
  std::int64_t returned = 0;
  for (const Shape model : {Shape{8, 6}, Shape{10, 4}, Shape{6, 2}, Shape{2, 1}, Shape{3, 2}})
    for (const std::string policy :
         {"h2o:hh=10,recent=6,placement=holes", "h2o:hh=10,recent=6,placement=reuse",
          "tova:budget=16,placement=holes", "snapkv:window=4,capacity=24,placement=holes",
          "seed-threshold:placement=compact"})
      for (const auto& [path, ranks, table] :
           {std::tuple{"deployment.tp", "1", "all"}, std::tuple{"deployment.tp", "1", "layer"},
            std::tuple{"deployment.tp", "1", "head"}, std::tuple{"deployment.tp", "2", "all"},
            std::tuple{"deployment.tp", "2", "layer"}, std::tuple{"deployment.pp", "2", "all"}}) {
        // A policy that takes the mean over the heads of a layer would weight them differently.
        if (policy.starts_with("tova") && model.heads % kHeads > 0) continue;
        SCOPED_TRACE(policy + " " + path + "=" + ranks + " " + table + " for " +
                     std::to_string(model.layers) + " x " + std::to_string(model.heads));
        if (model.heads % 2 == 1 && ranks[0] == '2' && path == std::string("deployment.tp")) continue;
        const Values values = with_pool(policy, table, {{path, ranks}});
        const auto stretched =
            run(values, true, false, trace, options_for(model, attention::recording_of(rows_for(model))));
        Values standing = values;
        standing.emplace_back("workload.extrapolation", "shape");
        const auto how = options_for(model, attention::recording_of(rows_for(recorded)));
        const auto fast = run(standing, true, false, trace, how);
        expect_twins(fast, run(standing, true, true, trace, how), 30);
        EXPECT_EQ(figures(fast), figures(stretched));
        ASSERT_TRUE(fast.coverage && stretched.coverage);
        EXPECT_EQ(fast.coverage->driven_requests, 30);
        EXPECT_EQ(fast.coverage->extrapolated_requests, 30);
        EXPECT_EQ(stretched.coverage->extrapolated_requests, 0);
        returned += fast.evicted_blocks;
      }
  EXPECT_GT(returned, 1000);
}

/// A recording with the model's shape gives the same run with and without extrapolation.
TEST(Extrapolations, AreNoneWhereTheShapeIsTheModels) {
  const auto trace = trace_of(20, 150);
  for (const std::string policy :
       {"h2o:hh=10,recent=6,placement=holes", "h2o:hh=10,recent=6,placement=compact"}) {
    const auto plain = run(scenario_with(policy, "all", "400"), true, false, trace);
    const auto asked =
        run(with_pool(policy, "all", {{"workload.extrapolation", "shape"}}), true, false, trace);
    EXPECT_EQ(figures(plain), figures(asked));
    EXPECT_EQ(plain.assumptions, asked.assumptions);
    EXPECT_EQ(asked.coverage->extrapolated_requests, 0);
  }
}

TEST(Extrapolations, SayWhatTheyAre) {
  const auto trace = trace_of(5, 100);
  const auto how = options_for({8, 6}, attention::recording_of(rows_for({kLayers, kHeads})));
  const auto stands = run(with_pool("h2o:hh=10,recent=6", "all", {{"workload.extrapolation", "shape"}}), true,
                          false, trace, how);
  EXPECT_EQ(std::count_if(stands.assumptions.begin(), stands.assumptions.end(),
                          [](const std::string& s) {
                            return s.starts_with(
                                "Recordings of 4 x 3 layers and KV heads stand in for the 8 x 6 of small");
                          }),
            1);
  // Lengths give the number of dropped tokens, so no recording of another shape is needed.
  const auto counted =
      run(with_pool("h2o:hh=10,recent=6,placement=compact", "all", {{"workload.extrapolation", "shape"}}),
          true, false, trace, how);
  EXPECT_FALSE(counted.coverage.has_value());
  EXPECT_EQ(counted.warnings.front(),
            "workload.attention is not used: lengths determine how many tokens eviction=h2o keeps, and "
            "recordings of another shape add nothing.");
  EXPECT_EQ(figures(counted), figures(run(scenario_with("h2o:hh=10,recent=6,placement=compact", "all", "400"),
                                          false, false, trace, how)));
}

/// Sizes of keys and values do not change which tokens stay.
TEST(Extrapolations, StandForHeadsOfAnotherSize) {
  const auto trace = trace_of(20, 150);
  const auto recording = attention::recording_of(rows_for({kLayers, kHeads}));
  auto how = options_for({kLayers, kHeads}, recording);
  Values values = with_pool("h2o:hh=10,recent=6", "all", {});
  for (auto& [path, text] : values)
    if (path == "latency") text = "affine:base_ns=1000,token_ns=10,context_ns=0";
  const auto same = run(values, true, false, trace, how);
  how.open_model = [open = how.open_model](const std::string& path) {
    auto model = open(path);
    model.value().runs[0].cache.key_size *= 2;
    model.value().runs[0].cache.value_size *= 2;
    return model;
  };
  values.emplace_back("workload.extrapolation", "shape");
  const auto twice = run(values, true, false, trace, how);
  EXPECT_EQ(twice.coverage->extrapolated_requests, 20);
  EXPECT_EQ(same.evicted_tokens, twice.evicted_tokens);
  EXPECT_EQ(same.evicted_blocks, twice.evicted_blocks);
  EXPECT_EQ(same.makespan, twice.makespan);
}

/// A budget that follows from lengths works with counted policies; no recording is used.
TEST(Extrapolations, CountedOnesTakeBudgets) {
  const auto trace = trace_of(20, 150);
  const auto how = options_for({8, 6}, attention::recording_of(rows_for({kLayers, kHeads})));
  const Values values =
      with_pool("h2o:hh=10,recent=6,placement=compact", "all", {{"budget", "uniform:capacity=20"}});
  Values asked = values;
  asked.emplace_back("workload.extrapolation", "shape");
  EXPECT_EQ(figures(run(asked, true, false, trace, how)), figures(run(values, false, false, trace, how)));
}

TEST(Extrapolations, OfNoRecordingsAreIgnored) {
  const auto lots = run(with_pool("random:budget=20", "all", {{"workload.extrapolation", "shape"}}), false,
                        false, trace_of(5, 100));
  EXPECT_EQ(lots.warnings.front(),
            "workload.extrapolation is ignored: there are no recordings (workload.attention).");
}

TEST(Extrapolations, WhatIsRefused) {
  const auto trace = trace_of(5, 100);
  const auto error_with = [&](const Values& more, runs::RunOptions how) {
    Values values = with_pool("h2o:hh=10,recent=6", "all", more);
    values.emplace_back("workload.attention", "r.kva,s.kva");
    const auto scenario = resolved(values);
    EXPECT_TRUE(scenario.ok());
    const auto result = runs::run_scenario(scenario.value(), trace, how);
    return result.ok() ? "" : result.error().to_string();
  };
  const auto how = options_for({8, 6}, attention::recording_of(rows_for({kLayers, kHeads})));
  EXPECT_EQ(error_with({}, how),
            "workload.attention: expected the model's shape (8 x 6 KV heads, 6144 elements per token), found "
            "4 x 3 KV heads, 1536 elements per token in r.kva; model=recording uses the shape of the "
            "recordings; with workload.extrapolation=shape, recordings of another shape are accepted");
  EXPECT_EQ(error_with({{"workload.extrapolation", "shape"}}, how), "");
  EXPECT_EQ(error_with({{"workload.extrapolation", "shape"}, {"budget", "uniform:capacity=20"}}, how)
                .find("workload.attention: workload.extrapolation=shape does not work with budget=uniform: "
                      "the budget"),
            0U);
  auto mixed = how;
  mixed.open_recording = [](const std::string& path) {
    return Result<std::shared_ptr<const attention::Recording>>(
        attention::recording_of(rows_for(path == "s.kva" ? Shape{5, 3} : Shape{kLayers, kHeads})));
  };
  EXPECT_EQ(error_with({{"workload.extrapolation", "shape"}}, mixed),
            "workload.attention: expected recordings with one shape, which replace recordings of small, "
            "found 5 x 3 KV heads in s.kva and 4 x 3 in r.kva");
}

/// 80 layers of 8 heads from 6 recorded layers of 4: each recorded head is used for two, each layer for 13 or 14.
TEST(RankTracks, StandForPlacesAtTheSameDepth) {
  const runs::TrackShape known{6, 4}, model{80, 8};
  const RankTracks whole(known, model, {0, 80, 8});
  const auto all = whole.of_table(TablePer::kRequest, 0);
  ASSERT_EQ(all.size(), 24U);
  const std::vector<std::int32_t> layers{13, 14, 13, 13, 14, 13};
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(all[i], (PartTrack{static_cast<std::int32_t>(i), 2 * layers[i / 4]})) << i;
  // A rank with four heads uses the first two recorded heads, and holds blocks for the others.
  const RankTracks rank(known, model, {0, 80, 2});
  EXPECT_EQ(rank.of_table(TablePer::kLayer, 13), (std::vector<PartTrack>{{4, 2}, {5, 0}, {6, 0}, {7, 0}}));
  EXPECT_EQ(rank.of_table(TablePer::kHead, 27), (std::vector<PartTrack>{{4, 1}}));
  EXPECT_EQ(rank.units(TablePer::kLayer, 2), (std::vector<std::int32_t>{2, 0, 0, 0, 2, 0, 0, 0}));
  // The recording has more than the model: tracks that are not used hold no blocks.
  const RankTracks few({9, 3}, {3, 1}, {0, 3, 1});
  EXPECT_EQ(few.of_table(TablePer::kRequest, 0), (std::vector<PartTrack>{{4, 1}, {13, 1}, {22, 1}}));
  // The sets of a policy that keeps the same tokens in all heads of a layer, with tables by head.
  const RankTracks alike({2, 1}, {4, 1}, {0, 4, 3});
  EXPECT_EQ(alike.of_table(TablePer::kHead, 5), (std::vector<PartTrack>{{0, 1}}));
  EXPECT_EQ(alike.of_table(TablePer::kHead, 6), (std::vector<PartTrack>{{1, 1}}));
  EXPECT_EQ(alike.of_table(TablePer::kRequest, 0), (std::vector<PartTrack>{{0, 2}, {1, 2}}));
}

}  // namespace
}  // namespace kvplan::small_model
