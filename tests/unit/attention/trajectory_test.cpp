// Trajectories equal a replay of the whole recording, in any order of requests; positional ones are known without any
// recording.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "simulator/attention/drops.h"
#include "simulator/attention/interval_policy.h"
#include "simulator/attention/shape_recording.h"
#include "simulator/attention/trajectory.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan::attention {
namespace {

std::vector<Rows> random_layers(Random& random, int layers, int heads, int tokens) {
  std::vector<Rows> out;
  for (int i = 0; i < layers; ++i) out.push_back(random_rows(random, heads, tokens, RowKind::kSmooth));
  return out;
}

std::unique_ptr<Trajectory> make(const std::shared_ptr<const Recording>& recording, std::int64_t prompt,
                                 const std::string& policy) {
  auto parsed = parse_policy(policy);
  EXPECT_TRUE(parsed.ok()) << parsed.error().to_string();
  auto made = Trajectory::make(recording, 0, prompt, parsed.value());
  EXPECT_TRUE(made.ok()) << made.error().to_string();
  return std::move(made).value();
}

const std::vector<std::string> kPolicies{"full",
                                         "window:window=5",
                                         "streaming-llm:sink=2,recent=6",
                                         "h2o:hh=4,recent=3",
                                         "tova:budget=7",
                                         "h2o:hh=2,recent=2,group=2",
                                         "snapkv:window=3,capacity=9",
                                         "ada-kv:window=3,capacity=9",
                                         "seed-lfu:budget=9,theta=0.1",
                                         "random:budget=6",
                                         "seed-ring:window=9,chunk=4",
                                         "expr:score=age*position,budget=6,sink=1",
                                         "expr:score=age*(1+layer)-position*head,budget=6",
                                         "oracle-suffix:budget=8"};

TEST(Trajectory, SaysWhatTheReplaySays) {
  for (std::uint64_t seed = 1; seed <= 28; ++seed) {
    Random random(seed, "trajectory");
    const int tokens = 2 + static_cast<int>(random.below(600));
    const int prompt = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(tokens)));
    const auto recording = recording_of(random_layers(random, 2, 4, tokens));
    const std::string policy = kPolicies[seed % kPolicies.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + policy + ", tokens " + std::to_string(tokens) +
                 ", prompt " + std::to_string(prompt));
    const auto trajectory = make(recording, prompt, policy);
    ASSERT_TRUE(trajectory->advance(tokens - 1).ok());
    std::int64_t pairs = 0;
    for (const TrackInfo& track : trajectory->tracks()) pairs += track.pairs;
    EXPECT_EQ(pairs, 2 * trajectory->kv_heads());
    for (std::int32_t layer = 0; layer < 2; ++layer) {
      const Outcome whole = run_policy(*recording, policy, prompt, layer);
      for (std::int32_t head = 0; head < trajectory->kv_heads(); ++head) {
        const std::int32_t track = trajectory->track_of(layer, head);
        const bool one_set = whole.after_prefill.size() == 1;
        const std::size_t unit = one_set ? 0 : static_cast<std::size_t>(head);
        EXPECT_EQ(trajectory->kept(track, prompt - 1), whole.after_prefill[unit]);
        for (std::int64_t t = prompt; t < tokens; ++t) {
          const auto& expected = whole.retained[static_cast<std::size_t>(t - prompt)][unit];
          ASSERT_EQ(trajectory->kept(track, t), expected) << "t " << t;
          EXPECT_EQ(trajectory->kept_count(track, t), static_cast<std::int64_t>(expected.size()));
        }
      }
    }
  }
}

/// How often each layer is opened, by order of opening.
class Counted final : public Recording {
 public:
  explicit Counted(std::shared_ptr<const Recording> of) : of_(std::move(of)) {}
  [[nodiscard]] const RecordingInfo& info() const override { return of_->info(); }
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                        std::int32_t layer) const override {
    opened.push_back(layer);
    return of_->open(sequence, layer);
  }
  mutable std::vector<std::int32_t> opened;

 private:
  std::shared_ptr<const Recording> of_;
};

