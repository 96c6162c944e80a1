// Runs on devices and ranks, with formats: the derived pool, the bytes of a rank, and what reports say about both.
#include <gtest/gtest.h>

#include <simdjson.h>

#include <algorithm>

#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

using testing::kMicroTrace;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

namespace dom = simdjson::dom;

const std::string kLimit = " --set workload.limit=300";

/// The JSON of `kvplan ARGUMENTS --json -`.
struct Answer {
  explicit Answer(const std::string& arguments) {
    const Outcome outcome = run_kvplan(arguments + " --json -");
    EXPECT_EQ(outcome.exit_code, 0) << arguments << ": " << outcome.err;
    text = outcome.out;
    EXPECT_EQ(parser.parse(text).get(root), simdjson::SUCCESS) << arguments;
  }
  [[nodiscard]] std::int64_t whole(const std::string& pointer) const {
    std::int64_t out = -1;
    EXPECT_EQ(root.at_pointer(pointer).get_int64().get(out), simdjson::SUCCESS) << pointer;
    return out;
  }
  [[nodiscard]] double number(const std::string& pointer) const {
    double out = -1;
    EXPECT_EQ(root.at_pointer(pointer).get_double().get(out), simdjson::SUCCESS) << pointer;
    return out;
  }
  [[nodiscard]] std::string json(const std::string& pointer) const {
    return simdjson::minify(root.at_pointer(pointer).value());
  }
  dom::parser parser;
  std::string text;
  dom::element root;
};

std::string run_of(const std::string& sets) {
  return "run '" + std::string(kMicroTrace) + "'" + kLimit + sets;
}

TEST(DeploymentRun, ThePoolIsThatOfTheCommand) {
  const std::string sets =
      " --set model=llama-3-70b --set deployment.device=H100 --set deployment.tp=4 --set deployment.pp=2"
      " --set format=fp8 --set deployment.weight_bits=8";
  const Answer run(run_of(sets));
  const Answer pool(
      "pool --model llama-3-70b --device h100-sxm --tp 4 --pp 2 --format fp8 --set deployment.weight_bits=8");
  EXPECT_EQ(run.whole("/memory/capacity_bytes"), pool.whole("/pool_bytes"));
  EXPECT_EQ(run.whole("/replicas/0/quanta"), pool.whole("/usable_blocks"));
  EXPECT_EQ(run.whole("/replicas/0/token_bytes"), 320 * 1024 / 2 / 2 / 4);
  EXPECT_EQ(run.whole("/replicas/0/token_bytes"), pool.whole("/token_bytes"));
  EXPECT_EQ(run.json("/deployment/derivation"), pool.json("/derivation"));
  EXPECT_EQ(run.whole("/deployment/all_token_bytes"), 320 * 1024 / 2);
  EXPECT_EQ(run.json("/scenario/deployment/device"), "\"h100-sxm\"") << "an alias is known by its name";
  EXPECT_EQ(run.json("/scenario/memory/pool_bytes"), "null");
  EXPECT_EQ(run.whole("/deployment/stage"), pool.whole("/stage"));
  std::int64_t sum = 0;
  dom::array lines;
  ASSERT_EQ(run.root.at_pointer("/deployment/derivation").get_array().get(lines), simdjson::SUCCESS);
  for (const dom::element line : lines) {
    const std::string_view part = line["part"].get_string().value();
    if (part == "taken" || part == "pool") sum += line["bytes"].get_int64().value();
  }
  EXPECT_EQ(sum, run.whole("/deployment/derivation/0/bytes"));
}

