// Prefix hits with layer groups: requests served one at a time compared with recorded behaviour of vLLM V1, a hit
// worked out by hand, equality with paged memory if there is one group, and what is refused. Random lives are in
// differential_test.cpp, overlays in overlay_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <span>

#include "simulator/results/report.h"
#include "simulator/scheduling/vllm/replay/pool.h"
#include "simulator/scheduling/vllm/replay/seqswa.h"
#include "simulator/workload/workload_builder.h"
#include "tests/support/golden.h"
#include "tests/support/plan_run.h"
#include "tests/support/random_case.h"
#include "tests/support/run_replica.h"
#include "tests/support/sanitized.h"
#include "traces/import/open_trace.h"

namespace kvplan {
namespace {

using observe::State;
using test::try_run;

/// Rows of the replay `seqswa`, made from the events of a run with one request after the other.
class RowsOfRun final : public core::Observer {
 public:
  explicit RowsOfRun(std::size_t groups) : groups_(groups) {}
  [[nodiscard]] bool wants_insertions() const override { return true; }

  void on_arrival(SimTime /*time*/, RequestId r, bool accepted) override {
    if (!accepted) rows.push_back({.request = r});
  }
  void on_admit(const core::Admission& a) override {
    EXPECT_FALSE(a.again);
    row_ = {.request = a.request, .fits = true, .hit_tokens = a.hit_tokens};
    decodes_ = false;
  }
  void on_grant(const core::Grant& g) override {
    (decodes_ ? row_.new_blocks_decode : row_.new_blocks_prefill) += g.alloc_units;
  }
  void on_evict_block(BlockId /*block*/) override {
    // Called before the admission of the request that gets the blocks.
    ++evicted_;
  }
  void on_pass_end(const core::Pass& /*pass*/) override {
    (decodes_ ? row_.evicted_decode : row_.evicted_prefill) += std::exchange(evicted_, 0);
  }
  void on_first_token(SimTime /*time*/, RequestId /*request*/) override { decodes_ = true; }
  void on_finish(SimTime /*time*/, const core::Release& release) override {
    row_.table_len = release.alloc_units;
    row_.table_crc32 = 0;
    for (std::size_t g = 0; g < groups_; ++g) {
      std::vector<BlockId> table;
      for (std::size_t e = g; e < release.table.size(); e += groups_) table.push_back(release.table[e]);
      row_.table_crc32 = replays::table_crc32(table, row_.table_crc32);
    }
    ended_ = true;
  }
  void on_settled(SimTime /*time*/, const core::PoolCounts& pool) override {
    if (!std::exchange(ended_, false)) return;
    row_.cached_hashes_after = pool.distinct_names;
    row_.free_blocks_after = pool.free + pool.cached;
    rows.push_back(row_);
  }
  std::vector<replays::SeqRow> rows;