TEST(Trajectory, LayersAreOpenedAsOftenAsTheHeaderSays) {
  Random random(9, "opened");
  const auto recording = std::make_shared<Counted>(recording_of(random_layers(random, 3, 2, 300)));
  const auto opened = [&](const std::string& policy) {
    recording->opened.clear();
    EXPECT_TRUE(make(recording, 40, policy)->advance(299).ok());
    return recording->opened;
  };
  using Layers = std::vector<std::int32_t>;
  EXPECT_EQ(opened("window:window=5"), (Layers{}));
  EXPECT_EQ(opened("h2o:hh=8,recent=8"), (Layers{0, 1, 2}));
  EXPECT_EQ(opened("oracle-suffix:budget=8"), (Layers{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(opened("pyramidinfer"), (Layers{0, 0, 1, 0, 1, 2}));
}

TEST(Trajectory, AskingInSmallStepsChangesNothing) {
  Random random(7, "trajectory");
  const auto recording = recording_of(random_layers(random, 2, 2, 700));
  const auto whole = make(recording, 30, "h2o:hh=8,recent=8,placement=reuse");
  const auto stepped = make(recording, 30, "h2o:hh=8,recent=8,placement=reuse");
  ASSERT_TRUE(whole->advance(699).ok());
  EXPECT_EQ(stepped->computed(), 0);
  std::int64_t from = 0;
  for (const std::int64_t last : {0, 5, 29, 30, 31, 255, 256, 500, 699}) {
    ASSERT_TRUE(stepped->advance(last).ok());
    EXPECT_EQ(stepped->computed(), last + 1);
    ASSERT_TRUE(stepped->advance(from).ok());
    EXPECT_EQ(stepped->computed(), last + 1);
    for (std::int64_t t = 0; t <= last; ++t)
      for (std::int32_t track = 0; track < 4; ++track) {
        const auto a = whole->dropped(track, t);
        const auto b = stepped->dropped(track, t);
        ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "t " << t;
      }
    from = last;
  }
}

/// Rows of one layer that end with an error, like those of a file that was cut off.
class BreaksOff final : public Recording {
 public:
  BreaksOff(std::shared_ptr<const Recording> whole, std::int64_t good)
      : whole_(std::move(whole)), good_(good) {}
  [[nodiscard]] const RecordingInfo& info() const override { return whole_->info(); }
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                        std::int32_t layer) const override {
    KVPLAN_TRY(auto rows, whole_->open(sequence, layer));
    return std::unique_ptr<LayerRows>(
        std::make_unique<Rows>(std::move(rows), layer == 1 ? good_ : INT64_MAX));
  }

 private:
  class Rows final : public LayerRows {
   public:
    Rows(std::unique_ptr<LayerRows> whole, std::int64_t good) : whole_(std::move(whole)), good_(good) {}
    Status seek(std::int64_t t) override {
      return t < good_ ? whole_->seek(t) : Status(bad_input("row " + std::to_string(t) + " is missing"));
    }
    [[nodiscard]] RowView row(std::int32_t head) const override { return whole_->row(head); }

   private:
    std::unique_ptr<LayerRows> whole_;
    std::int64_t good_;
  };
  std::shared_ptr<const Recording> whole_;
  std::int64_t good_;
};

TEST(Trajectory, WhatWasComputedOutlivesAnError) {
  Random random(11, "breaks off");
  const auto whole = recording_of(random_layers(random, 2, 2, 600));
  const auto it = make(std::make_shared<BreaksOff>(whole, 400), 30, "h2o:hh=8,recent=8");
  ASSERT_TRUE(it->advance(399).ok());
  const std::vector<std::int32_t> kept = it->kept(3, 399);
  const std::int64_t bytes = it->bytes();
  const Status broken = it->advance(400);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().to_string(), "row 400 is missing");
  const Status stopped = it->advance(599, [] { return true; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(it->computed(), 400);
  EXPECT_EQ(it->kept(3, 399), kept);
  EXPECT_EQ(it->bytes(), bytes);
}

TEST(Trajectory, PositionalPoliciesFollowTheirInterval) {
  Random random(8, "trajectory");
  const auto recording = recording_of(random_layers(random, 3, 4, 120));
  for (const std::string policy : {"full", "window:window=16", "streaming-llm:sink=4,recent=9"}) {
    const auto parsed = parse_policy(policy);
    ASSERT_TRUE(parsed.ok());
    const auto keep = parsed.value().kind->traits(parsed.value().choice).interval;
    ASSERT_TRUE(keep.has_value());
    const auto trajectory = make(recording, 40, policy);
    ASSERT_TRUE(trajectory->advance(119).ok());
    ASSERT_EQ(trajectory->tracks().size(), 1U);
    EXPECT_EQ(trajectory->tracks()[0].pairs, 12);
    for (std::int64_t t = 39; t < 120; ++t) {
      const std::vector<std::int32_t> kept = trajectory->kept(0, t);
      for (std::int32_t p = 0; p <= t; ++p) {
        ASSERT_EQ(std::binary_search(kept.begin(), kept.end(), p), keeps(*keep, p, t + 1))
            << policy << ", p " << p << ", t " << t;
      }
    }
  }
}

TEST(Trajectory, DropsAreDifferences) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "drops");
    const auto recording = recording_of(random_layers(random, 1, 2, 150));
    const auto it = make(recording, 50, seed % 2 == 0 ? "h2o:hh=10,recent=10" : "seed-lru:budget=20");
    ASSERT_TRUE(it->advance(149).ok());
    for (std::int32_t track = 0; track < 2; ++track) {
      std::vector<std::int32_t> before;
      for (std::int64_t t = 0; t < 150; ++t) {
        before.push_back(static_cast<std::int32_t>(t));
        for (const std::int32_t p : it->dropped(track, t))
          before.erase(std::find(before.begin(), before.end(), p));
        EXPECT_EQ(before, it->kept(track, t));
      }
    }
  }
}