TEST(DeploymentRun, ThePoolFollowsTheAllocator) {
  const std::string small = "pool --model llama-3-8b --device h100-sxm";
  const Answer paged(small), blocks(small + " --set memory.allocator=paged:block_tokens=64");
  const Answer flag(small + " --block-tokens 64");
  EXPECT_EQ(paged.whole("/block_tokens"), 16);
  EXPECT_EQ(blocks.whole("/block_tokens"), 64);
  EXPECT_EQ(blocks.text, flag.text);
  EXPECT_EQ(blocks.whole("/block_bytes"), 64 * 131072);
  EXPECT_EQ(blocks.whole("/blocks"), blocks.whole("/pool_bytes") / (64 * 131072));
  EXPECT_EQ(blocks.whole("/usable_blocks"), blocks.whole("/blocks") - 1);
  const Answer range(small + " --set memory.allocator=contiguous");
  EXPECT_EQ(range.whole("/tokens"), range.whole("/pool_bytes") / 131072);
  for (const char* key : {"/block_tokens", "/blocks", "/usable_blocks", "/block_bytes"})
    EXPECT_EQ(range.json(key), "null") << key;
  const Outcome text = run_kvplan(small + " --set memory.allocator=contiguous");
  EXPECT_EQ(text.out.find("block"), std::string::npos) << text.out;
  const auto error = [&](const std::string& sets) {
    const Outcome outcome = run_kvplan(small + sets);
    EXPECT_EQ(outcome.exit_code, 2) << sets;
    return outcome.err;
  };
  EXPECT_EQ(error(" --set memory.allocator=vmm"),
            "kvplan: memory.allocator: expected an allocator that counts memory in tokens, found vmm, which "
            "counts memory in bytes\n");
  EXPECT_NE(error(" --set memory.allocator=no-cache").find("which has no KV cache"), std::string::npos);
  EXPECT_NE(error(" --set memory.allocator=no-cache:x=1").find("expected no parameter: no-cache has none"),
            std::string::npos);
  EXPECT_NE(error(" --block-tokens 8 --set memory.allocator=paged:block_tokens=64")
                .find("expected either --block-tokens"),
            std::string::npos);
}

TEST(DeploymentRun, GroupedPoolsAreCountedInBlocksOfAGroup) {
  const std::string gemma =
      " --set deployment.device=h100-sxm --set memory.allocator=grouped --set model=gemma-3-27b"
      " --set engine.allow_long_max_model_len=true --set engine.max_model_len=262144";
  const Answer pool("pool --device h100-sxm" + gemma);
  const Answer run(run_of(gemma + " --set workload.limit=10"));
  // 10 full layers and 52 with a window of 1,024: six groups of windows and one of full layers, room for 10 layers
  // each; 16 tokens of 16 heads of 128 + 128 elements of two bytes.
  EXPECT_EQ(pool.whole("/layer_groups"), 7);
  EXPECT_EQ(pool.whole("/block_bytes"), 10 * 16 * 16 * 256 * 2);
  EXPECT_EQ(pool.whole("/blocks"), pool.whole("/pool_bytes") / (10 * 16 * 16 * 256 * 2));
  EXPECT_EQ(run.whole("/replicas/0/quanta"), pool.whole("/usable_blocks"));
  EXPECT_EQ(pool.whole("/tokens"), pool.whole("/usable_blocks") / 7 * 16);
  // max_model_len is 262,144 tokens, a step has 8,192: 16,384 + 6 x (ceil((1,023 + 8,192) / 16) + 1).
  EXPECT_EQ(pool.whole("/longest_request_blocks"), 16384 + 6 * 577);
  EXPECT_DOUBLE_EQ(pool.number("/concurrency"),
                   static_cast<double>(pool.whole("/blocks")) / (16384 + 6 * 577));
  const std::string warning = "The pool holds " + std::to_string(pool.whole("/blocks")) +
                              " blocks, fewer than a single request of max_model_len (262144) may take "
                              "(19846): vLLM would not start.";
  EXPECT_NE(pool.json("/warnings").find(warning), std::string::npos) << pool.json("/warnings");
  EXPECT_NE(run.json("/warnings").find(warning), std::string::npos) << run.json("/warnings");
  const std::string shorter = " --set engine.max_model_len=150000";
  EXPECT_EQ(Answer(run_of(gemma + shorter)).json("/warnings").find("would not start"), std::string::npos);
  EXPECT_GT(Answer("pool --device h100-sxm" + gemma + shorter).number("/concurrency"), 1);
  // A window has its one block more where max_model_len is shorter: 512 + 6 x (512 + 1).
  const std::string capped = " --set engine.max_model_len=8192";
  EXPECT_EQ(Answer("pool --device h100-sxm" + gemma + capped).whole("/longest_request_blocks"), 3590);
  EXPECT_EQ(Answer("pool --device h100-sxm --pp 2" + gemma).whole("/layer_groups"), 7)
      << "of the whole model";
}