 private:
  std::size_t groups_;
  replays::SeqRow row_{};
  std::int64_t evicted_{0};
  bool decodes_{false}, ended_{false};
};

/// One layer that sees everything, one with a window.
model::ModelShape two_layers(std::int64_t window) {
  model::ModelShape shape{.name = "two", .source = "made up", .layers = 2};
  shape.runs = {{1, {.heads = 1, .key_size = 1, .value_size = 1, .window = 0}},
                {1, {.heads = 1, .key_size = 1, .value_size = 1, .window = window}}};
  return shape;
}

/// All requests arrive at once and run one at a time, in chunks.
std::vector<replays::SeqRow> rows_of_run(const traces::Trace& trace, const replays::CacheOptions& options,
                                         bool naive) {
  const model::ModelShape shape = two_layers(options.window);
  test::RandomCase c;
  c.workload = workload::build_step_workload(trace, 50);
  c.workload.arrival.assign(c.workload.arrival.size(), SimTime{});
  number_off(std::span(c.workload.order));
  c.allocator = "grouped:block_tokens=" + std::to_string(options.block_tokens);
  c.pool.blocks = options.blocks;
  c.token_bytes = shape.kv_token_bytes();
  c.model = std::make_shared<model::ModelShape>(shape);
  c.scheduler = {.token_budget = options.chunk.value(), .max_seqs = 1};
  c.step_tokens = options.chunk.value();
  const Choice latency = parse_component("affine:base_ns=1000,token_ns=0,context_ns=0", "latency",
                                         latency::latency_descriptors())
                             .value();
  c.latency = latency::latency_entry(latency)
                  .make(latency, latency::LatencyRequest::one_rank(*model::find_model("llama-2-7b").value()))
                  .value();
  const auto allocator = c.make_allocator(naive).value();
  RowsOfRun rows(allocator->layout().groups.size());
  std::array<core::Observer*, 1> observers{&rows};
  const core::ReplicaSetup run{
      .workload = &c.workload, .keep = {}, .latency = c.latency.get(), .observers = observers};
  EXPECT_TRUE(test::serve_alone(run, c.scheduler, *allocator, c.workload.order, naive));
  return rows.rows;
}

/// Every column recorded from vLLM, block ids included; and with other windows, blocks and chunks, the rows of the
/// driver, which the recorded file proves right.
TEST(GroupedPrefixes, OneRequestAtATimeIsWhatVllmWasRecordedToDo) {
  const std::string golden = std::string(KVPLAN_SOURCE_DIR) + "/tests/golden/engines/";
  const traces::Trace trace = test::read_mooncake(golden + "micro_trace.jsonl");
  replays::CacheOptions options;
  options.block_tokens = 128;
  options.blocks = 300;
  options.window = 1024;
  options.chunk = 1024;
  const auto table = [&](const std::vector<replays::SeqRow>& rows) {
    std::string out(replays::SeqRow::kColumns);
    for (const replays::SeqRow& row : rows) row.append_to(out, trace);
    return out;
  };
  for (const bool naive : {false, true})
    test::expect_table(golden + "seqswa_micro_b128_n300.csv.gz", table(rows_of_run(trace, options, naive)));
  for (const auto& [block, blocks, window, chunk] :
       {std::tuple{64, 500, 1, 900}, std::tuple{256, 120, 130, 2000}, std::tuple{16, 2000, 700, 333}}) {
    options.block_tokens = block;
    options.blocks = blocks;
    options.window = window;
    options.chunk = chunk;
    std::vector<replays::SeqRow> rows;
    std::int64_t hits = 0, evicted = 0;
    ASSERT_TRUE(replays::run_vllm_seqswa(trace, options, [&](const replays::SeqRow& row) {
                  hits += row.hit_tokens;
                  evicted += row.evicted_prefill + row.evicted_decode;
                  rows.push_back(row);
                }).ok());
    EXPECT_GT(hits, 0);
    EXPECT_GT(evicted, 0);
    auto ours = rows_of_run(trace, options, false);
    std::sort(ours.begin(), ours.end(), [](const auto& a, const auto& b) { return a.request < b.request; });
    EXPECT_EQ(table(ours), table(rows)) << window;
  }
}

/// Prompts with contents of `hash_block` tokens each: all begin with the same ids.
traces::Trace alike(const std::vector<std::int64_t>& arrival_ns, std::int32_t input, std::int32_t output,
                    std::uint32_t hash_block) {
  traces::Trace trace;
  trace.prefix.block_tokens = hash_block;
  trace.prefix.offsets = {0};
  const auto ids = static_cast<std::uint32_t>(ceil_div(input, hash_block));
  for (const std::int64_t arrival : arrival_ns) {
    trace.arrival_ns.push_back(arrival);
    trace.input_tokens.push_back(input);
    trace.output_tokens.push_back(output);
    for (std::uint32_t i = 0; i < ids; ++i) trace.prefix.ids.push_back(i);
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
  }
  trace.prefix.distinct = ids;
  return trace;
}

/// Gemma-3-27B twice with one prompt of 2,000 tokens, 125 blocks in each of 7 groups; the second request comes long
/// after the first has ended. At most 124 blocks can be hit, 1,984 tokens: all of them in the group that sees
/// everything, and in each of the six groups with a window of 1,024 the last ceil(1,023 / 16) = 64. The first of those,
/// block 60, has one token that the window does not show, and is freed when the prompt is complete.
TEST(GroupedPrefixes, GemmaWorkedByHand) {
  constexpr std::int64_t kCell = 8192;  // of a token in a layer
  constexpr std::int64_t kBlock = 16 * 10 * kCell;
  for (const bool step_by_step : {false, true}) {
    const runs::RunResult r =
        try_run(alike({0, 10'000}, 2000, 3, 16),
                {"model=gemma-3-27b", "memory.pool_blocks=2001", "memory.allocator=grouped",
                 "latency=affine:base_ns=1000,token_ns=0,context_ns=0"},
                step_by_step)
            .value();
    EXPECT_EQ(r.completed, 2);
    EXPECT_EQ(r.prefix_hit_tokens, 1984);
    EXPECT_EQ(r.computed_tokens, 2002 + 18);
    EXPECT_EQ(ns_floor(r.makespan), 13'000);
    EXPECT_EQ(r.evicted_blocks, 6 * 61 + 6);
    EXPECT_EQ(r.warnings, std::vector<std::string>{});
    // Steps of 1 us: three, then seven idle ones, then three.
    const auto sum = [&](State s) { return r.memory->mean_bytes[index(s)] * 13; };
    EXPECT_DOUBLE_EQ(sum(State::kLive),
                     ((2000.0 + 2001 + 1984 + 2000 + 2001) * 10 + 5 * 1023 * 52.0) * kCell);
    EXPECT_DOUBLE_EQ(sum(State::kHole), (1 + 2 + 1 + 1 + 2) * 52.0 * kCell);
    EXPECT_DOUBLE_EQ(sum(State::kReserved), (2000.0 + 2 + 1 + 16 + 2 + 1) * 62 * kCell);
    // Blocks that windows of the first freed; all its full blocks when it ends; of these, 124 + 6 x 64 are held again.
    EXPECT_DOUBLE_EQ(sum(State::kCached), (2 * 366 + 7 * 875 + (875 - 508) + 2 * (875 - 508 + 6.0)) * kBlock);
    EXPECT_EQ(r.held[1].most_alloc_units, 508 + 7 + 1);
  }
}

/// One group without a window: every number of a run equals that of paged memory, with prefix hits on other requests'
/// blocks and a request's own.
TEST(GroupedPrefixes, OneGroupIsPaged) {
  traces::Trace trace;
  trace.prefix.block_tokens = 16;
  trace.prefix.offsets = {0};
  std::uint32_t next = 100;
  for (std::int32_t i = 0; i < 60; ++i) {
    trace.arrival_ns.push_back(i * 300'000);
    trace.input_tokens.push_back(37 * (i % 11) + 5);
    trace.output_tokens.push_back(29 * (i % 7) + 3);
    const auto ids = static_cast<std::uint32_t>(ceil_div(trace.input_tokens.back(), 16));
    for (std::uint32_t n = 0; n < ids; ++n) trace.prefix.ids.push_back(n < 9 ? n : next++);
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
  }
  trace.prefix.distinct = next;
  for (const std::string policy : {"vllm-queue", "lru", "arc:leaves=true", "ttl:life_s=0.3", "cost-aware"}) {
    for (const bool hashes : {true, false}) {
      SCOPED_TRACE(policy);
      const auto report = [&](const std::string& allocator, bool step_by_step) {
        traces::Trace given = trace;
        if (!hashes) given.prefix = {};
        runs::RunResult r =
            try_run(given,
                    {"model=llama-3-8b", "memory.pool_tokens=1203", "format=int4",
                     "memory.allocator=" + allocator + ":block_tokens=8", "memory.replacement=" + policy},
                    step_by_step)
                .value();
        EXPECT_GT(r.preemptions, 3);
        EXPECT_EQ(r.prefix_hit_tokens > 1000, hashes);
        EXPECT_GT(r.rehit_tokens, 100);
        r.memory->kinds.clear();
        r.replicas[0].memory->kinds.clear();
        std::string text = runs::report_json(r) + runs::requests_csv(r) + runs::timeline_csv(r);
        const std::string name = "\"name\": \"" + allocator + "\"";
        const auto at = text.find(name);
        EXPECT_NE(at, std::string::npos);
        return text.replace(at, name.size(), "");
      };
      EXPECT_EQ(report("grouped", false), report("paged", false));
      EXPECT_EQ(report("grouped", true), report("paged", true));
    }
  }
}

/// Replicas with a cache that a router asks about: every number is the same, fast and step by step.
TEST(GroupedPrefixes, RoutersSeeWhatGroupsHave) {
  traces::Trace trace = alike(std::vector<std::int64_t>(90, 0), 900, 40, 16);
  for (std::int32_t i = 0; i < 90; ++i) {
    trace.arrival_ns[static_cast<std::size_t>(i)] = i * 9'000;
    trace.input_tokens[static_cast<std::size_t>(i)] = 400 + 61 * (i % 9);
    // Four families of prompts, each prompt with its own end.
    auto* const ids = trace.prefix.ids.data() + trace.prefix.offsets[static_cast<std::size_t>(i)];
    for (std::uint32_t n = 0; n < 57; ++n)
      ids[n] = static_cast<std::uint32_t>(n < 20 ? i % 4 * 100 : 1000 + i * 100) + n;
  }
  trace.prefix.distinct = 12'000;
  const auto report = [&](const std::string& router, bool step_by_step,
                          const std::string& policy = "vllm-queue") {
    const runs::RunResult r =
        try_run(trace,
                {"model=gpt-oss-20b", "memory.pool_blocks=400", "memory.allocator=grouped",
                 "memory.replacement=" + policy, "fleet=replicas=3,router=" + router,
                 "latency=affine:base_ns=1000,token_ns=1,context_ns=1"},
                step_by_step)
            .value();
    EXPECT_GT(r.prefix_hit_tokens, 5000);
    return runs::report_json(r) + runs::requests_csv(r) + runs::timeline_csv(r);
  };
  const std::string affine = report("prefix-affine", false);
  EXPECT_EQ(affine, report("prefix-affine", true));
  EXPECT_NE(affine, report("round-robin", false));
  for (const std::string policy : {"lfu", "s3fifo:leaves=true", "ttl:life_s=0.0002"}) {
    const std::string other = report("prefix-affine", false, policy);
    EXPECT_EQ(other, report("prefix-affine", true, policy)) << policy;
    EXPECT_NE(other, affine) << policy;
  }
}

/// simulator/replacement/README.md has the table that its command gives.
TEST(GroupedPrefixes, ThePageOfReplacementHasWhatItsCommandGives) {
  if (KVPLAN_SHADOW_MEMORY != 0) GTEST_SKIP() << "a page's numbers are the gate's: minutes with sanitizers";
  const std::string source = KVPLAN_SOURCE_DIR;
  const traces::Trace trace = traces::open_trace(source + "/traces/samples/chat.kvt").value();
  std::ifstream page(source + "/simulator/replacement/README.md");
  const auto figures = [&](const std::string& policy, const std::string& tokens, bool waits) {
    const runs::RunResult r = try_run(trace,
                                      {"model=gpt-oss-20b", "memory.allocator=grouped",
                                       "memory.pool_tokens=" + tokens, "memory.replacement=" + policy},
                                      false, runs::RunOptions{})
                                  .value();
    const auto share = [](double part, double of) {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), " %.1f %% |", 100 * part / of);
      return std::string(text.data());
    };
    std::array<char, 32> ttft{};
    if (waits) std::snprintf(ttft.data(), ttft.size(), " %.2f s |", r.ttft->mean);
    const auto& memory = *r.memory;
    return share(static_cast<double>(r.prefix_hit_tokens), static_cast<double>(r.input_tokens)) +
           ttft.data() +
           share(memory.mean_overlay_bytes[index(observe::Overlay::kCachedUnreachable)],
                 memory.mean_bytes[index(State::kCached)]);
  };
  std::int64_t rows = 0;
  for (std::string line; std::getline(page, line) && line != "### In groups of layers";) continue;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    ++rows;
    const std::string policy = line.substr(3, line.find('`', 3) - 3);
    EXPECT_EQ(line,
              "| `" + policy + "` |" + figures(policy, "30000", true) + figures(policy, "60000", false));
  }
  EXPECT_GE(rows, 11);
}

TEST(GroupedPrefixes, WhatIsRefused) {
  const std::vector<std::string> sets{"model=gemma-3-27b", "memory.pool_blocks=4000",
                                      "memory.allocator=grouped:block_tokens=12"};
  const auto odd = try_run(alike({0}, 100, 10, 16), sets);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().field, "memory.allocator: block_tokens");
  auto policy = sets;
  policy.emplace_back("memory.replacement=lru");
  policy.emplace_back("engine=vllm-v1:prefix_cache=false");  // ignored, with a warning
  EXPECT_TRUE(try_run(alike({0}, 100, 10, 16), policy).ok());
}

}  // namespace
}  // namespace kvplan