/// Each layer follows the policy with its own number, and positional policies are distinguished by layer.
TEST(Trajectory, LayersWithBudgetsOfTheirOwn) {
  Random random(4, "granted");
  const auto recording = recording_of(random_layers(random, 3, 2, 90));
  const Grants by_layer{.tokens = {{20}, {9}, {std::int64_t{1} << 30}}, .by_head = false};
  const Grants by_head{.tokens = {{20, 8}, {9, 9}, {30, 12}}, .by_head = true};
  struct Case {
    std::string others, param;
    std::int64_t kept_beside;
  };
  for (const Case& c : {Case{"h2o:recent=4,", "hh", 4}, Case{"window:", "window", 0},
                        Case{"streaming-llm:sink=4,", "recent", 4}})
    for (const Grants& grants : {by_layer, by_head}) {
      const auto policy = [&](std::int64_t tokens) {
        return parse_policy(c.others + c.param + "=" + std::to_string(tokens - c.kept_beside));
      };
      auto all = Trajectory::make(recording, 0, 30, policy(15).value(), grants);
      ASSERT_TRUE(all.ok()) << all.error().to_string();
      ASSERT_TRUE(all.value()->advance(89).ok());
      for (std::int32_t layer = 0; layer < 3; ++layer)
        for (std::int32_t head = 0; head < 2; ++head) {
          const auto& tokens = grants.tokens[static_cast<std::size_t>(layer)];
          auto own = Trajectory::make(
              recording, 0, 30, policy(tokens[grants.by_head ? static_cast<std::size_t>(head) : 0]).value());
          ASSERT_TRUE(own.ok() && own.value()->advance(89).ok());
          for (const std::int64_t t : {29, 30, 55, 89})
            EXPECT_EQ(all.value()->kept(all.value()->track_of(layer, head), t),
                      own.value()->kept(own.value()->track_of(layer, head), t))
                << c.others << " layer " << layer << " head " << head << " after " << t;
        }
    }
  TrajectoryStore store(1 << 20);
  const auto h2o = parse_policy("h2o:hh=4,recent=4").value();
  const auto first = store.get(recording, 0, 30, 89, h2o, by_layer);
  EXPECT_EQ(first.value(), store.get(recording, 0, 30, 89, h2o, by_layer).value());
  EXPECT_NE(first.value(), store.get(recording, 0, 30, 89, h2o).value());
  EXPECT_FALSE(store.get(recording, 0, 30, 89, parse_policy("tova:budget=9").value(), by_head).ok());
  EXPECT_EQ(store.size(), 2);
}

