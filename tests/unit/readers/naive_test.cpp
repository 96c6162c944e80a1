// Readers compared with their definitions on random tensors: sets and metadata step by step, then pooled evaluations.
#include <gtest/gtest.h>

#include "simulator/readers/page_bounds.h"
#include "tests/support/random_cases.h"
#include "tests/unit/readers/naive.h"

namespace kvplan::readers::testing {
namespace {

std::string number(Random& random, std::int64_t low, std::int64_t high) {
  return std::to_string(random.between(low, high));
}

std::string one_of(Random& random, const std::vector<std::string>& texts) {
  return texts[random.below(texts.size())];
}

attention::HeadTable random_gates(Random& random, std::int32_t layers, std::int32_t heads) {
  attention::HeadTable out;
  for (std::int32_t l = 0; l < layers; ++l) {
    out.emplace_back();
    for (std::int32_t h = 0; h < heads; ++h) out.back().push_back(static_cast<double>(random.below(9)) / 8);
  }
  return out;
}

/// One lane for each member. `dense` becomes dense_layers. Rotated channels are left out if there are ties.
std::vector<Lane> random_lanes(Random& random, const Layers& recording, bool coarse,
                               const std::string& dense) {
  const std::string share = one_of(random, {"none", "mean", "max"});
  const std::int64_t sinks = random.between(0, 5);
  const std::int32_t heads = recording.info().kv_heads;
  const std::int32_t layers = recording.info().layers;
  const std::string page = number(random, 1, 7);
  return {
      lane("full"),
      lane("oracle:budget=" + number(random, 1, 30)),
      lane("quest:page=" + page + ",budget=" + number(random, 1, 40) + ",share=" + share +
           ",dense_layers=" + dense),
      lane("quest:form=kernels,page=" + page + ",budget=" + number(random, std::stoi(page), 40) +
           ",share=" + share + ",dense_layers=" + dense),
      lane("infinigen:alpha=" + one_of(random, {"0", "0.5", "4"}) +
           ",partial=" + one_of(random, {"0.2", "0.5", "1"}) + ",fetch=" + one_of(random, {"0.2", "0.6"}) +
           ",budget=" + one_of(random, {"0", "3", "11"}) + ",maximum=" + one_of(random, {"own", "first"}) +
           ",skew=" + (coarse ? "false" : "true") + ",dense_layers=" + dense),
      lane("clusterkv:sinks=" + std::to_string(sinks) + ",budget=" + number(random, sinks + 1, 40) +
           ",clusters=" + number(random, 0, 9) + ",window=" + number(random, 0, 8) +
           ",window_clusters=" + number(random, 1, 4) + ",seed=" + number(random, 0, 99) +
           ",iterations=" + number(random, 1, 6) + ",share=" + share + ",dense_layers=" + dense),
      lane("retro-infer:cluster_tokens=" + number(random, 1, 5) + ",sinks=" + std::to_string(sinks) +
           ",recent=" + number(random, 0, 6) + ",update=" + number(random, 1, 9) +
           ",budget=" + one_of(random, {"0", "6"}) + ",retrieve=" + one_of(random, {"0.018", "0.3"}) +
           ",estimate=" + one_of(random, {"0", "0.232", "1"}) +
           ",iterations=30,seed=" + number(random, 0, 99)),
      lane("retrieval-heads:gates=[],sink=" + number(random, 0, 6) + ",recent=" + number(random, 1, 9) +
               ",sparsity=" + one_of(random, {"0", "0.3", "0.5", "1"}),
           {random_gates(random, layers, heads)})};
}

TEST(Readers, ReadWhatTheirDefinitionsSay) {
  int by_a_hair = 0, steps = 0;
  for (int seed = 1; seed <= test::random_cases(120, 120); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "readers");
    const bool coarse = random.chance(1, 2);
    const std::int64_t prompt = random.between(8, 30);
    const Layers recording = random_recording(random, {prompt + random.between(1, 20)}, 2, coarse);
    for (const Lane& each : random_lanes(random, recording, coarse, "0"))
      for (std::int32_t layer = 0; layer < 2; ++layer) {
        if (recording.at(0, layer).window > 0 && each.reader.choice.name() == "retro-infer") continue;
        SCOPED_TRACE("seed " + std::to_string(seed) + " " + each.reader.choice.to_string());
        const LayerTensors& in = recording.at(0, layer);
        for (const Read& read : reads_of(each, in, layer, prompt)) {
          const NaiveRead wanted = naive_read(each, in, layer, prompt, read.t);
          ++steps;
          if (wanted.by_a_hair) {
            ++by_a_hair;
            continue;
          }
          ASSERT_EQ(read.kept_metadata, wanted.kept_metadata) << "t " << read.t;
          ASSERT_EQ(read.read_metadata, wanted.read_metadata) << "t " << read.t;
          for (std::size_t q = 0; q < read.sets.size(); ++q) {
            ASSERT_EQ(read.sets[q], ReadSet(wanted.sets[q].begin(), wanted.sets[q].end()))
                << "t " << read.t << " head " << q;
            for (std::size_t i = 0; i < read.sets[q].size(); ++i)
              ASSERT_EQ(read.with_tokens[q][i], wanted.listed.count(read.sets[q][i]) == 1 ? 4 : 0);
          }
        }
      }
  }
  EXPECT_LT(100 * by_a_hair, steps);
}

/// The figures of one KV head at one step, from sets.
Tally naive_tally(const Lane& each, const LayerTensors& in, std::int32_t layer, std::int32_t head,
                  std::int64_t prompt, std::int64_t t, bool dense) {
  NaiveRead read = naive_read(dense ? lane("full") : each, in, layer, prompt, t);
  const std::int64_t cell = (in.key_size + in.value_size) * kElementBytes;
  const std::int32_t group = in.query_heads / in.kv_heads;
  Tally out;
  std::set<std::int32_t> together;
  const auto fetched = [&](const std::set<std::int32_t>& set) {
    ReadBytes bytes{.cells = static_cast<std::int64_t>(set.size()) * cell,
                    .metadata = read.read_metadata[static_cast<std::size_t>(head)]};
    for (const std::int32_t i : set) bytes.metadata += read.listed.count(i) == 1 ? 4 : 0;
    return bytes;
  };
  for (std::int32_t q = head * group; q < (head + 1) * group; ++q) {
    const auto& set = read.sets[static_cast<std::size_t>(q)];
    NaiveRow row = naive_row(in, q, t);
    double mass = 0;
    for (const std::int32_t i : set) mass += row.weights[static_cast<std::size_t>(i)];
    out.mass_least = out.samples == 0 ? mass : std::min(out.mass_least, mass);
    out.mass += mass;
    std::sort(row.weights.rbegin(), row.weights.rend());
    for (std::size_t i = 0; i < set.size(); ++i) out.oracle_mass += row.weights[i];
    const double error = naive_error(in, q, t, set,
                                     read.estimated.empty() ? std::vector<std::set<std::int32_t>>{}
                                                            : read.estimated[static_cast<std::size_t>(q)]);
    out.error += error;
    out.error_most = std::max(out.error_most, error);
    ++out.samples;
    ++out.error_samples;
    out.tokens += static_cast<std::int64_t>(set.size());
    together.insert(set.begin(), set.end());
    out.read_apart.add(fetched(set));
  }
  out.head_steps = 1;
  out.head_tokens = static_cast<std::int64_t>(together.size());
  out.read.add(fetched(together));
  out.full_bytes = cell * (in.window == 0 ? t + 1 : std::min(t + 1, in.window));
  return out;
}

void expect_tally(const Tally& found, const Tally& wanted) {
  const double room = 1e-9 * static_cast<double>(std::max<std::int64_t>(1, wanted.samples));
  EXPECT_EQ(found.samples, wanted.samples);
  EXPECT_EQ(found.error_samples, wanted.error_samples);
  EXPECT_NEAR(found.mass, wanted.mass, room);
  EXPECT_NEAR(found.mass_least, wanted.mass_least, 1e-9);
  EXPECT_NEAR(found.oracle_mass, wanted.oracle_mass, room);
  EXPECT_NEAR(found.error, wanted.error, 1e-7 * (1 + wanted.error));
  EXPECT_NEAR(found.error_most, wanted.error_most, 1e-7 * (1 + wanted.error_most));
  EXPECT_EQ(found.tokens, wanted.tokens);
  EXPECT_EQ(found.head_steps, wanted.head_steps);
  EXPECT_EQ(found.head_tokens, wanted.head_tokens);
  EXPECT_EQ(found.read.cells, wanted.read.cells);
  EXPECT_EQ(found.read.metadata, wanted.read.metadata);
  EXPECT_EQ(found.read_apart.cells, wanted.read_apart.cells);
  EXPECT_EQ(found.read_apart.metadata, wanted.read_apart.metadata);
  EXPECT_EQ(found.full_bytes, wanted.full_bytes);
}

/// The figures of the same recording, added up from single heads at single steps.
struct Wanted {
  Tally total;
  std::map<std::int32_t, Tally> layers;
  std::map<std::pair<std::int32_t, std::int32_t>, Tally> heads;
  std::map<std::pair<std::int32_t, std::int64_t>, Tally> steps;
  std::vector<Tally> records;
  std::int64_t kept{0}, kept_metadata{0};
};

Wanted wanted_of(const Lane& each, const Layers& recording, std::int64_t prompt, std::int32_t dense_layers) {
  Wanted out;
  const attention::RecordingInfo& info = recording.info();
  for (std::int32_t s = 0; s < static_cast<std::int32_t>(info.sequences.size()); ++s)
    for (std::int32_t layer = 0; layer < info.layers; ++layer) {
      const LayerTensors& in = recording.at(s, layer);
      const bool dense = each.reader.kind->dense_layers && layer < dense_layers;
      for (std::int64_t t = prompt; t < in.tokens; ++t)
        for (std::int32_t head = 0; head < in.kv_heads; ++head) {
          const Tally one = naive_tally(each, in, layer, head, prompt, t, dense);
          out.records.push_back(one);
          out.total.add(one);
          out.layers[layer].add(one);
          out.heads[{layer, head}].add(one);
          out.steps[{s, t}].add(one);
        }
      out.kept += in.tokens * in.kv_heads * (in.key_size + in.value_size) * kElementBytes;
      if (!dense)
        for (const std::int64_t bytes : naive_read(each, in, layer, prompt, in.tokens - 1).kept_metadata)
          out.kept_metadata += bytes;
    }
  return out;
}

TEST(Readers, EvaluationsPoolEveryHeadAtEveryStep) {
  for (int seed = 1; seed <= test::random_cases(12); ++seed) {
    Random random(static_cast<std::uint64_t>(seed), "pooled");
    const bool coarse = false;  // no output is 0
    const std::int64_t prompt = random.between(8, 20);
    const Layers recording = random_recording(
        random, {prompt + random.between(1, 9), prompt + random.between(1, 9)}, 3, coarse, seed % 2 == 0);
    const auto dense = static_cast<std::int32_t>(random.between(0, 2));
    Request request{.lanes = random_lanes(random, recording, coarse, std::to_string(dense)),
                    .prompt = prompt,
                    .threads = 2,
                    .keep_records = true};
    // One of the readers refuses windows.
    if (seed % 2 == 0)
      std::erase_if(request.lanes,
                    [](const Lane& each) { return each.reader.choice.name() == "retro-infer"; });
    const auto found = evaluate(recording, request, go_on);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    EXPECT_EQ(found.value().sequences, 2);
    for (std::size_t l = 0; l < request.lanes.size(); ++l) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " " + request.lanes[l].reader.choice.to_string());
      const LaneResult& lane = found.value().lanes[l];
      const Wanted wanted = wanted_of(request.lanes[l], recording, prompt, dense);
      expect_tally(lane.total, wanted.total);
      ASSERT_EQ(lane.layers.size(), 3U);
      for (const LayerResult& layer : lane.layers) {
        expect_tally(layer.tally, wanted.layers.at(layer.layer));
        EXPECT_EQ(layer.dense, request.lanes[l].reader.kind->dense_layers && layer.layer < dense);
        EXPECT_EQ(layer.steps, found.value().steps);
      }
      ASSERT_EQ(lane.heads.size(), wanted.heads.size());
      for (const HeadResult& head : lane.heads)
        expect_tally(head.tally, wanted.heads.at({head.layer, head.head}));
      ASSERT_EQ(lane.steps.size(), wanted.steps.size());
      for (const StepResult& step : lane.steps)
        expect_tally(step.tally, wanted.steps.at({step.sequence, step.t}));
      ASSERT_EQ(lane.records.size(), wanted.records.size());
      for (std::size_t r = 0; r < lane.records.size(); ++r)
        expect_tally(lane.records[r].tally, wanted.records[r]);
      EXPECT_EQ(lane.kept_bytes, wanted.kept);
      EXPECT_EQ(lane.kept_metadata_bytes, wanted.kept_metadata);
    }
  }
}

