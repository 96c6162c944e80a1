// The SGLang drivers compared with the behaviour of the real SGLang (tests/golden/README.md has the definitions): every
// column of every row. For `sched`, both schedulers.
#include <gtest/gtest.h>

#include <optional>

#include "simulator/scheduling/sglang/replay/sched.h"
#include "simulator/scheduling/sglang/replay/seq.h"
#include "tests/engine/naive_sglang.h"
#include "tests/support/golden.h"

namespace kvplan {
namespace {

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/";

const traces::Trace& micro() {
  static const traces::Trace trace = test::read_mooncake(kGolden + "engines/micro_trace.jsonl");
  return trace;
}

TEST(GoldenSglang, Seq) {
  for (const std::int64_t page : {1, 16}) {
    replays::CacheOptions options;
    options.block_tokens = page;
    options.pool_tokens = 32768;
    replays::Tables tables;
    ASSERT_TRUE(replays::kSglangSeq.run(micro(), options, tables).ok());
    test::expect_table(kGolden + "engines/sgl_micro_p" + std::to_string(page) + "_s32768.csv.gz",
                       tables.requests);
  }
}

struct Case {
  std::string name;
  std::int64_t page, pool;
  std::int64_t thinner{1};  // D
  std::int64_t requests{1000};
  std::int64_t max_new_factor{1};
  std::optional<std::int64_t> chunk{};
  bool lpm{false}, prefix_cache{true}, ignore_eos{false};
  double conservativeness{1.0};
  std::int64_t decay_steps{600};
};

/// The first requests of micro, with prompts and tokens per id divided by `thinner`.
traces::Trace thinned(const Case& c) {
  traces::Trace trace = micro();
  const auto count = static_cast<std::size_t>(c.requests);
  trace.arrival_ns.resize(count);
  trace.input_tokens.resize(count);
  trace.output_tokens.resize(count);
  trace.prefix.offsets.resize(count + 1);
  trace.prefix.block_tokens /= c.thinner;
  for (std::int32_t& tokens : trace.input_tokens)
    tokens = static_cast<std::int32_t>(ceil_div(tokens, c.thinner));
  if (c.max_new_factor > 1)
    for (const std::int32_t tokens : trace.output_tokens)
      trace.max_tokens.push_back(static_cast<std::int32_t>(c.max_new_factor) * tokens);
  return trace;
}

class GoldenSglangSched : public testing::TestWithParam<Case> {};

TEST_P(GoldenSglangSched, EveryColumn) {
  const Case& c = GetParam();
  const traces::Trace trace = thinned(c);
  replays::CacheOptions options;
  options.block_tokens = c.page;
  options.pool_tokens = c.pool;
  options.chunk = c.chunk;
  options.prefix_cache = c.prefix_cache;
  options.scheduler.max_seqs = c.thinner == 1 ? 16 : c.thinner == 16 ? 32 : 64;
  options.sglang.max_prefill_tokens = c.thinner == 1 ? 4096 : 512;
  options.sglang.order =
      c.lpm ? scheduling::sglang::QueueOrder::kLongestPrefix : scheduling::sglang::QueueOrder::kArrival;
  options.sglang.ignore_eos = c.ignore_eos;
  options.sglang.conservativeness = c.conservativeness;
  options.sglang.decay_steps = c.decay_steps;
  replays::Tables tables{.wants_steps = true, .requests = {}, .steps = {}};
  ASSERT_TRUE(replays::kSglangSched.run(trace, options, tables).ok());
  const test::NaiveSglangTables naive = test::naive_sglang(trace, options);
  const std::string requests = kGolden + "sglang/sglsched_" + c.name + "_req.csv.gz",
                    steps = kGolden + "sglang/sglsched_" + c.name + "_step.csv.gz";
  test::expect_table(requests, tables.requests);
  test::expect_table(requests, naive.requests);
  test::expect_table(steps, tables.steps);
  test::expect_table(steps, naive.steps);
}

INSTANTIATE_TEST_SUITE_P(
    Files, GoldenSglangSched,
    testing::Values(Case{.name = "micro16_p16_s3072_fcfs_retract",
                         .page = 16,
                         .pool = 3072,
                         .thinner = 16,
                         .conservativeness = 0.3,
                         .decay_steps = 40},
                    Case{.name = "micro16_p16_s4096_fcfs_c96_nocache_ieos",
                         .page = 16,
                         .pool = 4096,
                         .thinner = 16,
                         .chunk = 96,
                         .prefix_cache = false,
                         .ignore_eos = true},
                    Case{.name = "micro16_p16_s4096_lpm_c96_mnt2",
                         .page = 16,
                         .pool = 4096,
                         .thinner = 16,
                         .max_new_factor = 2,
                         .chunk = 96,
                         .lpm = true},
                    Case{.name = "micro16_p1_s4096_fcfs", .page = 1, .pool = 4096, .thinner = 16},
                    Case{.name = "micro16_p1_s4096_fcfs_mnt2",
                         .page = 1,
                         .pool = 4096,
                         .thinner = 16,
                         .max_new_factor = 2},
                    Case{.name = "micro16_p1_s4096_lpm_c100",
                         .page = 1,
                         .pool = 4096,
                         .thinner = 16,
                         .chunk = 100,
                         .lpm = true},
                    Case{.name = "micro64_p16_s1024_lpm_tiny",
                         .page = 16,
                         .pool = 1024,
                         .thinner = 64,
                         .requests = 300,
                         .lpm = true,
                         .conservativeness = 0.1,
                         .decay_steps = 10},
                    Case{.name = "micro_p16_s32768_fcfs_c1024_mnt20",
                         .page = 16,
                         .pool = 32768,
                         .requests = 300,
                         .max_new_factor = 20,
                         .chunk = 1024},
                    Case{.name = "micro_p16_s32768_lpm", .page = 16, .pool = 32768, .lpm = true},
                    Case{.name = "micro_p1_s32768_fcfs_c1024", .page = 1, .pool = 32768, .chunk = 1024}),
    [](const auto& suite) { return suite.param.name; });

}  // namespace
}  // namespace kvplan
