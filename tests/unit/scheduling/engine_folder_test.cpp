// The contents of the engines' folders, compared with the scenario that uses them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "simulator/kernels/measured_engines.h"
#include "simulator/model/pool.h"
#include "simulator/scenario/scenario.h"
#include "simulator/scheduling/engines.h"
#include "simulator/scheduling/replay/engine_replay.h"
#include "simulator/scheduling/server_flags.h"

namespace kvplan::scheduling {
namespace {

runs::Setting set(const std::string& path, const std::string& text) {
  runs::Setting setting;
  setting.path = path;
  setting.text = text;
  return setting;
}

Result<runs::Scenario> resolved(const std::vector<runs::Setting>& settings) {
  return runs::resolve(settings);
}

/// The pool rule on a device.
std::string rule_of(std::vector<runs::Setting> settings) {
  settings.push_back(set("deployment.device", "h100-sxm"));
  const auto scenario = resolved(settings);
  return scenario.ok() ? scenario.value().text("deployment.pool_rule") : scenario.error().to_string();
}

TEST(Engines, HaveKernelsUnderTheNamesOfTheTables) {
  std::set<std::string_view> named;
  for (const Engine* engine : engines()) named.insert(engine->kernels);
  const auto& measured = kernels::kMeasuredEngines;
  EXPECT_EQ(named, std::set<std::string_view>(measured.begin(), measured.end()));
}

TEST(Engines, HaveReplaysOfDifferentNames) {
  std::size_t engines_with_replays = 0;
  for (const Engine* engine : engines()) {
    std::set<std::string_view> names;
    for (const replays::EngineReplay* replay : engine->replays)
      EXPECT_TRUE(names.insert(replay->name).second);
    engines_with_replays += names.empty() ? 0 : 1;
  }
  EXPECT_EQ(engines_with_replays, 2U);
}

TEST(PoolRule, IsThatOfTheEngineWithoutAnother) {
  EXPECT_EQ(rule_of({}), "vllm-v1:memory_utilization=0.9");
  EXPECT_EQ(rule_of({set("engine", "vllm-v1:max_seqs=8")}), "vllm-v1:memory_utilization=0.9");
  EXPECT_EQ(rule_of({set("engine", "sglang")}), "sglang:mem_fraction_static=0.835") << "of this device";
  EXPECT_EQ(rule_of({set("engine", "sglang:policy=lpm"), set("engine.policy", "fcfs")}),
            "sglang:mem_fraction_static=0.835");
  EXPECT_EQ(rule_of({set("engine", "sglang"), set("engine", "vllm-v1")}), "vllm-v1:memory_utilization=0.9");
  // Without a device there is nothing to divide.
  EXPECT_EQ(resolved({set("engine", "sglang")}).value().text("deployment.pool_rule"),
            "vllm-v1:memory_utilization=0.9");
  // A given rule stays, wherever it is given.
  for (const bool first : {true, false}) {
    std::vector<runs::Setting> settings{set("engine", "sglang"), set("deployment.pool_rule", "trt-llm")};
    if (first) std::swap(settings.front(), settings.back());
    EXPECT_EQ(rule_of(settings), "trt-llm:free_gpu_memory_fraction=0.9");
    settings = {set("engine", "sglang"), set("deployment.pool_rule.mem_fraction_static", "0.7")};
    if (first) std::swap(settings.front(), settings.back());
    EXPECT_EQ(rule_of(settings), "sglang:mem_fraction_static=0.7");
  }
  EXPECT_NE(rule_of({set("engine", "sglang"), set("deployment.pool_rule.memory_utilization", "0.7")})
                .find("unknown parameter"),
            std::string::npos);
}

TEST(PoolRule, IsToldWhereItComesFrom) {
  const auto from = [](std::vector<runs::Setting> settings) {
    settings.push_back(set("deployment.device", "h100-sxm"));
    const runs::Scenario s = resolved(settings).value();
    runs::Source::From out{};
    runs::each_source(s, [&](std::string_view path, const runs::Source& source) {
      if (path == "deployment.pool_rule") out = source.from;
    });
    return out;
  };
  EXPECT_EQ(from({}), runs::Source::From::kDefault);
  EXPECT_EQ(from({set("engine", "vllm-v1")}), runs::Source::From::kDefault);
  EXPECT_EQ(from({set("engine", "sglang")}), runs::Source::From::kDerived);
  EXPECT_EQ(from({set("engine", "sglang"), set("deployment.pool_rule", "sglang")}),
            runs::Source::From::kGiven);
}

/// A resolved scenario that was stored and is read again has its defaults written out.
TEST(PoolRule, OfAStoredScenarioFollowsAnotherEngine) {
  runs::Setting stored = set("deployment.pool_rule", "vllm-v1:memory_utilization=0.9");
  stored.origin = runs::Origin::kDefault;
  EXPECT_EQ(rule_of({stored, set("engine", "sglang")}), "sglang:mem_fraction_static=0.835");
  stored.text = "vllm-v1:memory_utilization=0.8";
  EXPECT_EQ(rule_of({stored}), "vllm-v1:memory_utilization=0.8");
  stored.origin = runs::Origin::kGiven;
  EXPECT_EQ(rule_of({stored, set("engine", "sglang")}), "vllm-v1:memory_utilization=0.8");
}

/// The pool of SGLang on a device, by its formula: free memory after loading, less a share of free memory before it.
TEST(PoolRule, OfSglangDividesADevice) {
  const runs::Scenario s =
      resolved({set("engine", "sglang"), set("deployment.device", "h100-sxm"), set("model", "llama-3-8b")})
          .value();
  ASSERT_TRUE(s.derives_pool);
  const model::Pool pool = model::derive_pool(*s.model, s.deployment).value();
  const auto item = [&](std::string_view name) {
    const auto found =
        std::ranges::find_if(pool.items, [&](const model::PoolItem& each) { return each.name == name; });
    return found == pool.items.end() ? std::int64_t{-1} : found->bytes;
  };
  const std::int64_t before = item("device memory") - item("context");
  const std::int64_t weights = item("weights");
  ASSERT_GT(weights, 16'000'000'000);  // 8.03 billion in 16 bits
  const double kept_free = static_cast<double>(before) * (1 - 0.835);
  EXPECT_EQ(pool.rank().pool_bytes,
            static_cast<std::int64_t>(std::floor(static_cast<double>(before - weights) - kept_free)));
  EXPECT_FALSE(pool.null_block);
}

/// SGLang's own share: the memory beside 512 MiB, 1.5 MiB a token of a chunk, 2 MiB a request in CUDA graphs and 1 GiB
/// for eight ranks; at least 10 GiB on large devices.
TEST(PoolRule, OfSglangReservesByTheDevice) {
  const auto share = [](const char* device, std::vector<runs::Setting> settings) {
    settings.insert(settings.begin(), {set("engine", "sglang"), set("deployment.device", device)});
    const std::string text = resolved(settings).value().text("deployment.pool_rule");
    return text.substr(text.find('=') + 1);
  };
  EXPECT_EQ(share("rtx-4090", {}), "0.847") << "24,564 MiB: 512 + 3,072 + 48 + 128";
  EXPECT_EQ(share("h100-sxm", {}), "0.835") << "81,559 MiB: 512 + 12,288 + 512 + 128";
  EXPECT_EQ(share("h100-sxm", {set("deployment.tp", "8")}), "0.818") << "512 + 12,288 + 1,024 + 1,024";
  EXPECT_EQ(share("h100-sxm", {set("engine.chunked_prefill_size", "2048")}), "0.874") << "10 GiB at least";
  EXPECT_EQ(share("h100-sxm", {set("deployment.pool_rule.mem_fraction_static", "0.9")}), "0.9");
}

/// Limits with which servers start on a device (start_ups.csv; get_batch_defaults).
TEST(Limits, AreThoseOfTheServerOnADevice) {
  const auto engine = [](std::vector<runs::Setting> settings) {
    return resolved(settings).value().text("engine");
  };
  const auto on = [&](const char* device) { return engine({set("deployment.device", device)}); };
  EXPECT_NE(on("h100-sxm").find("token_budget=8192,max_seqs=1024"), std::string::npos);
  EXPECT_NE(on("mi300x").find("token_budget=8192,max_seqs=1024"), std::string::npos);
  EXPECT_NE(on("a100-sxm-80").find("token_budget=2048,max_seqs=256"), std::string::npos);
  EXPECT_NE(on("l40s").find("token_budget=2048,max_seqs=256"), std::string::npos);
  EXPECT_NE(engine({}).find("token_budget=8192,max_seqs=256"), std::string::npos) << "without a device";
  EXPECT_NE(engine({set("deployment.device", "h100-sxm"), set("engine.max_seqs", "64")})
                .find("token_budget=8192,max_seqs=64"),
            std::string::npos);
  EXPECT_NE(
      engine({set("deployment.device", "l4"), set("engine", "sglang")}).find("chunked_prefill_size=2048"),
      std::string::npos);
  // The longest request is the model's.
  EXPECT_NE(
      engine({set("deployment.device", "h100-sxm"), set("model", "llama-2-7b")}).find("max_model_len=4096"),
      std::string::npos);
  EXPECT_NE(engine({set("model", "llama-2-7b")}).find("max_model_len=262144"), std::string::npos);
}

TEST(PoolRule, KnowsItsVersions) {
  const auto error = [](const char* rule) {
    const auto scenario = resolved({set("deployment.device", "h100-sxm"), set("deployment.pool_rule", rule)});
    return scenario.ok() ? std::string() : scenario.error().to_string();
  };
  for (const char* good : {"vllm-v1:version=0.11", "vllm-v1:version=v0.15.1", "vllm-v1:version=0.21.1rc1",
                           "vllm-v1:version=0.19.0.post1", "sglang:version=0.5.3"})
    EXPECT_EQ(error(good), "") << good;
  EXPECT_EQ(error("vllm-v1:version=0.10.2"),
            "deployment.pool_rule.version: expected a version of vLLM from 0.11 on, such as 0.19.0, found "
            "\"0.10.2\"");
  for (const char* bad :
       {"vllm-v1:version=19", "vllm-v1:version=latest", "vllm-v1:version=0.", "vllm-v1:version=0.19x"})
    EXPECT_NE(error(bad).find("expected a version of vLLM"), std::string::npos) << bad;
  EXPECT_NE(error("sglang:version=0.4.9").find("expected a version of SGLang from 0.5.3 on"),
            std::string::npos);
}

/// A value of a flag that has no default in the table.
std::string example_of(const ServerFlag& flag) {
  if (flag.path == "model") return "qwen2.5-7b";
  return flag.path.find("fraction") != std::string_view::npos ? "0.8" : "4096";
}

TEST(ServerFlags, SetWhatAScenarioHas) {
  std::size_t tables = 0;
  for (const Engine* engine : engines()) {
    if (engine->server_flags == nullptr) continue;
    ++tables;
    const std::string name(engine->scheduler->descriptor.name);
    std::set<std::string_view> spelt;
    for (const ServerFlag& flag : engine->server_flags()) {
      EXPECT_TRUE(spelt.insert(flag.flag).second) << flag.flag;
      const bool twice = !flag.alias.empty() && !spelt.insert(flag.alias).second;
      EXPECT_FALSE(twice) << flag.alias;
      std::vector<std::string> texts;
      for (const FlagValue& value : flag.values) texts.emplace_back(value.setting);
      if (!flag.sets.empty()) texts.emplace_back(flag.sets);
      if (flag.values.empty() && flag.sets.empty())
        texts.emplace_back(flag.fallback.empty() ? example_of(flag) : std::string(flag.fallback));
      for (const std::string& text : texts) {
        const auto scenario = resolved(
            {set("deployment.device", "h100-sxm"), set("engine", name), set(std::string(flag.path), text)});
        EXPECT_TRUE(scenario.ok()) << name << " " << flag.flag << ": " << scenario.error().to_string();
      }
      // A default is a value that the flag accepts; without one, a note says what happens.
      const auto is_default = [&](const FlagValue& value) { return value.flag == flag.fallback; };
      const bool has_default = !flag.values.empty() && !flag.fallback.empty();
      EXPECT_TRUE(!has_default || std::ranges::any_of(flag.values, is_default)) << flag.flag;
      const bool says_default = !flag.fallback.empty() || !flag.fallback_note.empty();
      EXPECT_TRUE(flag.values.empty() || says_default) << flag.flag;
    }
  }
  EXPECT_EQ(tables, 2U);
}

}  // namespace
}  // namespace kvplan::scheduling