TEST(DeploymentRun, TheLongestRequestIsTheModels) {
  const Answer pool("pool --model llama-2-7b --device h100-sxm");
  EXPECT_EQ(pool.whole("/max_model_len"), 4096);
  EXPECT_EQ(pool.json("/warnings"), "[]");
  const TemporaryFolder folder;
  test::write_file(folder.file("config.json"),
                   R"({"model_type":"llama","num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,)"
                   R"("num_key_value_heads":4,"intermediate_size":128,"vocab_size":1000,)"
                   R"("max_position_embeddings":2048})");
  const std::string file = " --set deployment.device=h100-sxm --set model=" + folder.file("config.json");
  EXPECT_EQ(Answer("pool --device h100-sxm" + file).whole("/max_model_len"), 2048);
  const Answer run(run_of(file));
  EXPECT_EQ(run.whole("/scenario/engine/max_model_len"), 2048);
  EXPECT_GT(run.whole("/requests/rejected"), 0) << "some are longer";
  EXPECT_EQ(Answer(run_of(file + " --set engine.max_model_len=262144 --set "
                                 "engine.allow_long_max_model_len=true"))
                .whole("/requests/rejected"),
            0);
  const Outcome refused = run_kvplan(run_of(file + " --set engine.max_model_len=4096"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("engine.max_model_len: expected at most 2048, the longest request that "),
            std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("VLLM_ALLOW_LONG_MAX_MODEL_LEN=1"), std::string::npos) << refused.err;
}

TEST(DeploymentRun, DevicesAreSaidInPlaceOrInFiles) {
  const std::string card = "name=mine,total_bytes=25250627584,bandwidth=1008e9,bf16_flops=165.2e12";
  const TemporaryFolder folder;
  test::write_file(folder.file("card.json"), R"({"name":"mine","total_bytes":25250627584,"bandwidth":1008e9,)"
                                             R"("bf16_flops":165200000000000})");
  const Answer place("pool --model llama-3-8b --device '" + card + "'");
  const Answer file("pool --model llama-3-8b --device " + folder.file("card.json"));
  EXPECT_EQ(place.text, file.text);
  EXPECT_EQ(place.json("/device"), "\"mine\"");
  EXPECT_EQ(place.whole("/derivation/0/bytes"), 25250627584);
  const std::string model = " --set model=llama-3-8b";
  const Answer run(run_of(model + " --set deployment.device='" + card + "'"));
  const Answer same(run_of(model + " --set deployment.device=" + folder.file("card.json")));
  EXPECT_EQ(run.json("/memory"), same.json("/memory"));
  EXPECT_EQ(run.json("/scenario/deployment/device"), same.json("/scenario/deployment/device"))
      << "the report holds the figures";
  // In a scenario the file is beside it.
  test::write_file(folder.file("s.json"), R"({"model":"llama-3-8b","deployment":{"device":"card.json"},)"
                                          R"("workload":{"limit":10,"trace":")" +
                                              std::string(kMicroTrace) + R"("}})");
  EXPECT_EQ(Answer("run " + folder.file("s.json")).json("/scenario/deployment/device"),
            run.json("/scenario/deployment/device"));
  const auto error = [&](const std::string& device) {
    const Outcome outcome = run_kvplan("pool --device '" + device + "'");
    EXPECT_EQ(outcome.exit_code, 2) << device;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << device;
    return outcome.err;
  };
  EXPECT_NE(error("total_bytes=80").find("deployment.device: total_bytes: expected a whole number"),
            std::string::npos);
  EXPECT_NE(error("/nowhere/card.json").find("/nowhere/card.json"), std::string::npos);
  EXPECT_NE(error("h100-sxn").find("did you mean"), std::string::npos);
}

TEST(DeploymentRun, ThePoolSaysItsVersionAndItsInterval) {
  const std::string small = "pool --model llama-3-8b --device h100-sxm --set engine.max_model_len=8192";
  const Answer pool(small + " --set deployment.pool_rule.memory_utilization=0.95");
  // A start-up of this model with these flags has 29,751 blocks (start_ups.csv).
  EXPECT_NEAR(static_cast<double>(pool.whole("/blocks")), 29751, 0.01 * 29751);
  const std::int64_t bytes = pool.whole("/pool_bytes");
  EXPECT_LE(pool.whole("/pool_bytes_low"), bytes);
  EXPECT_GE(pool.whole("/pool_bytes_high"), bytes);
  const Outcome text = run_kvplan(small + " --set deployment.pool_rule.memory_utilization=0.95");
  EXPECT_NE(text.out.find("KV pool             58.1 GiB (57.8 to 58.2)"), std::string::npos) << text.out;
  const auto said = [](const std::string& version) {
    return Answer(run_of(" --set deployment.device=h100-sxm" + version)).json("/assumptions");
  };
  EXPECT_NE(said("").find("(vLLM 0.19.0, the newest version with measured start-ups)"), std::string::npos);
  EXPECT_NE(said(" --set deployment.pool_rule.version=0.21.0").find("CUDA graphs are subtracted"),
            std::string::npos);
  EXPECT_LT(Answer(small + " --set deployment.pool_rule.version=0.21.0").whole("/blocks"),
            Answer(small).whole("/blocks"));
  EXPECT_LT(Answer(small + " --set deployment.pool_rule.version=0.16.0").whole("/blocks"),
            Answer(small + " --set deployment.pool_rule.version=0.17.0").whole("/blocks"));
}