TEST(PageBounds, AreNotBelowAnyProductOfTheirPage) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed, "bounds");
    const auto channels = static_cast<std::size_t>(random.between(1, 64));
    const std::int64_t page = random.between(1, 20);
    const auto tokens = static_cast<std::size_t>(random.between(1, 60));
    const double size = random.chance(1, 3) ? 60000.0 : 1.0;  // as large as half precision can represent
    const auto vector = [&] {
      std::vector<float> out;
      for (std::size_t c = 0; c < channels; ++c)
        out.push_back(static_cast<float>(size * (2 * random.unit() - 1)));
      return out;
    };
    PageBounds bounds(page, static_cast<std::int32_t>(channels));
    std::vector<std::vector<float>> keys;
    for (std::size_t i = 0; i < tokens; ++i) {
      keys.push_back(vector());
      bounds.add(keys.back());
    }
    ASSERT_EQ(bounds.pages(), (static_cast<std::int64_t>(tokens) + page - 1) / page);
    for (int q = 0; q < 5; ++q) {
      const std::vector<float> query = vector();
      for (std::size_t i = 0; i < tokens; ++i) {
        double product = 0;
        for (std::size_t c = 0; c < channels; ++c)
          product += static_cast<double>(query[c]) * static_cast<double>(keys[i][c]);
        ASSERT_GE(bounds.bound(static_cast<std::int64_t>(i) / page, query), product) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace kvplan::readers::testing