TEST(TrajectoryStore, SharesAndForgets) {
  Random random(9, "store");
  const auto recording = recording_of(random_layers(random, 2, 2, 300));
  auto h2o = parse_policy("h2o:hh=4,recent=4");
  auto reuse = parse_policy("h2o:hh=4,recent=4,placement=reuse");
  ASSERT_TRUE(h2o.ok() && reuse.ok());
  TrajectoryStore store(1);  // nothing that is not in use stays
  auto first = store.get(recording, 0, 10, 299, h2o.value());
  ASSERT_TRUE(first.ok());
  auto same = store.get(recording, 0, 10, 40, h2o.value());
  EXPECT_EQ(first.value(), same.value());
  const auto other = store.get(recording, 0, 11, 299, h2o.value());
  EXPECT_NE(first.value(), other.value());
  // The placement of tokens does not change which tokens are dropped.
  EXPECT_EQ(first.value(), store.get(recording, 0, 10, 299, reuse.value()).value());
  EXPECT_EQ(store.size(), 2);
  const std::vector<std::int32_t> kept = first.value()->kept(0, 200);
  first = bad_input("let go");
  same = bad_input("let go");
  ASSERT_TRUE(store.get(recording, 0, 12, 299, h2o.value()).ok());
  EXPECT_EQ(store.size(), 2);  // the one that `other` holds, and this one
  const auto again = store.get(recording, 0, 10, 299, h2o.value());
  EXPECT_EQ(again.value()->kept(0, 200), kept);
  EXPECT_FALSE(store.get(recording, 0, 301, 299, h2o.value()).ok());
  EXPECT_FALSE(store.get(recording, 1, 10, 299, h2o.value()).ok());
}

/// Unused trajectories never take more than the limit, in whatever order they grow.
TEST(TrajectoryStore, CountsWhatItHolds) {
  Random random(10, "store");
  const auto recording = recording_of(random_layers(random, 2, 2, 300));
  const auto h2o = parse_policy("h2o:hh=4,recent=4").value();
  const std::int64_t one = make(recording, 10, "h2o:hh=4,recent=4")->bytes();
  auto whole = make(recording, 10, "h2o:hh=4,recent=4");
  ASSERT_TRUE(whole->advance(299).ok());
  // 4 tracks: a position for each of 292 dropped tokens, where each of 290 + 1 steps begins, and one more.
  EXPECT_EQ(whole->bytes() - one, 4 * (4 * 292 + 8 * 292));
  const std::int64_t most = 3 * whole->bytes();
  TrajectoryStore store(most);
  std::int64_t largest = 0;
  for (int i = 0; i < 200; ++i) {
    const auto prompt = 10 + static_cast<std::int64_t>(random.below(8));
    const auto last = static_cast<std::int64_t>(random.below(300));
    ASSERT_TRUE(store.get(recording, 0, prompt, last, h2o).ok());
    EXPECT_LE(store.bytes(), most);
    largest = std::max(largest, store.size());
  }
  EXPECT_GE(largest, 3);
  EXPECT_LT(largest, 8);
  // A longer trajectory replaces the one in use, which does not change for its owners.
  TrajectoryStore small(1);
  const auto used = small.get(recording, 0, 10, 20, h2o);
  const std::int64_t short_bytes = used.value()->bytes();
  const auto longer = small.get(recording, 0, 10, 299, h2o);
  EXPECT_EQ(small.bytes(), longer.value()->bytes());
  EXPECT_EQ(small.size(), 1);
  EXPECT_EQ(used.value()->computed(), 21);
  EXPECT_EQ(used.value()->bytes(), short_bytes);
  EXPECT_EQ(used.value()->kept(0, 20), longer.value()->kept(0, 20));
}

