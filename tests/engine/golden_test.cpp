// The scheduler and pool that serve, against what the real vLLM V1 did (tests/golden/README.md has the
// definitions): every column of every row, by the fast engine over the serving allocator and by the naive
// engine over the plain one.
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "simulator/drivers/cache_drivers.h"
#include "tests/support/golden.h"

namespace kvplan {
namespace {

const std::string kGolden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/engines/";

const traces::Trace& micro() {
  static const traces::Trace trace = test::read_mooncake(kGolden + "micro_trace.jsonl");
  return trace;
}

template <class... T>
std::string csv(const T&... fields) {
  std::ostringstream out;
  const char* separator = "";
  ((out << separator << fields, separator = ","), ...);
  return out.str();
}

void expect_lines(const std::vector<std::string>& golden, const std::vector<std::string>& ours) {
  ASSERT_GT(golden.size(), 1U);
  ASSERT_EQ(golden.size() - 1, ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) ASSERT_EQ(golden[i + 1], ours[i]) << "row " << i;
}

struct Case {
  std::string name;
  std::int64_t block;
  std::int64_t blocks;
  core::SchedulerParams scheduler;
  bool prefix_cache{true};
};

class Golden : public testing::TestWithParam<bool> {};

TEST_P(Golden, Seq) {
  for (const auto& [name, block, blocks] :
       {std::tuple{"seq_micro_b128_n256", 128, 256}, std::tuple{"seq_micro_b16_n1024", 16, 1024}}) {
    drivers::CacheOptions options;
    options.block_tokens = block;
    options.blocks = blocks;
    options.step_by_step = GetParam();
    std::vector<std::string> ours;
    const Status status = drivers::run_seq_driver(micro(), options, [&](const drivers::SeqRow& r) {
      const auto i = static_cast<std::size_t>(r.request);
      ours.push_back(csv(r.request, micro().input_tokens[i], micro().output_tokens[i], "ok", r.hit_tokens,
                         r.new_blocks_prefill, r.new_blocks_decode, r.evicted_prefill, r.evicted_decode,
                         r.table_len, r.table_crc32, r.cached_hashes_after, r.free_blocks_after));
    });
    ASSERT_TRUE(status.ok());
    SCOPED_TRACE(name);
    expect_lines(test::read_lines(kGolden + name + ".csv.gz"), ours);
  }
}

/// Two groups of layers in one pool, the second with a window.
TEST(GoldenGroups, SeqSwa) {
  drivers::CacheOptions options;
  options.block_tokens = 128;
  options.blocks = 300;
  options.window = 1024;
  options.chunk = 1024;
  std::vector<std::string> ours;
  std::int64_t hits = 0, evicted = 0;
  const auto status = drivers::run_seqswa_driver(micro(), options, [&](const drivers::SeqRow& r) {
    const auto i = static_cast<std::size_t>(r.request);
    hits += r.hit_tokens;
    evicted += r.evicted_prefill + r.evicted_decode;
    ours.push_back(csv(r.request, micro().input_tokens[i], micro().output_tokens[i],
                       r.fits ? "ok" : "rejected", r.hit_tokens, r.new_blocks_prefill, r.new_blocks_decode,
                       r.evicted_prefill, r.evicted_decode, r.table_len, r.table_crc32, r.cached_hashes_after,
                       r.free_blocks_after));
  });
  ASSERT_TRUE(status.ok());
  expect_lines(test::read_lines(kGolden + "seqswa_micro_b128_n300.csv.gz"), ours);
  EXPECT_GT(hits, 0);
  EXPECT_GT(evicted, 0);
}

/// Where nothing is ever given up, what windows leave behind can still be found: every hit is that of one group.
TEST(GoldenGroups, AnEndlessPoolFindsWhatOneGroupFinds) {
  drivers::CacheOptions options;
  options.block_tokens = 128;
  options.blocks = 1 << 20;
  std::vector<std::int64_t> hits;
  ASSERT_TRUE(drivers::run_seq_driver(micro(), options, [&](const drivers::SeqRow& r) {
                hits.push_back(r.hit_tokens);
              }).ok());
  for (const std::int64_t window :
       {std::int64_t{1}, std::int64_t{130}, std::int64_t{2000}, std::int64_t{1} << 31}) {
    options.window = window;
    options.chunk = window == 130 ? 100 : 3000;
    std::vector<std::int64_t> ours;
    ASSERT_TRUE(drivers::run_seqswa_driver(micro(), options, [&](const drivers::SeqRow& r) {
                  ours.push_back(r.hit_tokens);
                  ASSERT_TRUE(r.fits);
                }).ok());
    EXPECT_TRUE(ours == hits) << window;
  }
}

TEST_P(Golden, Sched) {
  const std::array<Case, 3> cases{
      Case{"sched_micro_b128_n256", 128, 256, {.token_budget = 1024, .max_seqs = 16}},
      Case{"sched_micro_b16_n1024",
           16,
           1024,
           {.token_budget = 2048, .max_seqs = 64, .long_prefill_threshold = 300}},
      Case{"sched_micro_b16_n1024_nocache", 16, 1024, {.token_budget = 2048, .max_seqs = 64}, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    drivers::CacheOptions options;
    options.block_tokens = c.block;
    options.blocks = c.blocks;
    options.scheduler = c.scheduler;
    options.prefix_cache = c.prefix_cache;
    options.step_by_step = GetParam();
    std::vector<std::string> steps;
    const auto rows = drivers::run_sched_driver(micro(), options, [&](const drivers::SchedStepRow& s) {
      steps.push_back(csv(s.step, s.running, s.waiting, s.scheduled_tokens, s.scheduled_reqs, s.sampled,
                          s.preempted, s.used_blocks, s.evicted, s.cached_hashes));
    });
    ASSERT_TRUE(rows.ok()) << rows.error().to_string();
    std::vector<std::string> requests;
    for (std::size_t i = 0; i < rows.value().size(); ++i) {
      const drivers::SchedRequestRow& r = rows.value()[i];
      requests.push_back(csv(i, micro().input_tokens[i], micro().output_tokens[i], r.arrival_step,
                             r.first_sched_step, r.first_token_step, r.finish_step, r.first_hit_tokens,
                             r.all_hit_tokens, r.admissions, r.preemptions, r.computed_tokens));
    }
    expect_lines(test::read_lines(kGolden + c.name + "_req.csv.gz"), requests);
    expect_lines(test::read_lines(kGolden + c.name + "_step.csv.gz"), steps);
    // Without anybody listening to steps the engine may put publications off; the requests must not notice.
    const auto quiet = drivers::run_sched_driver(micro(), options, {});
    ASSERT_TRUE(quiet.ok());
    for (std::size_t i = 0; i < rows.value().size(); ++i) {
      ASSERT_EQ(quiet.value()[i].finish_step, rows.value()[i].finish_step) << i;
      ASSERT_EQ(quiet.value()[i].all_hit_tokens, rows.value()[i].all_hit_tokens) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Golden, testing::Bool(),
                         [](const auto& suite) { return suite.param ? "StepByStep" : "Fast"; });

}  // namespace
}  // namespace kvplan
