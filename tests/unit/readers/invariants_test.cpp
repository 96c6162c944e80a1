// Properties of every reader in the catalogue, on random recordings of several layers, groups, windows and sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/unit/readers/support.h"

namespace kvplan::readers::testing {
namespace {

/// Parameters with which each member is tested. A new member needs a line.
std::vector<Lane> lanes_of(const ReaderKind& kind, const Layers& recording) {
  static const std::map<std::string_view, std::vector<std::string>> kTried{
      {"full", {""}},
      {"quest",
       {":page=4,budget=12", ":page=4,budget=12,share=mean,dense_layers=1", ":page=3,budget=7,form=kernels",
        ":page=1,budget=1,form=kernels,dense_layers=0"}},
      {"infinigen", {"", ":skew=false,partial=0.5,budget=5,dense_layers=0", ":alpha=0,maximum=first"}},
      {"clusterkv",
       {":budget=9,sinks=3,clusters=4", ":budget=6,sinks=0,window=5,dense_layers=0", ":budget=20,share=max"}},
      {"retro-infer",
       {":cluster_tokens=3,recent=4", ":cluster_tokens=2,recent=0,update=4,estimate=1,sinks=0"}},
      {"retrieval-heads", {":gates=[],sink=2,recent=3", ":gates=[],sink=0,recent=1,sparsity=1"}},
      {"oracle", {":budget=1", ":budget=9"}}};
  const auto at = kTried.find(kind.descriptor.name);
  EXPECT_TRUE(at != kTried.end()) << kind.descriptor.name << " is not tried";
  std::vector<Lane> out;
  if (at == kTried.end()) return out;
  const attention::RecordingInfo& info = recording.info();
  const attention::HeadTable gates(static_cast<std::size_t>(info.layers),
                                   std::vector<double>(static_cast<std::size_t>(info.kv_heads), 0.5));
  for (const std::string& params : at->second)
    out.push_back(lane(std::string(kind.descriptor.name) + params, {gates}));
  return out;
}

Request request_of(const Layers& recording, std::int64_t prompt, int threads = 1) {
  Request request{.lanes = {}, .prompt = prompt, .threads = threads, .keep_records = true};
  bool windows = false;
  for (std::int32_t layer = 0; layer < recording.info().layers; ++layer)
    for (std::int32_t s = 0; s < static_cast<std::int32_t>(recording.info().sequences.size()); ++s)
      windows = windows || recording.at(s, layer).window > 0;
  for (const ReaderKind* kind : readers()) {
    if (windows && kind->descriptor.name == "retro-infer") continue;  // it refuses windows
    for (Lane& each : lanes_of(*kind, recording)) request.lanes.push_back(std::move(each));
  }
  return request;
}

std::vector<double> numbers_of(const Tally& tally) {
  return {tally.mass,
          tally.mass_least,
          tally.oracle_mass,
          tally.overlap,
          tally.error,
          tally.error_most,
          static_cast<double>(tally.tokens),
          static_cast<double>(tally.read.total()),
          static_cast<double>(tally.read_apart.total())};
}

TEST(ReaderInvariants, HoldForEveryMember) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "invariants");
    const std::int64_t prompt = random.between(1, 25);
    const Layers recording =
        random_recording(random, {prompt + 9, prompt + 3}, 3, random.chance(1, 2), seed % 2 == 0);
    const Request request = request_of(recording, prompt);
    const auto found = evaluate(recording, request, go_on);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    const auto again = evaluate(recording, request_of(recording, prompt, 3), go_on);
    ASSERT_TRUE(again.ok());
    const auto group = static_cast<std::int64_t>(recording.info().group);
    const double fetched_once = 1.0 / static_cast<double>(group);
    for (std::size_t l = 0; l < request.lanes.size(); ++l) {
      SCOPED_TRACE(request.lanes[l].reader.choice.to_string());
      const LaneResult& lane = found.value().lanes[l];
      EXPECT_EQ(numbers_of(lane.total), numbers_of(again.value().lanes[l].total)) << "threads change a bit";
      ASSERT_EQ(lane.records.size(), again.value().lanes[l].records.size());
      for (std::size_t r = 0; r < lane.records.size(); ++r) {
        const Tally& one = lane.records[r].tally;
        ASSERT_EQ(numbers_of(one), numbers_of(again.value().lanes[l].records[r].tally));
        ASSERT_EQ(one.samples, group);
        ASSERT_LE(one.mass, one.oracle_mass + 1e-12);
        ASSERT_LE(one.oracle_mass, static_cast<double>(group) + 1e-12);
        ASSERT_GE(one.mass_least, 0);
        ASSERT_GE(one.overlap, 0);
        ASSERT_LE(one.overlap, static_cast<double>(group));
        ASSERT_GE(one.tokens, group);
        ASSERT_LE(one.head_tokens, one.tokens);
        ASSERT_GE(group * one.head_tokens, one.tokens);
        ASSERT_LE(one.read.cells, one.full_bytes);
        ASSERT_LE(one.read.total(), one.read_apart.total());
        ASSERT_GE(static_cast<double>(one.read.total()),
                  fetched_once * static_cast<double>(one.read_apart.total()));
      }
      for (const LayerResult& layer : lane.layers) {
        if (!layer.dense) continue;
        EXPECT_EQ(layer.tally.read.total(), layer.tally.full_bytes);
        EXPECT_LT(layer.tally.error_most, 1e-12);
      }
    }
  }
}

