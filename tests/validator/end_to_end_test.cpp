// The complete way with the programs alone: kvplan run writes a log, kvplan-validate replays it. The log has the same
// bytes whether the engine ran fast or step by step.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/sanitized.h"

namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int run(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Runs of all kinds are divided among this many tests, because together they would take minutes.
constexpr int kShares = 8;
/// With sanitizers each test takes a minute, so only every n-th is run.
constexpr int kEach = KVPLAN_SHADOW_MEMORY != 0 ? 3 : 1;
class EndToEndLogs : public testing::TestWithParam<int> {};

TEST_P(EndToEndLogs, OfTheSampleReplayEqual) {
  const std::string folder = testing::TempDir() + "kvplan_end_to_end_" + std::to_string(::getpid()) + "_" +
                             std::to_string(GetParam());
  std::filesystem::create_directories(folder);
  const std::string programs = KVPLAN_PROGRAM_DIR;
  const std::string run_it = programs + "/kvplan run " + KVPLAN_SOURCE_DIR;
  const std::string sample = run_it + "/traces/samples/chat.kvt --set workload.limit=200 ";
  const std::string replay = run_it + "/simulator/examples/replay/h2o.json ";
  const std::string golden = run_it + "/tests/golden/replay/requests.csv --set memory.pool_tokens=90 " +
                             "--set workload.attention=" + KVPLAN_SOURCE_DIR + "/tests/golden/replay/A.kva," +
                             KVPLAN_SOURCE_DIR +
                             "/tests/golden/replay/E.kva --set memory.allocator=paged:block_tokens=4 ";
  const std::string counted = sample + "--set workload.limit=80 --set memory.pool_tokens=6000 --set ";
  const std::string few = sample + "--set workload.limit=12 --set memory.pool_tokens=3000 --set ";
  const std::string groups = sample + "--set memory.pool_tokens=9000 --set memory.allocator=grouped --set " +
                             "engine=vllm-v1:prefix_cache=false --set model=";
  const std::string by_layer = "--set memory.allocator=paged:block_tokens=8,table=layer";
  const std::string by_head = "--set memory.allocator=paged:block_tokens=8,table=head";
  const std::string pyramid = "--set budget=pyramidkv:capacity=90,window=8,beta=6";
  std::string gates = "[";
  for (int layer = 0; layer < 32; ++layer)
    gates += (layer == 0 ? "[1,0,0," : ",[1,0,0,") + std::to_string(layer % 3) + ",0,1,0,1]";
  const std::string duo = "'eviction=duo-attention:sink=4,recent=60,gates=" + gates + "],placement=";
  // Requests with one prompt, which keep the sets that an evaluation kept.
  const std::string recording = std::string(KVPLAN_SOURCE_DIR) + "/simulator/examples/replay/attention.kva";
  std::ofstream(folder + "/own.csv")
      << "arrival_ns,input_tokens,output_tokens\n0,100,29\n5000000,100,7\n9000000,100,20\n";
  ASSERT_EQ(
      run(programs + "/kvplan evict " + recording + " --policy ada-kv:window=4,capacity=40 --prefill 100 " +
          "--all-layers --json " + folder + "/sets.json >/dev/null"),
      0);
  const std::string own = programs + "/kvplan run " + folder +
                          "/own.csv --set workload.attention=" + recording +
                          " --set model=recording --set memory.pool_tokens=2000 --set " +
                          "eviction=recorded:file=" + folder + "/sets.json,placement=";
  const std::string standing = programs + "/kvplan run " + folder +
                               "/own.csv --set workload.attention=" + KVPLAN_SOURCE_DIR +
                               "/traces/samples/tiny_llama.kva@0 " +
                               "--set workload.extrapolation=shape --set memory.pool_tokens=1500 --set ";
  const std::string windows = few + "eviction=random:budget=64 --set deployment.tp=2 " + by_layer +
                              " --set workload.limit=3 --set model=";
  int number = 0;
  for (const std::string& start :
       {sample + "--set memory.pool_tokens=16000",
        sample + "--set memory.pool_tokens=30000 --set eviction=streaming-llm:sink=5,recent=200",
        sample + "--set memory.pool_tokens=16000 --set memory.replacement=s3fifo",
        sample + "--set memory.pool_tokens=16000 --set memory.replacement=ttl:life_s=2 " +
            "--set eviction=streaming-llm:sink=5,recent=200",
        sample + "--set memory.pool_tokens=60000 --set memory.allocator=contiguous:reserve=pow2 " +
            "--set eviction=window:window=64",
        sample + "--set memory.pool_tokens=16000 --set memory.allocator=growing:slack=20,factor=1.5",
        sample + "--set memory.pool_tokens=16000 --set memory.allocator=growing:in_place=false,step=40",
        groups + "gemma-3-27b", groups + "gemma-3-27b --set deployment.pp=4",
        groups + "mistral-7b --set format=int4", groups + "gemma-3-27b --set engine.prefix_cache=true",
        groups +
            "gpt-oss-20b --set engine.prefix_cache=true --set memory.replacement=lru-k --set format=int4",
        sample + "--set memory.pool_tokens=20000 --set " +
            "memory.allocator=contiguous:fit=best,reserve=oracle,compact=on-refusal",
        sample + "--set memory.pool_tokens=20000 --set eviction=window:window=64,placement=reuse",
        // Scales stored with tokens, with and without courses; one rank of several.
        sample + "--set memory.pool_tokens=16000 --set format=int4",
        sample + "--set memory.pool_tokens=16000 --set format=fp4 --set eviction=window:window=64",
        sample + "--set memory.pool_tokens=16000 --set format=int4 --set deployment.tp=4 " +
            "--set eviction=window:window=64,placement=reuse",
        sample + "--set model=llama-3-70b --set deployment.device=l40s --set deployment.tp=8", replay,
        replay + "--set format=int4", replay + "--set eviction.placement=reuse",
        replay + "--set eviction=tova:budget=20 --set memory.allocator=contiguous",
        golden + "--set eviction=h2o:hh=4,recent=4",
        // Survivors that move together: counted, with numbers from lengths, with numbers from recordings.
        counted + "eviction=h2o:hh=100,recent=100,placement=compact",
        counted + "eviction=h2o:hh=100,recent=100,placement=compact --set deployment.tp=4 --set format=int4",
        counted + "eviction=tova:budget=90,placement=compact --set latency=roofline",
        counted + "eviction=scissorhands:budget=64,drop=1,placement=compact",
        counted + "eviction=snapkv:window=32,capacity=200,placement=compact",
        counted + "eviction=pyramidkv:window=8,capacity=128,beta=10,placement=compact",
        counted + "eviction=window:window=64,placement=compact",
        // Numbers that rise and fall, or depend on the prompt.
        counted + "eviction=seed-ring:window=64,chunk=16,placement=compact",
        counted + "eviction=scissorhands:budget=64,drop=20,placement=compact --set deployment.tp=2",
        counted + "eviction=keyformer:kv_percent=30,placement=compact --set format=int4",
        counted + "eviction=observed-attention:ratio=0.7,placement=compact",
        counted + "eviction=pyramidinfer:placement=compact --set deployment.pp=2",
        few + "eviction=pyramidinfer:ratio=0.3,placement=compact " + by_layer,
        few + "eviction=r-kv:window=8,budget=100,every=24,placement=compact " + by_layer,
        counted + "eviction=streaming-llm:sink=4,recent=60,placement=compact",
        replay + "--set eviction.placement=compact",
        replay + "--set eviction.placement=compact --set format=int4",
        replay + "--set eviction=tova:budget=20,placement=compact",
        replay + "--set eviction=pyramidkv:window=4,capacity=16,beta=5,placement=compact",
        golden + "--set eviction=h2o:hh=4,recent=4,placement=compact",
        golden + "--set eviction=scissorhands:budget=8,drop=1,recent=2,placement=compact",
        // The number that follows from a recording.
        golden + "--set eviction=seed-threshold:threshold=0.1,placement=compact",
        replay + "--set eviction=ada-kv:window=4,capacity=20,placement=compact",
        replay + "--set eviction=keyformer:kv_percent=40,placement=compact --set format=int4",
        // Layers and heads with budgets of their own.
        counted + "eviction=h2o:hh=100,recent=20,placement=compact " + pyramid,
        counted + "eviction=window:window=64,placement=compact " + pyramid,
        counted + "eviction=window:window=64,placement=holes " + pyramid,
        counted + "eviction=streaming-llm:sink=4,recent=60,placement=reuse " + pyramid,
        few + "eviction=h2o:hh=100,recent=20,placement=compact " + by_layer + " " + pyramid,
        few + "eviction=window:window=64,placement=holes " + by_layer + " " + pyramid,
        few + "eviction=streaming-llm:sink=4,recent=60,placement=holes " + by_layer +
            " --set model=gpt-oss-20b",
        few + "eviction=window:window=64,placement=holes " + by_head +
            " --set model=gpt-oss-20b --set workload.limit=5",
        // Prefixes hit by requests that follow courses, and dropped in place by each of their holders.
        few + "eviction=window:window=64,placement=holes --set workload.limit=30 " + pyramid,
        few + duo + "holes' --set memory.replacement=lru-k --set workload.limit=6",
        replay + "--set eviction=tova:budget=20",
        replay + "--set eviction.placement=compact --set budget=d2o",
        replay + "--set eviction=window:window=9 --set budget=d2o",
        replay + "--set eviction.placement=holes " + by_head +
            " --set budget=pyramidkv-paper:total=60,beta=3",
        // Heads that keep different tokens, by tables of heads.
        few + duo + "holes' " + by_head, few + duo + "reuse'", few + duo + "compact' " + by_layer,
        own + "holes " + by_head, own + "reuse", own + "compact " + by_layer,
        // Ranks that keep different tokens, or numbers of them, in tables that they share.
        few + duo + "holes' --set deployment.tp=4 --set workload.limit=6",
        few + duo + "compact' --set deployment.tp=2 " + by_layer,
        few + "eviction=random:budget=64,placement=reuse --set deployment.pp=2 --set workload.limit=3",
        few + "eviction=window:window=64 --set deployment.pp=4 " + pyramid,
        counted + "eviction=window:window=64,placement=compact --set deployment.pp=2 " + pyramid,
        counted + "eviction=scissorhands:budget=64,drop=20,placement=compact --set deployment.pp=2 " +
            pyramid,
        replay + "--set deployment.tp=2 " + by_layer,
        // With windows, the tokens of which all ranks of a layer's table keep.
        windows + "gpt-oss-20b", windows + "gemma-3-27b",
        replay + "--set deployment.pp=2 --set eviction=ada-kv:window=4,capacity=20,placement=compact",
        // Recordings in place of those of a model with another shape.
        standing + "model=llama-3-8b --set deployment.tp=2 --set eviction=snapkv:window=4,capacity=40 " +
            by_layer,
        standing + "model=llama-3-70b --set deployment.tp=4 --set deployment.pp=2 --set " +
            "eviction=h2o:hh=20,recent=20,placement=reuse",
        // Trees of pages, and pages without a tree; retracted requests.
        sample +
            "--set engine=sglang --set memory.allocator=paged:block_tokens=1 --set memory.pool_tokens=6000",
        sample + "--set engine=sglang:policy=lpm,schedule_conservativeness=0.1 --set format=int4 --set "
                 "memory.allocator=paged:block_tokens=16 --set memory.pool_tokens=5000",
        sample +
            "--set engine=sglang:prefix_cache=false,chunked_prefill_size=512 --set memory.pool_tokens=9000",
        // Several tables: by layer and by head, counted and by token.
        few + "eviction=pyramidkv:window=8,capacity=128,beta=10,placement=compact " + by_layer,
        few + "eviction=h2o:hh=100,recent=100,placement=compact " + by_layer,
        few + "eviction=window:window=64,placement=compact " + by_layer,
        few + "eviction=window:window=64,placement=reuse " + by_layer, replay + by_layer,
        replay + "--set eviction.placement=reuse " + by_head,
        replay + "--set eviction.placement=compact " + by_head,
        replay + "--set eviction=tova:budget=20,placement=compact " + by_head,
        replay + "--set eviction=ada-kv:window=4,capacity=20,placement=holes " + by_head,
        replay + "--set eviction=ada-kv:window=4,capacity=20,placement=compact " + by_head,
        golden + "--set eviction=h2o:hh=6,recent=3,placement=reuse",
        // By priority: all requests are equally urgent, so the latest is preempted.
        sample + "--set memory.pool_tokens=6000 --set engine.policy=priority",
        sample + "--set memory.pool_tokens=20000 --set engine.policy=priority "
                 "--set memory.allocator=buddy:reserve=oracle",
        sample + "--set memory.pool_tokens=6000 --set engine.policy=priority --set fleet.replicas=3",
        // Several replicas: separate and on one clock, of both engines, with all that one replica does.
        sample + "--set memory.pool_tokens=16000 --set fleet.replicas=3",
        sample + "--set memory.pool_tokens=6000 --set fleet=replicas=4,router=least-loaded:by=blocks",
        sample + "--set memory.pool_tokens=6000 --set fleet=replicas=3,router=prefix-affine " +
            "--set eviction=streaming-llm:sink=5,recent=200",
        sample + "--set model=gemma-3-27b --set memory.pool_tokens=9000 --set memory.allocator=grouped "
                 "--set fleet=replicas=2,router=prefix-affine",
        sample + "--set engine=sglang:policy=lpm,schedule_conservativeness=0.1 --set "
                 "memory.allocator=paged:block_tokens=16 --set memory.pool_tokens=5000 --set "
                 "fleet=replicas=2,router=session-affine",
        few + "eviction=pyramidkv:window=8,capacity=128,beta=10,placement=compact " + by_layer +
            " --set fleet.replicas=2"}) {
    const int at = number++;
    if (at % kShares != GetParam() || at / kShares % kEach != 0) continue;
    SCOPED_TRACE(start);
    const std::string fast = folder + "/fast.kve";
    const std::string naive = folder + "/naive.kve";
    const std::string quiet = " >/dev/null 2>&1";
    ASSERT_EQ(run(start + " --events " + fast + quiet), 0);
    ASSERT_EQ(run(start + " --step-by-step --events " + naive + quiet), 0);
    const std::string log = bytes_of(fast);
    EXPECT_GT(log.size(), 1000U);
    EXPECT_TRUE(log == bytes_of(naive));
    EXPECT_EQ(run(programs + "/kvplan-validate replay " + fast + " --backend host" + quiet), 0);
  }
  // A log cannot describe encoded tokens, and no file remains.
  EXPECT_EQ(run(sample + "--set format=kivi --events " + folder + "/two.kve >/dev/null 2>&1"), 2);
  EXPECT_FALSE(std::filesystem::exists(folder + "/two.kve"));
  std::filesystem::remove_all(folder);
}
INSTANTIATE_TEST_SUITE_P(Shares, EndToEndLogs, testing::Range(0, kShares));

}  // namespace