TEST(DeploymentRun, GivenPoolsAndNoDeviceAreAsEver) {
  const Answer plain(run_of(""));
  EXPECT_EQ(plain.whole("/memory/capacity_bytes"), std::int64_t{48} << 30);
  EXPECT_EQ(plain.json("/deployment/derivation"), "[]");
  EXPECT_EQ(plain.whole("/deployment/replicated_token_bytes"), 0);
  const Answer same(run_of(" --set format=bf16"));
  for (const char* part : {"/memory", "/latency_s", "/tokens", "/throughput", "/deployment", "/replicas"})
    EXPECT_EQ(plain.json(part), same.json(part)) << part;
  // The default roofline is an H100's, so a device only changes the pool.
  const Answer device(run_of(
      " --set deployment.device=h100-sxm --set memory.pool_bytes=51539607552 --set latency=roofline"
      " --set "
      "engine=vllm-v1:token_budget=8192,max_seqs=256,max_model_len=262144,allow_long_max_model_len=true"));
  for (const char* part : {"/memory", "/latency_s", "/tokens", "/throughput", "/deployment", "/replicas"})
    EXPECT_EQ(plain.json(part), device.json(part)) << part;
  EXPECT_EQ(device.json("/scenario/latency/bandwidth"), "3350000000000");
  const Answer other(run_of(" --set deployment.device=mi300x --set latency.flops=1e15"));
  EXPECT_EQ(other.json("/scenario/latency/bandwidth"), "5300000000000");
  EXPECT_EQ(other.number("/scenario/latency/flops"), 1e15) << "what is given stays";
}

TEST(DeploymentRun, SteppingIsTheSameAndScalesAreMetadata) {
  const TemporaryFolder folder;
  for (const char* sets :
       {" --set format=int4 --set memory.pool_tokens=20000",
        " --set format=int4 --set memory.pool_tokens=20000 --set eviction=window:window=200",
        " --set format=int4 --set memory.pool_tokens=20000 --set eviction=window:window=200,placement=reuse",
        " --set format=fp4 --set memory.pool_tokens=20000 --set memory.allocator=contiguous:reserve=oracle"
        " --set eviction=streaming-llm:sink=4,recent=100",
        " --set format=fp8_ds_mla --set model=deepseek-v3 --set memory.pool_tokens=20000 --set "
        "deployment.tp=8"
        " --set fleet.replicas=2",
        " --set format=int4 --set memory.pool_tokens=40000 --set memory.allocator=vmm:page_kib=64 --set "
        "deployment.tp=2",
        " --set format=fp4 --set memory.pool_tokens=40000 --set memory.allocator=vmm --set deployment.pp=4"
        " --set eviction=window:window=200,placement=holes",
        " --set format=int8:group=64 --set memory.pool_tokens=40000 --set "
        "memory.allocator=caching:reserve=oracle"
        " --set deployment.tp=4 --set deployment.pp=2"}) {
    const std::string run = run_of(sets);
    const Answer fast(run + " --timeline " + folder.file("fast.csv"));
    const Answer slow(run + " --step-by-step --timeline " + folder.file("slow.csv"));
    EXPECT_EQ(fast.text, slow.text) << sets;
    EXPECT_EQ(read_file(folder.file("fast.csv")), read_file(folder.file("slow.csv"))) << sets;
    const double live = fast.number("/memory/mean_bytes/live");
    const auto beside = static_cast<double>(fast.whole("/replicas/0/metadata_bytes_per_token"));
    const auto place = static_cast<double>(fast.whole("/replicas/0/token_bytes"));
    EXPECT_GT(beside, 0) << sets;
    EXPECT_NEAR(fast.number("/memory/mean_bytes/metadata"), live * beside / (place - beside), live * 1e-12)
        << sets;
  }
}

