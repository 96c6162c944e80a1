// Commands that start servers: read as by a shell and the engines' parsers, and unchanged by a round trip.
#include <gtest/gtest.h>

#include "simulator/launch/export.h"
#include "simulator/launch/from_command.h"
#include "tests/unit/launch/commands.h"
#include "tests/unit/traces/support.h"

namespace kvplan::launch {
namespace {

using testing::kSglang;
using testing::kVllm;
using testing::PublicCommand;
using traces::testing::run_kvplan;

FromCommand read(std::string_view command, const std::string& device = "h100-sxm") {
  auto out = from_command(command, {"", device});
  EXPECT_TRUE(out.ok()) << command << "\n" << (out.ok() ? "" : out.error().to_string());
  return out.ok() ? std::move(out).value() : FromCommand{};
}
std::string error_of(std::string_view command) {
  const auto out = from_command(command, {"", "h100-sxm"});
  return out.ok() ? "no error" : out.error().to_string();
}
runs::Scenario scenario_of(const FromCommand& command) {
  auto out = runs::resolve(command.settings);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().to_string());
  return std::move(out).value();
}
std::string text_at(const FromCommand& command, std::string_view path) {
  return std::string(scenario_of(command).text(path));
}

TEST(ShellWords, AreThoseOfAShell) {
  const auto words = [](std::string_view text) { return shell_words(text).value(); };
  using Words = std::vector<std::string>;
  EXPECT_EQ(words("a  b\tc\n"), (Words{"a", "b", "c"}));
  EXPECT_EQ(words("a 'b c' \"d \\\"e\\\"\" f\\ g ''"), (Words{"a", "b c", "d \"e\"", "f g", ""}));
  EXPECT_EQ(words("a \\\n  --b c # comment\n--d"), (Words{"a", "--b", "c", "--d"}));
  EXPECT_EQ(words("a b & c"), (Words{"a", "b"}));
  EXPECT_EQ(words("a > log 2>&1"), (Words{"a"}));
  EXPECT_EQ(words("a --x='{\"k\": [1, 2]}'"), (Words{"a", "--x={\"k\": [1, 2]}"}));
  EXPECT_EQ(words(""), Words{});
  EXPECT_NE(shell_words("a 'b").error().to_string().find("character 3"), std::string::npos);
}

TEST(Commands, PublicOnesAreReadAndEveryFlagIsKnown) {
  for (const auto& list : {kVllm, kSglang}) {
    for (const PublicCommand& each : list) {
      const FromCommand command = read(each.text);
      EXPECT_TRUE(command.unknown.empty()) << each.text << "\n"
                                           << (command.unknown.empty() ? "" : command.unknown.front().flag);
      EXPECT_FALSE(command.model.empty()) << each.text;
    }
  }
}

/// Command to scenario to command to scenario: the scenarios are equal, and so are all later commands.
TEST(Commands, PublicOnesSurviveARoundTrip) {
  for (const auto& list : {kVllm, kSglang}) {
    for (const PublicCommand& each : list) {
      const FromCommand first = read(each.text);
      const runs::Scenario scenario = scenario_of(first);
      const auto servers = servers_of(scenario);
      ASSERT_TRUE(servers.ok());
      const std::string command = command_text(servers.value());
      const FromCommand second = read(command);
      EXPECT_TRUE(second.unknown.empty() && second.affecting.empty() && second.ignored.empty()) << command;
      const runs::Scenario again = scenario_of(second);
      const auto fields = runs::scenario_fields();
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (fields[i].path != "model") {
          EXPECT_EQ(scenario.texts[i], again.texts[i]) << fields[i].path << "\n"
                                                       << each.text << "\n"
                                                       << command;
        }
      EXPECT_EQ(command_text(servers_of(again).value()), command);
    }
  }
}

TEST(Commands, FlagsMeanWhatTheEngineSays) {
  const FromCommand vllm = read(
      "CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-32B -tp 2 --max-model-len 25.6k --max_num_seqs=64 "
      "--no-enable-prefix-caching --enforce-eager --gpu-memory-util 0.85 --quantization fp8 --block-size 32");
  EXPECT_EQ(text_at(vllm, "deployment.tp"), "2");
  const std::string engine = text_at(vllm, "engine");
  EXPECT_NE(engine.find("max_model_len=25600"), std::string::npos) << engine;
  EXPECT_NE(engine.find("max_seqs=64"), std::string::npos) << engine;
  EXPECT_NE(engine.find("prefix_cache=false"), std::string::npos) << engine;
  EXPECT_NE(engine.find("token_budget=8192"), std::string::npos) << "the default on an H100: " << engine;
  EXPECT_NE(text_at(vllm, "deployment.pool_rule").find("memory_utilization=0.85"), std::string::npos);
  EXPECT_EQ(text_at(vllm, "deployment.weight_bits"), "8");
  EXPECT_EQ(text_at(vllm, "deployment.graph_bytes"), "0");
  EXPECT_EQ(text_at(vllm, "memory.allocator").substr(0, 21), "paged:block_tokens=32");
  EXPECT_NE(text_at(read("vllm serve Qwen/Qwen3-32B", "l40s"), "engine").find("token_budget=2048"),
            std::string::npos);
  EXPECT_NE(text_at(read("vllm serve Qwen/Qwen3-32B", "a100-sxm-80"), "engine").find("max_seqs=256"),
            std::string::npos);

  const FromCommand sglang = read(
      "python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4 --chunked-prefill-size -1 "
      "--schedule-policy lpm --disable-cuda-graph");
  EXPECT_NE(text_at(sglang, "engine").find("chunked_prefill_size=0"), std::string::npos);
  EXPECT_NE(text_at(sglang, "engine").find("policy=lpm"), std::string::npos);
  EXPECT_EQ(text_at(sglang, "memory.allocator").substr(0, 20), "paged:block_tokens=1");
  // A model with windows has the allocator of groups.
  EXPECT_TRUE(text_at(read("vllm serve openai/gpt-oss-120b"), "memory.allocator").starts_with("grouped"));
}

TEST(Commands, WhatIsNotModelledIsListed) {
  const FromCommand command = read(
      "vllm serve RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8 --cpu-offload-gb 4 --port 9000 --max-nun-seqs 3 "
      "--kv-cache-dtype fp8_inc --no-enable-chunked-prefill --enable-chunked-prefill");
  ASSERT_EQ(command.affecting.size(), 3U);
  EXPECT_EQ(command.affecting[0].flag, "--cpu-offload-gb 4");
  EXPECT_EQ(command.affecting[1].flag, "--kv-cache-dtype fp8_inc");
  EXPECT_EQ(command.ignored, (std::vector<std::string>{"--port 9000", "--enable-chunked-prefill"}));
  ASSERT_EQ(command.unknown.size(), 1U);
  EXPECT_NE(command.unknown[0].why.find("--max-num-seqs"), std::string::npos);
  EXPECT_EQ(text_at(command, "deployment.weight_bits"), "8");
  ASSERT_FALSE(command.notes.empty());
  EXPECT_NE(command.notes[0].find("is taken for"), std::string::npos);
  // A distilled model has another shape.
  const FromCommand distilled = read("vllm serve deepseek-ai/DeepSeek-R1-Distill-Qwen-7B");
  ASSERT_EQ(distilled.missing.size(), 1U);
  EXPECT_NE(distilled.missing[0].find("is not bundled"), std::string::npos);
}

TEST(Commands, VariablesOfTheEnvironmentAreSettings) {
  const std::string long_one = "--max-model-len 100000 -pp 2";
  EXPECT_NE(error_of("vllm serve Qwen/Qwen3-32B " + long_one).find("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"),
            std::string::npos);
  EXPECT_NE(error_of("VLLM_ALLOW_LONG_MAX_MODEL_LEN=0 vllm serve Qwen/Qwen3-32B " + long_one)
                .find("engine.allow_long_max_model_len=true"),
            std::string::npos);
  // The model's own length is another one there.
  EXPECT_EQ(error_of("vllm serve Qwen/Qwen3-32B --hf-overrides '{\"rope_parameters\": {}}' " + long_one),
            "no error");
  for (const std::string& before :
       {std::string("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 VLLM_PP_LAYER_PARTITION=24,40 OTHER=x vllm serve"),
        std::string("docker run -e VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 --env=VLLM_PP_LAYER_PARTITION=24,40 "
                    "--gpus all vllm/vllm-openai:v0.15.1 --model")}) {
    const FromCommand command = read(before + " Qwen/Qwen3-32B " + long_one);
    EXPECT_EQ(text_at(command, "deployment.pp_layers"), "24,40") << before;
    EXPECT_NE(text_at(command, "engine").find("allow_long_max_model_len=true"), std::string::npos) << before;
    const Servers servers = servers_of(scenario_of(command)).value();
    const std::string text = command_text(servers);
    EXPECT_EQ(text.find("VLLM_PP_LAYER_PARTITION=24,40 \\\nVLLM_ALLOW_LONG_MAX_MODEL_LEN=1 \\\nvllm serve"),
              0U)
        << text;
    EXPECT_EQ(command_text(servers_of(scenario_of(read(text))).value()), text);
    EXPECT_NE(
        kubernetes_text(servers).find("        env:\n        - name: VLLM_PP_LAYER_PARTITION\n          "
                                      "value: \"24,40\"\n"),
        std::string::npos)
        << kubernetes_text(servers);
    EXPECT_NE(compose_text(servers).find("    environment:\n      VLLM_PP_LAYER_PARTITION: \"24,40\"\n"),
              std::string::npos)
        << compose_text(servers);
  }
  const FromCommand sglang = read(
      "SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION=1024 SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=true python3 -m "
      "sglang.launch_server --model-path Qwen/Qwen3-32B --context-length 50000");
  EXPECT_NE(text_at(sglang, "engine").find("clip_tokens=1024"), std::string::npos);
  EXPECT_NE(text_at(sglang, "engine").find("allow_longer_context_len=true"), std::string::npos);
  EXPECT_EQ(
      command_text(servers_of(scenario_of(sglang)).value())
          .find("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 \\\nSGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION=1024 "
                "\\\npython"),
      0U);
}

TEST(Commands, MistakesAreNamed) {
  EXPECT_NE(error_of("python x.py").find("expected a command with vllm serve"), std::string::npos);
  EXPECT_NE(error_of("").find("expected a command"), std::string::npos);
  EXPECT_NE(error_of("vllm serve a --max-num-seqs").find("--max-num-seqs: expected a value"),
            std::string::npos);
  EXPECT_NE(error_of("vllm serve a b").find("belongs to none"), std::string::npos);
  EXPECT_NE(error_of("vllm serve a --max-num-seqs many").find("max_seqs"), std::string::npos);
  EXPECT_NE(error_of("vllm serve 'a").find("quote"), std::string::npos);
}

TEST(Exports, ManifestsHaveEveryServerItsGpusAndTheContract) {
  std::vector<runs::Setting> settings{{"model", "llama-3.1-70b", {}, 0},
                                      {"deployment.device", "h100-sxm", {}, 0},
                                      {"deployment.tp", "4", {}, 0},
                                      {"deployment.weight_bits", "8", {}, 0},
                                      {"fleet.replicas", "3", {}, 0}};
  const Servers servers = servers_of(runs::resolve(settings).value()).value();
  EXPECT_EQ(servers.count, 3);
  EXPECT_EQ(servers.gpus_of_server, 4);
  const PoolContract pool{242368, 230000, 250000};
  const std::string command = export_text(servers, "vllm", pool).value();
  EXPECT_NE(command.find("# 3 servers of 4 h100-sxm"), std::string::npos) << command;
  // Version and image are those of the rule by which the pool was derived: other versions have other pools.
  EXPECT_NE(command.find("h100-sxm, vLLM 0.19.0.\n"), std::string::npos) << command;
  EXPECT_NE(command.find("# The flags are those of vLLM 0.15.1.\n"), std::string::npos) << command;
  EXPECT_NE(command.find("between 230,000 and 250,000 tokens"), std::string::npos) << command;
  EXPECT_NE(command.find("vllm serve meta-llama/Llama-3.1-70B \\"), std::string::npos) << command;
  EXPECT_NE(command.find("--quantization fp8"), std::string::npos) << command;
  // Comments in it make no difference.
  EXPECT_EQ(text_at(read(command), "deployment.tp"), "4");
  const std::string kubernetes = export_text(servers, "kubernetes", pool).value();
  EXPECT_NE(kubernetes.find("replicas: 3"), std::string::npos);
  EXPECT_NE(kubernetes.find("nvidia.com/gpu: 4"), std::string::npos);
  const std::string compose = export_text(servers, "compose", pool).value();
  EXPECT_NE(compose.find("server-3:"), std::string::npos);
  EXPECT_NE(compose.find("vllm/vllm-openai:v0.19.0"), std::string::npos) << compose;
  settings.push_back({"deployment.pool_rule", "vllm-v1:version=v0.15.1", {}, 0});
  const Servers older = servers_of(runs::resolve(settings).value()).value();
  EXPECT_NE(export_text(older, "kubernetes", pool).value().find("vllm/vllm-openai:v0.15.1"),
            std::string::npos);
  EXPECT_EQ(export_text(older, "vllm", pool).value().find("The flags are those"), std::string::npos);
  EXPECT_NE(compose.find("device_ids: [\"8\", \"9\", \"10\", \"11\"]"), std::string::npos) << compose;
  EXPECT_NE(compose.find("\"8002:8000\""), std::string::npos);
  EXPECT_NE(export_text(servers, "sglang", pool).error().to_string().find("--set engine=sglang"),
            std::string::npos);
  EXPECT_NE(export_text(servers, "helm", pool).error().to_string().find("expected one of vllm, sglang"),
            std::string::npos);
  settings.push_back({"fleet.router", "vllm-dp", {}, 0});
  const Servers one = servers_of(runs::resolve(settings).value()).value();
  EXPECT_EQ(one.count, 1);
  EXPECT_EQ(one.gpus_of_server, 12);
  EXPECT_NE(command_text(one).find("--data-parallel-size 3"), std::string::npos);
}

TEST(ScenarioCommand, WritesAScenarioThatRuns) {
  const traces::testing::TemporaryFolder folder;
  const std::string file = folder.file("s.json");
  const auto made = run_kvplan(
      "scenario from-command 'vllm serve Qwen/Qwen3-8B --max-num-seqs 32' --device l40s -o '" + file + "'");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("max_seqs=32"), std::string::npos);
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,10,5\n");
  const auto ran = run_kvplan("run '" + file + "' --set workload.trace='" + folder.file("t.csv") + "'");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

}  // namespace
}  // namespace kvplan::launch
