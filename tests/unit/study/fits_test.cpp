// Obstacles to an engine's start, as data: by hand, and every remedy tried; and the meaning of "unhindered".
#include <gtest/gtest.h>

#include "simulator/deployment/deployment.h"
#include "simulator/modelfile/catalogue.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::runs {
namespace {

using model::Obstacle;
using traces::testing::Outcome;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

using Texts = std::vector<std::pair<std::string, std::string>>;

std::optional<std::vector<Obstacle>> obstacles(const Texts& texts) {
  std::vector<Setting> settings;
  for (const auto& [path, text] : texts) settings.push_back({path, text, {}, 0});
  const auto scenario = resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  auto found = obstacles_of(scenario.value(), *scenario.value().model, {});
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  return std::move(found).value();
}

const Obstacle* named(const std::vector<Obstacle>& all, std::string_view name) {
  for (const Obstacle& each : all)
    if (each.obstacle == name) return &each;
  return nullptr;
}

/// Checks that the obstacle is reported, and that each remedy alone removes it.
Obstacle expect_remedied(const Texts& texts, std::string_view name, std::size_t remedies) {
  const auto all = obstacles(texts);
  EXPECT_TRUE(all.has_value());
  const Obstacle* const found = named(*all, name);
  if (found == nullptr) {
    ADD_FAILURE() << name << " is no obstacle";
    return {};
  }
  EXPECT_GT(found->need, found->have);
  EXPECT_EQ(found->remedies.size(), remedies);
  for (const std::string& remedy : found->remedies) {
    Texts changed = texts;
    const std::size_t equals = remedy.find('=');
    changed.emplace_back(remedy.substr(0, equals), remedy.substr(equals + 1));
    EXPECT_EQ(named(*obstacles(changed), name), nullptr) << remedy;
  }
  return *found;
}

TEST(Fits, WeightsAndBuffersWithoutRoom) {
  const Obstacle found =
      expect_remedied({{"model", "llama-3-70b"}, {"deployment.device", "h100-sxm"}}, model::kNoRoom, 2);
  EXPECT_EQ(found.remedies, (std::vector<std::string>{"deployment.tp=2", "deployment.weight_bits=8"}));
  EXPECT_EQ(found.unit, Unit::kBytes);
  // By hand, with all figures given: of 80 GiB, the engine gets nine tenths.
  const Obstacle given = expect_remedied({{"model", "llama-3-8b"},
                                          {"deployment.device", "h100-sxm"},
                                          {"deployment.weights_bytes", "100000000000"},
                                          {"deployment.activation_bytes", "2000000000"},
                                          {"deployment.workspace_bytes", "300000000"}},
                                         model::kNoRoom, 0);
  EXPECT_EQ(given.need, 100'000'000'000 + 2'000'000'000 + 300'000'000 + 131'072) << "and one token";
  Texts all{{"model", "llama-3-8b"}, {"deployment.device", "h100-sxm"}, {"engine.max_model_len", "4096"}};
  EXPECT_EQ(obstacles(all), std::vector<Obstacle>{});
}

TEST(Fits, WhatHasToFitBesideTheShare) {
  for (const char* rule : {"vllm-v1:memory_utilization=0.999", "sglang:mem_fraction_static=0.999"}) {
    const Obstacle found = expect_remedied({{"model", "llama-3-8b"},
                                            {"deployment.device", "h100-sxm"},
                                            {"deployment.pool_rule", rule},
                                            {"deployment.context_bytes", "3000000000"},
                                            {"deployment.graph_bytes", "1000000000"}},
                                           model::kStartMemory, 1);
    EXPECT_EQ(found.unit, Unit::kBytes) << rule;
    if (rule[0] == 'v') {
      EXPECT_EQ(found.need, 4'000'000'000);
    }
  }
}

TEST(Fits, ALongestRequestThatThePoolDoesNotHold) {
  const Texts small{{"model", "llama-3-8b"},
                    {"deployment.device", "l40s"},
                    {"engine.allow_long_max_model_len", "true"},
                    {"engine.max_model_len", "262144"}};
  const Obstacle tokens = expect_remedied(small, model::kLongestRequest, 2);
  EXPECT_EQ(tokens.need, 262'144);
  EXPECT_EQ(tokens.unit, Unit::kTokens);
  EXPECT_EQ(tokens.remedies[0], "engine.max_model_len=" + std::to_string(tokens.have));
  EXPECT_EQ(tokens.remedies[1], "deployment.tp=2");
  const auto still = [](Texts texts, const std::string& remedy) {
    const std::size_t equals = remedy.find('=');
    const std::int64_t more = parse_integer(remedy.substr(equals + 1)).value() + 1;
    texts.emplace_back("engine.max_model_len", std::to_string(more));
    return named(*obstacles(texts), model::kLongestRequest) != nullptr;
  };
  EXPECT_TRUE(still(small, tokens.remedies[0])) << "one token more";
  const Texts groups{{"model", "gemma-3-27b"},
                     {"deployment.device", "h100-sxm"},
                     {"memory.allocator", "grouped"},
                     {"engine.allow_long_max_model_len", "true"},
                     {"engine.max_model_len", "262144"}};
  const Obstacle blocks = expect_remedied(groups, model::kLongestRequest, 1);
  EXPECT_EQ(blocks.unit, Unit::kBlocks);
  EXPECT_TRUE(still(groups, blocks.remedies[0]));
}

TEST(Fits, APoolThatIsGivenHasNoStartToAskOf) {
  EXPECT_EQ(obstacles({{"model", "llama-3-8b"}, {"memory.pool_tokens", "1000"}}), std::nullopt);
  const RunResult r =
      report::testing::result_of(report::testing::small_settings(), report::testing::small_trace(), 0);
  EXPECT_EQ(r.starts, std::nullopt);
}

TEST(Fits, UnhinderedIsNeitherRejectedNorPreempted) {
  const auto of = [](const std::string& rows, const std::string& blocks) {
    return report::testing::result_of({{"memory.pool_blocks", blocks, {}, 0}},
                                      traces::testing::import_text(rows).value(), 0);
  };
  const std::string head = "arrival_ns,input_tokens,output_tokens\n";
  const std::string two = head + "0,60,60\n0,60,60\n";  // 15 blocks of 16 in the end
  EXPECT_EQ(of(two, "17").unhindered, true);
  const RunResult preempted = of(two, "13");
  EXPECT_GT(preempted.preemptions, 0);
  EXPECT_EQ(preempted.unhindered, false);
  const RunResult rejected = of(head + "0,60,60\n", "5");
  EXPECT_EQ(rejected.rejected, 1);
  EXPECT_EQ(rejected.unhindered, false);
  const RunResult none =
      report::testing::result_of({{"workload.limit", "0", {}, 0}}, report::testing::small_trace(), 0);
  EXPECT_EQ(none.unhindered, std::nullopt) << "nothing arrived";
}

TEST(Fits, ARunSaysObstacleNeedHaveAndRemedyInOneLine) {
  const std::string trace = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
  const Outcome outcome =
      run_kvplan("run '" + trace + "' --set model=llama-3-70b --set deployment.device=h100-sxm");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  for (const char* part : {"deployment: expected room for KV cache on h100-sxm: weights take 131.42 GiB",
                           " are needed, ", " are available, and 62.42 GiB are missing",
                           "; deployment.tp=2 would "
                           "fit, and so would deployment.weight_bits=8"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  const Outcome pool = run_kvplan(
      "pool --model llama-3-8b --device l40s --set engine.max_model_len=262144 --set "
      "engine.allow_long_max_model_len=true --json -");
  EXPECT_EQ(pool.exit_code, 0);
  EXPECT_NE(pool.out.find(
                "\"obstacles\": [\n    {\n      \"obstacle\": \"longest-request\",\n      \"need\": 262144,"),
            std::string::npos)
      << pool.out;
}

TEST(Fits, ASweepHasARowForWhatDoesNotStart) {
  const TemporaryFolder folder;
  const std::string trace = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
  const Outcome swept = run_kvplan("sweep '" + trace +
                                   "' --set workload.limit=20 --set deployment.device=h100-sxm --set "
                                   "engine.max_model_len=32768 --vary 'model=llama-3-8b;llama-3-70b' --vary "
                                   "'memory.allocator=paged;paged:block_tokens=12' --out " +
                                   folder.file("s.db"));
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  EXPECT_EQ(run_kvplan("report " + folder.file("s.db") +
                       " --heat fits.starts,model,memory.allocator "
                       "--heat-csv " +
                       folder.file("heat.csv"))
                .exit_code,
            0);
  const std::string csv = run_kvplan("report " + folder.file("s.db") + " --csv -").out;
  std::vector<std::vector<std::string>> rows;
  for (std::size_t at = 0; at < csv.size();) {
    const std::size_t end = csv.find('\n', at);
    auto& row = rows.emplace_back(1);
    bool quoted = false;
    for (; at < end; ++at) {
      if (csv[at] == '"')
        quoted = !quoted;
      else if (csv[at] == ',' && !quoted)
        row.emplace_back();
      else
        row.back() += csv[at];
    }
    at = end + 1;
  }
  ASSERT_EQ(rows.size(), 5U);
  const auto column = [&](std::string_view name) {
    for (std::size_t i = 0; i < rows[0].size(); ++i)
      if (rows[0][i] == name) return i;
    ADD_FAILURE() << name;
    return std::size_t{0};
  };
  const std::size_t starts = column("fits.starts");
  EXPECT_EQ(rows[1][starts], "1");
  EXPECT_EQ(rows[2][starts], "") << "blocks that the trace's hashes do not allow are no obstacle of a start";
  for (const std::size_t row : {3U, 4U}) {
    EXPECT_EQ(rows[row][column("status")], "failed");
    EXPECT_NE(rows[row][column("error")].find("deployment.tp=2 would fit"), std::string::npos);
    EXPECT_EQ(rows[row][starts], "0");
    for (std::size_t i = 5; i < rows[row].size(); ++i)
      if (i != starts) {
        EXPECT_EQ(rows[row][i], "") << rows[0][i];
      }
  }
}

}  // namespace
}  // namespace kvplan::runs