TEST(TrajectoryStore, ThreadsShareOneComputation) {
  Random random(11, "store");
  const auto recording = recording_of(random_layers(random, 2, 2, 200));
  const auto policies = {parse_policy("h2o:hh=4,recent=4").value(), parse_policy("tova:budget=9").value()};
  std::vector<std::unique_ptr<Trajectory>> alone;
  for (const PolicyChoice& policy : policies) {
    alone.push_back(Trajectory::make(recording, 0, 20, policy).value());
    ASSERT_TRUE(alone.back()->advance(199).ok());
  }
  TrajectoryStore store(1 << 20);
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      std::size_t which = 0;
      for (const PolicyChoice& policy : policies) {
        const auto got = store.get(recording, 0, 20, 199, policy);
        const Trajectory& expected = *alone[which++];
        for (std::int32_t track = 0; track < std::ssize(expected.tracks()); ++track)
          for (const std::int64_t t : {19, 100, 199})
            if (!got.ok() || got.value()->kept(track, t) != expected.kept(track, t)) ++different;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
  EXPECT_EQ(store.computations(), 2);
  // A computation that stops leaves nothing incomplete, and the next one computes the trajectory.
  EXPECT_FALSE(store.get(recording, 0, 21, 199, *policies.begin(), {}, [] { return true; }).ok());
  EXPECT_EQ(store.size(), 2);
  EXPECT_TRUE(store.get(recording, 0, 21, 199, *policies.begin()).ok());
}

/// A bound sees only its request's tokens: it drops the same tokens as on a recording that ends there.
TEST(TrajectoryStore, ForesightEndsWithTheRequest) {
  constexpr std::int64_t kPrompt = 20;
  for (const char* text : {"oracle-suffix:budget=8", "oracle-exact:budget=8", "h2o:hh=4,recent=4"}) {
    Random random(14, "foresight");
    const auto layers = random_layers(random, 2, 2, 90);
    const auto recording = recording_of(layers);
    const PolicyChoice policy = parse_policy(text).value();
    const bool looks_ahead = policy.kind->traits(policy.choice).foresight;
    TrajectoryStore store(1 << 20);
    int same_sets = 0;
    for (const std::int64_t tokens : {30, 89, 45, 90, 21, 20}) {
      std::vector<Rows> cut = layers;
      for (Rows& layer : cut)
        for (auto& head : layer) head.resize(static_cast<std::size_t>(tokens));
      const auto own = make(recording_of(cut), kPrompt, text);
      ASSERT_TRUE(own->advance(tokens - 1).ok());
      const std::int64_t last = last_that_drops(tokens);
      const auto got = store.get(recording, 0, kPrompt, last, policy);
      ASSERT_TRUE(got.ok()) << got.error().to_string();
      const auto whole = make(recording, kPrompt, text);
      ASSERT_TRUE(whole->advance(89).ok());
      for (std::int32_t track = 0; track < std::ssize(own->tracks()); ++track)
        for (std::int64_t t = kPrompt - 1; t <= last; ++t) {
          ASSERT_EQ(got.value()->kept(track, t), own->kept(track, t)) << text << ", " << tokens << ", " << t;
          same_sets += tokens == 30 && whole->kept(track, t) == own->kept(track, t) ? 1 : 0;
        }
      EXPECT_EQ(got.value(), store.get(recording, 0, kPrompt, last, policy).value());
    }
    EXPECT_EQ(store.size(), looks_ahead ? 6 : 1) << text;
    // In this case the end matters: 10 states of each of 4 tracks.
    EXPECT_EQ(same_sets < 40, looks_ahead) << text;
  }
}

/// While a bound is computed, the stop function is called before the bound gets a row, and while it solves.
TEST(Trajectory, BoundsStopInTheMiddle) {
  Random random(15, "stops");
  const auto recording = recording_of(random_layers(random, 1, 1, 400));
  for (const char* text : {"oracle-suffix:budget=60", "oracle-exact:budget=60"}) {
    std::int64_t asked = 0;
    const auto whole = make(recording, 100, text);
    ASSERT_TRUE(whole->advance(398, [&] { return ++asked < 0; }).ok());
    EXPECT_GT(asked, 300 + 399) << text;  // a row of each decode step, and each token
    // 60 paths are searched, each over more than 2^16 nodes.
    if (text == std::string("oracle-exact:budget=60")) {
      EXPECT_GT(asked, 300 + 399 + 120);
    }
    for (const std::int64_t most : {std::int64_t{1}, asked / 3, asked / 2, asked}) {
      std::int64_t left = most;
      const Status stopped = make(recording, 100, text)->advance(398, [&] { return --left <= 0; });
      ASSERT_FALSE(stopped.ok());
      EXPECT_EQ(stopped.error().kind, ErrorKind::kInterrupted);
      EXPECT_GE(left, -1) << text;  // little work is done after the answer was yes
    }
  }
}

TEST(TrajectoryStore, ForgetsRecordingsWithoutOwners) {
  Random random(12, "store");
  auto left = recording_of(random_layers(random, 1, 2, 60));
  const auto kept = recording_of(random_layers(random, 1, 2, 60));
  const auto h2o = parse_policy("h2o:hh=4,recent=4").value();
  TrajectoryStore store(1 << 20);
  for (const std::int64_t prompt : {10, 11}) ASSERT_TRUE(store.get(left, 0, prompt, 59, h2o).ok());
  ASSERT_TRUE(store.get(kept, 0, 10, 59, h2o).ok());
  store.forget_left_recordings();
  EXPECT_EQ(store.size(), 3);
  left.reset();
  store.forget_left_recordings();
  EXPECT_EQ(store.size(), 1);
  EXPECT_EQ(store.bytes(), store.get(kept, 0, 10, 59, h2o).value()->bytes());
  EXPECT_EQ(store.computations(), 3);
}

TEST(TrajectoryStore, TellsFilesOfOneNameApart) {
  Random random(13, "store");
  const auto recording = recording_of(random_layers(random, 1, 2, 60));
  auto policy = parse_policy("h2o:hh=4,recent=4").value();
  TrajectoryStore store(1 << 20);
  const auto first = store.get(recording, 0, 10, 59, policy).value();
  policy.tables = {{{1.0}}};  // the new content of a file with the same name
  EXPECT_NE(store.get(recording, 0, 10, 59, policy).value(), first);
}

/// Policies that need nothing recorded keep the same tokens on the model's shape alone; others are refused there.
TEST(Trajectory, IsOfAShapeWherePoliciesAskForNoAttention) {
  Random random(3, "shape");
  const auto recording = recording_of(random_layers(random, 2, 4, 90));
  const auto shape = std::make_shared<ShapeRecording>(2, 4, 4);
  int followed = 0;
  for (const std::string& policy : kPolicies) {
    SCOPED_TRACE(policy);
    const PolicyChoice choice = parse_policy(policy).value();
    if (choice.choice.text("group") == "2") continue;
    if (choice.kind->traits(choice.choice).needs_recording()) {
      const auto refused = Trajectory::make(shape, 0, 30, choice);
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.error().to_string(), "layer 0: has neither attention rows nor queries and keys");
      continue;
    }
    ++followed;
    const auto recorded = make(recording, 30, policy);
    const auto shaped = make(shape, 30, policy);
    ASSERT_TRUE(recorded->advance(89).ok());
    ASSERT_TRUE(shaped->advance(89).ok());
    for (std::int64_t t = 29; t < 90; ++t)
      for (std::int32_t layer = 0; layer < 2; ++layer)
        for (std::int32_t head = 0; head < 4; ++head)
          ASSERT_EQ(shaped->kept(shaped->track_of(layer, head), t),
                    recorded->kept(recorded->track_of(layer, head), t))
              << t;
  }
  EXPECT_EQ(followed, 7);
}

}  // namespace
}  // namespace kvplan::attention