TEST(DeploymentRun, WhatIsStoredAgainStandsBeside) {
  const Answer heads(run_of(
      " --set model=llama-3-70b --set deployment.tp=16 --set memory.pool_tokens=100000 --set format=int4"));
  // 16 ranks with one of 8 heads each: every head is stored twice.
  EXPECT_EQ(heads.whole("/deployment/all_token_bytes"), 16 * heads.whole("/deployment/token_bytes"));
  EXPECT_EQ(2 * heads.whole("/deployment/replicated_token_bytes"),
            heads.whole("/deployment/all_token_bytes"));
  const double rank_bytes =
      heads.number("/memory/mean_bytes/live") + heads.number("/memory/mean_bytes/metadata");
  EXPECT_NEAR(heads.number("/deployment/replicated_mean_bytes"), 8 * rank_bytes, rank_bytes * 1e-9);
  EXPECT_EQ(heads.whole("/deployment/replicated_peak_bytes"),
            8 * (heads.whole("/memory/peak/bytes/live") + heads.whole("/memory/peak/bytes/metadata")));
  const Answer latent(
      run_of(" --set model=deepseek-v3 --set deployment.tp=4 --set memory.pool_tokens=100000"));
  EXPECT_EQ(latent.whole("/deployment/replicated_token_bytes"), 3 * 70272);
}

TEST(DeploymentRun, BinaryReportsHaveTheSame) {
  const TemporaryFolder folder;
  const Answer run(
      run_of(" --set deployment.device=l40s --set deployment.tp=2 --report " + folder.file("r.kvr")));
  EXPECT_EQ(run_kvplan("convert " + folder.file("r.kvr") + " " + folder.file("r.json")).exit_code, 0);
  EXPECT_EQ(read_file(folder.file("r.json")), run.text);
}

TEST(DeploymentRun, TextAndPagesShowTheDerivation) {
  const TemporaryFolder folder;
  const Outcome outcome =
      run_kvplan(run_of(" --set deployment.device=h200-sxm --verbose --html " + folder.file("r.html")));
  EXPECT_NE(outcome.out.find("Where the pool comes from"), std::string::npos);
  EXPECT_NE(outcome.out.find("KV pool"), std::string::npos);
  EXPECT_NE(outcome.out.find("Of these, graphs is\n  assumed."), std::string::npos);
  EXPECT_NE(read_file(folder.file("r.html")).find("Where the pool comes from"), std::string::npos);
  EXPECT_EQ(run_kvplan(run_of(" --verbose")).out.find("Where the pool"), std::string::npos);
}

TEST(DeploymentRun, ErrorsAreOneLine) {
  const auto error = [](const std::string& sets) {
    const Outcome outcome = run_kvplan(run_of(sets));
    EXPECT_EQ(outcome.exit_code, 2) << sets;
    return outcome.err;
  };
  EXPECT_NE(error(" --set deployment.device=h200").find("deployment.device: unknown device \"h200\""),
            std::string::npos);
  EXPECT_NE(error(" --set deployment.pp=33").find("deployment.pp: expected at most as many stages"),
            std::string::npos);
  EXPECT_NE(error(" --set model=opt-175b --set deployment.device=l40s").find("deployment.tp=16 would fit"),
            std::string::npos);
  EXPECT_NE(error(" --set format=fp8_ds_mla").find("format: fp8_ds_mla: expected a model with a latent"),
            std::string::npos);
  const Outcome heads = run_kvplan("run " KVPLAN_SOURCE_DIR
                                   "/simulator/examples/replay/h2o.json --set deployment.tp=2"
                                   " --set memory.allocator=paged:table=head");
  EXPECT_EQ(heads.exit_code, 2);
  EXPECT_NE(
      heads.err.find(
          "deployment: a deployment with ranks that share no block tables does not work with eviction=h2o"),
      std::string::npos);
  const Outcome uneven =
      run_kvplan("run " KVPLAN_SOURCE_DIR "/simulator/examples/replay/h2o.json --set format=int4:group=7");
  EXPECT_EQ(uneven.exit_code, 0) << uneven.err << "a group lies in one head, so that heads are alike";
  const Outcome pool = run_kvplan("pool --model llama-3-8b --device h100-sxm --set memory.pool_tokens=5");
  EXPECT_EQ(pool.err, "kvplan: memory: expected no pool size: this command computes it\n");
  EXPECT_NE(run_kvplan("pool --model llama-3-8b").err.find("--device is required"), std::string::npos);
}

}  // namespace
}  // namespace kvplan::report