TEST(ReaderInvariants, SetsAreAscendingAndSeen) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Random random(seed, "sets");
    const std::int64_t prompt = random.between(1, 25);
    const Layers recording = random_recording(random, {prompt + 12}, 1, random.chance(1, 2), seed % 2 == 0);
    const LayerTensors& in = recording.at(0, 0);
    for (const Lane& each : request_of(recording, prompt).lanes) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + each.reader.choice.to_string());
      for (const Read& read : reads_of(each, in, 0, prompt))
        for (const ReadSet& set : read.sets) {
          ASSERT_FALSE(set.empty());
          ASSERT_TRUE(std::is_sorted(set.begin(), set.end(), std::less_equal<>()));
          ASSERT_GE(set.front(), in.first_seen(read.t));
          ASSERT_LE(set.back(), read.t);
        }
    }
  }
}

/// A budget of all tokens reads them all, without metadata, and changes no output.
TEST(ReaderInvariants, BudgetsOfEverythingReadEverything) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Random random(seed, "whole");
    const std::int64_t prompt = random.between(2, 25);
    const Layers recording = random_recording(random, {prompt + 10}, 2, random.chance(1, 2), false);
    const std::string most = std::to_string(prompt + 10 + 7);
    Request request{.lanes = {}, .prompt = prompt};
    for (const char* text : {"quest:page=7", "quest:page=7,form=kernels", "clusterkv:sinks=3", "oracle",
                             "clusterkv:sinks=0,window=4", "retro-infer:cluster_tokens=1"})
      request.lanes.push_back({.reader = parse_reader(text, std::stoll(most)).value(), .budget = 1});
    request.lanes.push_back(lane("infinigen:alpha=1e6,fetch=1"));
    const auto found = evaluate(recording, request, go_on);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    for (std::size_t l = 0; l < request.lanes.size(); ++l) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + request.lanes[l].reader.choice.to_string());
      const Tally& total = found.value().lanes[l].total;
      EXPECT_EQ(total.read.cells, total.full_bytes);
      EXPECT_EQ(total.mass, total.oracle_mass);
      EXPECT_EQ(total.overlap, static_cast<double>(total.samples));
      EXPECT_LT(total.error_most, 1e-12);
      const bool ranks = request.lanes[l].reader.choice.name() == "infinigen";
      EXPECT_EQ(total.read.metadata > 0, ranks);
    }
  }
}

TEST(ReaderInvariants, LargeNumbersStayNumbers) {
  Random random(3, "large");
  const Layers small = random_recording(random, {40}, 2, false);
  std::vector<std::vector<LayerTensors>> layers{{small.at(0, 0), small.at(0, 1)}};
  for (LayerTensors& layer : layers[0]) {
    layer.soft_cap = 0;
    layer.window = 0;
    for (auto* side : {&layer.queries, &layer.keys, &layer.values})
      for (auto& head : *side)
        for (float& x : head) x *= 30000.0F;
  }
  const Layers recording(std::move(layers));
  const auto found = evaluate(recording, request_of(recording, 20), go_on);
  ASSERT_TRUE(found.ok());
  for (const LaneResult& lane : found.value().lanes)
    for (const double number : numbers_of(lane.total)) EXPECT_TRUE(std::isfinite(number));
}

