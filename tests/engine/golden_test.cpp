// The scheduler and pool of runs compared with the behaviour of the real vLLM V1 (tests/golden/README.md has the
// definitions): every column of every row, for the fast engine over the serving allocator and for the naive engine over
// the plain one.
#include <gtest/gtest.h>

#include <array>

#include "simulator/scheduling/vllm/replay/hold.h"
#include "simulator/scheduling/vllm/replay/sched.h"
#include "simulator/scheduling/vllm/replay/seqswa.h"
#include "tests/support/golden.h"

namespace kvplan {
namespace {

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/engines/";

const traces::Trace& micro() {
  static const traces::Trace trace = test::read_mooncake(kGolden + "micro_trace.jsonl");
  return trace;
}

/// Header line and rows, from the driver of the command line.
replays::Tables tables_of(const char* driver, const replays::CacheOptions& options) {
  replays::Tables tables{.wants_steps = true, .requests = {}, .steps = {}};
  bool found = false;
  for (const replays::EngineReplay* replay :
       {&replays::kVllmSeq, &replays::kVllmSeqswa, &replays::kVllmHold, &replays::kVllmSched}) {
    if (replay->name != driver) continue;
    found = true;
    EXPECT_TRUE(replay->run(micro(), options, tables).ok());
  }
  EXPECT_TRUE(found);
  return tables;
}

void expect_table(const std::string& name, const std::string& ours) {
  test::expect_table(kGolden + name + ".csv.gz", ours);
}

class Golden : public testing::TestWithParam<bool> {};

TEST_P(Golden, Seq) {
  for (const auto& [name, block, blocks] :
       {std::tuple{"seq_micro_b128_n256", 128, 256}, std::tuple{"seq_micro_b16_n1024", 16, 1024}}) {
    replays::CacheOptions options;
    options.block_tokens = block;
    options.blocks = blocks;
    options.step_by_step = GetParam();
    expect_table(name, tables_of("seq", options).requests);
  }
}

TEST_P(Golden, Hold) {
  replays::CacheOptions options;
  options.block_tokens = 128;
  options.blocks = 256;
  options.step_by_step = GetParam();
  expect_table("hold_micro_b128_n256", tables_of("hold", options).requests);
}

/// Two groups of layers in one pool, the second with a window.
TEST(GoldenGroups, SeqSwa) {
  replays::CacheOptions options;
  options.block_tokens = 128;
  options.blocks = 300;
  options.window = 1024;
  options.chunk = 1024;
  expect_table("seqswa_micro_b128_n300", tables_of("seqswa", options).requests);
  std::int64_t hits = 0, evicted = 0;
  ASSERT_TRUE(replays::run_vllm_seqswa(micro(), options, [&](const replays::SeqRow& r) {
                hits += r.hit_tokens;
                evicted += r.evicted_prefill + r.evicted_decode;
              }).ok());
  EXPECT_GT(hits, 0);
  EXPECT_GT(evicted, 0);
}

/// If nothing is ever evicted, blocks behind windows can still be hit: every hit equals that with one group.
TEST(GoldenGroups, AnEndlessPoolFindsWhatOneGroupFinds) {
  replays::CacheOptions options;
  options.block_tokens = 128;
  options.blocks = 1 << 20;
  std::vector<std::int64_t> hits;
  ASSERT_TRUE(replays::run_vllm_seq(micro(), options, [&](const replays::SeqRow& r) {
                hits.push_back(r.hit_tokens);
              }).ok());
  for (const std::int64_t window :
       {std::int64_t{1}, std::int64_t{130}, std::int64_t{2000}, std::int64_t{1} << 31}) {
    options.window = window;
    options.chunk = window == 130 ? 100 : 3000;
    std::vector<std::int64_t> ours;
    ASSERT_TRUE(replays::run_vllm_seqswa(micro(), options, [&](const replays::SeqRow& r) {
                  ours.push_back(r.hit_tokens);
                  ASSERT_TRUE(r.fits);
                }).ok());
    EXPECT_TRUE(ours == hits) << window;
  }
}

struct Case {
  std::string name;
  std::int64_t block;
  std::int64_t blocks;
  scheduling::vllm::Params scheduler;
  bool prefix_cache{true};
};

TEST_P(Golden, Sched) {
  const std::array<Case, 3> cases{
      Case{"sched_micro_b128_n256", 128, 256, {.token_budget = 1024, .max_seqs = 16}},
      Case{"sched_micro_b16_n1024",
           16,
           1024,
           {.token_budget = 2048, .max_seqs = 64, .long_prefill_threshold = 300}},
      Case{"sched_micro_b16_n1024_nocache", 16, 1024, {.token_budget = 2048, .max_seqs = 64}, false}};
  for (const Case& c : cases) {
    replays::CacheOptions options;
    options.block_tokens = c.block;
    options.blocks = c.blocks;
    options.scheduler = c.scheduler;
    options.prefix_cache = c.prefix_cache;
    options.step_by_step = GetParam();
    replays::Tables tables = tables_of("sched", options);
    expect_table(c.name + "_req", tables.requests);
    expect_table(c.name + "_step", tables.steps);
    // If no observer watches steps, the engine may delay insertions; requests must not be affected.
    replays::Tables quiet;
    ASSERT_TRUE(replays::kVllmSched.run(micro(), options, quiet).ok());
    EXPECT_TRUE(quiet.requests == tables.requests) << c.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Golden, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "StepByStep" : "Fast"; });

}  // namespace
}  // namespace kvplan