TEST(ReaderInvariants, ZerosAreNoTrouble) {
  Random random(4, "zeros");
  const Layers some = random_recording(random, {30}, 1, false);
  LayerTensors layer = some.at(0, 0);
  layer.window = 0;
  for (auto* side : {&layer.queries, &layer.keys})
    for (auto& head : *side) std::fill(head.begin(), head.end(), 0.0F);
  const Layers recording({{layer}});
  const auto found = evaluate(recording, request_of(recording, 20), go_on);
  ASSERT_TRUE(found.ok());
  for (const LaneResult& lane : found.value().lanes)
    EXPECT_NEAR(lane.total.mass, lane.total.oracle_mass, 1e-9);  // all weights are equal
}

TEST(ReaderInvariants, WithoutValuesThereIsNoError) {
  Random random(5, "no values");
  const Layers some = random_recording(random, {30}, 1, false);
  LayerTensors layer = some.at(0, 0);
  layer.values.clear();
  const Layers recording({{layer}});
  const auto found = evaluate(recording, {.lanes = {lane("oracle:budget=3")}, .prompt = 20}, go_on);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found.value().lanes[0].total.mean_error().has_value());
  EXPECT_FALSE(found.value().lanes[0].total.greatest_error().has_value());
  EXPECT_TRUE(found.value().lanes[0].total.least_mass().has_value());
}

std::string error_of(const attention::Recording& recording, const Request& request) {
  const auto found = evaluate(recording, request, go_on);
  return found.ok() ? "no error" : found.error().to_string();
}

TEST(ReaderInvariants, WhatCannotBeReadIsRefused) {
  Random random(6, "refused");
  const Layers some = random_recording(random, {30}, 2, false);
  EXPECT_EQ(error_of(some, {.lanes = {lane("full")}, .prompt = 31}),
            "--prefill: expected at most the 30 tokens of sequence 0, found 31");
  EXPECT_EQ(error_of(some, {.lanes = {lane("full")}, .sequence = 1}),
            "--sequence: expected 0 to 0 for this recording, found 1");
  EXPECT_EQ(error_of(some, {.lanes = {lane("full")}, .layer = 2}),
            "--layer: expected 0 to 1 for this recording, found 2");
  EXPECT_EQ(error_of(some, {.lanes = {lane("clusterkv:budget=4,sinks=4,dense_layers=0")}}),
            "clusterkv:budget: expected more than the 4 first tokens, found 4");
  EXPECT_EQ(error_of(some, {.lanes = {lane("quest:budget=4,form=kernels,dense_layers=0")}}),
            "quest:budget: expected at least a page of 16 tokens, found 4");
  EXPECT_EQ(error_of(some, {.lanes = {lane("retrieval-heads:gates=[]", {{{1.0}}})}, .layer = 1}),
            "retrieval-heads:gates: expected a list for layer 1 too, found 1 lists");
  EXPECT_EQ(
      error_of(some, {.lanes = {lane("retrieval-heads:gates=[]", {{{1, 1, 1, 1, 1}, {}}})}, .layer = 0}),
      "retrieval-heads:gates: expected a number for each of " + std::to_string(some.info().kv_heads) +
          " KV heads in layer 0, found 5");
  LayerTensors seen = some.at(0, 0);
  seen.window = 5;
  EXPECT_EQ(error_of(Layers({{seen}}), {.lanes = {lane("retro-infer")}}),
            "retro-infer: estimates unread tokens by sums over clusters, but the sliding window of layer 0 "
            "can cut through a cluster");
  LayerTensors biased = some.at(0, 0);
  biased.bias_slopes.assign(static_cast<std::size_t>(biased.query_heads), 0.5);
  const Layers recording({{biased}});
  EXPECT_EQ(error_of(recording, {.lanes = {lane("quest:budget=20,dense_layers=0")}}),
            "quest: ranks tokens by query-key products, but layer 0 adds a position bias to them");
  EXPECT_EQ(error_of(recording, {.lanes = {lane("infinigen:dense_layers=0"), lane("oracle:budget=3")}}),
            "no error");
}

TEST(ReaderInvariants, AnErrorOfThePauseEndsTheRun) {
  Random random(7, "pause");
  const Layers recording = random_recording(random, {30}, 2, false);
  const auto found = evaluate(recording, {.lanes = {lane("full")}, .prompt = 10},
                              []() -> Status { return interrupted_error(); });
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind, ErrorKind::kInterrupted);
}

}  // namespace
}  // namespace kvplan::readers::testing
