// One pool for layers with windows and layers without: worked out by hand, equality with paged memory if there is one
// group, and what is refused. Random lives are in differential_test.cpp.
#include <gtest/gtest.h>

#include "simulator/memory/grouped_pool.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/results/report.h"
#include "tests/support/plan_run.h"

namespace kvplan {
namespace {

using observe::State;

Result<runs::RunResult> try_run(const traces::Trace& trace, const std::vector<std::string>& sets,
                                bool step_by_step = false) {
  runs::RunOptions options = test::watched();
  options.open_steps = [](const std::string&, std::string_view) -> Result<runs::MeasuredSteps> {
    KVPLAN_TRY(latency::StepTable table, latency::StepTable::make({{1, 1, 0, Ticks{1000}}}));
    return runs::MeasuredSteps{std::move(table), {"Made up."}};
  };
  return test::try_run(trace, sets, step_by_step, options);
}

const std::string kSteps = "latency=affine:base_ns=1000,token_ns=0,context_ns=0";

traces::Trace one(std::int32_t input, std::int32_t output) {
  traces::Trace trace;
  trace.arrival_ns = {0};
  trace.input_tokens = {input};
  trace.output_tokens = {output};
  return trace;
}

/// Gemma-3-27B: a layer stores 8,192 bytes per token, a block of 16 tokens has room for 10 layers, 1,310,720 bytes. A
/// prompt of 2,000 tokens in one chunk takes 125 blocks in each of 7 groups. When it is written, the next token, at
/// position 2,000, sees the tokens from 977 on: in each of the six groups with a window, 61 blocks are behind it.
TEST(Groups, GemmaWorkedByHand) {
  constexpr std::int64_t kCell = 8192;  // of a token in a layer
  constexpr std::int64_t kBlock = 16 * 10 * kCell;
  for (const bool step_by_step : {false, true}) {
    const runs::RunResult r =
        try_run(one(2000, 3),
                {"model=gemma-3-27b", "memory.pool_blocks=2001", "memory.allocator=grouped", kSteps},
                step_by_step)
            .value();
    EXPECT_EQ(r.completed, 1);
    EXPECT_EQ(r.iterations, 3);
    EXPECT_EQ(r.capacity_bytes, 2001 * kBlock);
    EXPECT_EQ(r.evicted_blocks, 6 * 61);
    // At the first pass: 125 x 7 blocks and the null block; everything but the cells of 62 layers is padding.
    const auto& peak = r.memory->peak_bytes;
    EXPECT_EQ(r.memory->peak_time_s, 0);
    EXPECT_EQ(peak[index(State::kReserved)], 2000 * 62 * kCell);
    EXPECT_EQ(peak[index(State::kPadding)], kBlock + 2000 * 8 * kCell);
    EXPECT_EQ(peak[index(State::kFree)], (2000 - 125 * 7) * kBlock);
    // Three steps of 1 us. In the second and third, tokens 2,000 and 2,001 are written to block 125. With windows,
    // 1,023 tokens are live, and the tokens before them in blocks from 61 on are holes: token 976, then 976 and 977.
    const auto mean = [&](State s) { return r.memory->mean_bytes[index(s)] * 3; };
    EXPECT_DOUBLE_EQ(mean(State::kLive), ((2000 + 2001) * 10.0 + 2 * 1023 * 52.0) * kCell);
    EXPECT_DOUBLE_EQ(mean(State::kHole), (1 + 2) * 52.0 * kCell);
    EXPECT_DOUBLE_EQ(mean(State::kTail), 2 * 14 * 62.0 * kCell);
    EXPECT_DOUBLE_EQ(mean(State::kReserved), (2000 + 2 + 1) * 62.0 * kCell);
    EXPECT_DOUBLE_EQ(mean(State::kPadding), 3.0 * kBlock + (2000.0 + 2 * (2016 - 976)) * 8 * kCell);
    EXPECT_EQ(r.hole_bytes_peak, 2 * 52 * kCell);
    // By kind: the layers with a window come first.
    ASSERT_EQ(r.memory->kinds.size(), 2U);
    const runs::KindMemory& windows = r.memory->kinds[0];
    const runs::KindMemory& full = r.memory->kinds[1];
    EXPECT_EQ(windows.kind, (model::LayerKind{1024, 6, 52}));
    EXPECT_EQ(full.kind, (model::LayerKind{0, 1, 10}));
    EXPECT_EQ(windows.peak_bytes[index(State::kReserved)], 2000 * 52 * kCell);
    EXPECT_EQ(full.peak_bytes[index(State::kReserved)], 2000 * 10 * kCell);
    EXPECT_EQ(windows.peak_bytes[index(State::kPadding)], 2000 * 8 * kCell);
    EXPECT_EQ(full.peak_bytes[index(State::kPadding)], 0);
    EXPECT_DOUBLE_EQ(windows.mean_bytes[index(State::kLive)] * 3, 2 * 1023 * 52.0 * kCell);
    EXPECT_DOUBLE_EQ(full.mean_bytes[index(State::kLive)] * 3, (2000 + 2001) * 10.0 * kCell);
    EXPECT_DOUBLE_EQ(windows.mean_bytes[index(State::kHole)] * 3, (1 + 2) * 52.0 * kCell);
    // 875 blocks in the first step, 7 x 126 less 6 x 61 in the two others.
    EXPECT_EQ(r.held[0].most_alloc_units, 875);
    EXPECT_TRUE(r.held[0].alloc_unit_ticks == Wide{1000 * kTicksPerNs} * (875 + 2 * 516));
    EXPECT_TRUE(std::none_of(r.assumptions.begin(), r.assumptions.end(), [](const std::string& line) {
      return line.find("window") != std::string::npos;
    }));
  }
}

/// A half of Gemma-3-27B: blocks have room for five layers. Of the seven groups, three have five layers (two with a
/// window, one without) and four have four.
TEST(Groups, AStageOfGemma) {
  constexpr std::int64_t kCell = 8192;
  constexpr std::int64_t kBlock = 16 * 5 * kCell;
  const runs::RunResult r =
      try_run(one(2000, 3), {"model=gemma-3-27b", "deployment.pp=2", "memory.pool_blocks=2001",
                             "memory.allocator=grouped", kSteps})
          .value();
  EXPECT_EQ(r.completed, 1);
  EXPECT_EQ(r.capacity_bytes, 2001 * kBlock);
  EXPECT_EQ(r.evicted_blocks, 6 * 61);
  const auto& peak = r.memory->peak_bytes;
  EXPECT_EQ(peak[index(State::kReserved)], 2000 * 31 * kCell);
  EXPECT_EQ(peak[index(State::kPadding)], kBlock + 2000 * 4 * kCell);
  EXPECT_EQ(r.memory->kinds[0].kind, (model::LayerKind{1024, 6, 26}));
  EXPECT_EQ(r.memory->kinds[1].kind, (model::LayerKind{0, 1, 5}));
}

/// A window of 4,096 on all 32 layers of Mistral-7B: one group. Between two steps at most 4,095 tokens are live, and
/// only their blocks and those of the chunk are held.
TEST(Groups, WindowsAlone) {
  const runs::RunResult r =
      try_run(one(20000, 100), {"model=mistral-7b", "memory.pool_blocks=2000", "memory.allocator=grouped",
                                "engine=vllm-v1:token_budget=1024", kSteps})
          .value();
  EXPECT_EQ(r.completed, 1);
  const auto& peak = r.memory->peak_bytes;
  EXPECT_EQ(peak[index(State::kLive)], 4095 * 131072);
  EXPECT_EQ(peak[index(State::kReserved)], 1024 * 131072);
  // vLLM's limit: ceil((4096 - 1 + 1024) / 16) + 1 = 321 blocks, in addition to the null block.
  for (const auto& [blocks, completed] : {std::pair{322, 1}, std::pair{321, 0}})
    EXPECT_EQ(
        try_run(one(20000, 100), {"model=mistral-7b", "memory.pool_blocks=" + std::to_string(blocks),
                                  "memory.allocator=grouped", "engine=vllm-v1:token_budget=1024", kSteps})
            .value()
            .completed,
        completed)
        << blocks;
}

/// What decode attention reads: the whole context in full layers, and the tokens that the window shows in the others.
TEST(Groups, StepsReadWhatWindowsShow) {
  const std::vector<std::string> sets{"model=gemma-3-27b", "memory.pool_blocks=4000",
                                      "latency=affine:base_ns=0,token_ns=0,context_ns=62"};
  const auto makespan = [&](const std::string& allocator, std::int32_t input, std::int32_t output) {
    auto with = sets;
    with.push_back("memory.allocator=" + allocator);
    const runs::RunResult fast = try_run(one(input, output), with).value();
    EXPECT_EQ(fast.makespan, try_run(one(input, output), with, true).value().makespan);
    return ns_floor(fast.makespan);
  };
  // Nothing was computed before the prompt; the next step reads 3,000 tokens, in 52 of 62 layers 1,023 of them.
  EXPECT_EQ(makespan("paged", 3000, 2), 62 * 3000);
  EXPECT_EQ(makespan("grouped", 3000, 2), 10 * 3000 + 52 * 1023);
  // Up to the window's length, everything is read.
  EXPECT_EQ(makespan("grouped", 500, 524), makespan("paged", 500, 524));
  EXPECT_LT(makespan("grouped", 500, 526), makespan("paged", 500, 526));
}

/// One group without a window: every number of a run equals that of paged memory without prefix sharing.
TEST(Groups, OneGroupIsPaged) {
  traces::Trace trace;
  for (std::int32_t i = 0; i < 60; ++i) {
    trace.arrival_ns.push_back(i * 300'000);
    trace.input_tokens.push_back(37 * (i % 11) + 5);
    trace.output_tokens.push_back(29 * (i % 7) + 3);
  }
  for (const bool step_by_step : {false, true}) {
    for (const std::string& more : {std::string("format=native"), std::string("format=int4")}) {
      const auto report = [&](const std::string& allocator) {
        std::string text;
        runs::RunResult r =
            try_run(trace,
                    {"model=llama-3-8b", "memory.pool_tokens=1203", "engine=vllm-v1:prefix_cache=false", more,
                     "memory.allocator=" + allocator + ":block_tokens=8"},
                    step_by_step)
                .value();
        EXPECT_GT(r.preemptions, 3);
        if (allocator == "grouped") {  // one kind of layers, which holds everything
          EXPECT_EQ(r.memory->kinds.size(), 1U);
          for (const std::size_t s :
               {index(State::kLive), index(State::kMetadata), index(State::kReserved)}) {
            EXPECT_EQ(r.memory->kinds.at(0).mean_bytes[s], r.memory->mean_bytes[s]);
            EXPECT_EQ(r.memory->kinds.at(0).peak_bytes[s], r.memory->peak_bytes[s]);
          }
          r.memory->kinds.clear();
          r.replicas[0].memory->kinds.clear();
        }
        text = runs::report_json(r) + runs::requests_csv(r) + runs::timeline_csv(r);
        const std::string name = "\"name\": \"" + allocator + "\"";
        const auto at = text.find(name);
        EXPECT_NE(at, std::string::npos);
        return text.replace(at, name.size(), "");
      };
      EXPECT_TRUE(report("grouped") == report("paged")) << more;
    }
  }
}

/// Several replicas at one moment, in the middle of steps that are reported at once.
TEST(Groups, KindsOfReplicasAreAllThatIsHeld) {
  traces::Trace trace;
  for (std::int32_t i = 0; i < 40; ++i) {
    trace.arrival_ns.push_back(i * 700);
    trace.input_tokens.push_back(137 * (i % 11) + 5);
    trace.output_tokens.push_back(229 * (i % 7) + 3);
  }
  const std::vector<std::string> sets{"model=gemma-3-27b", "memory.pool_blocks=2000",
                                      "memory.allocator=grouped", "fleet.replicas=3", kSteps};
  const runs::RunResult r = try_run(trace, sets).value();
  const runs::RunResult slow = try_run(trace, sets, true).value();
  EXPECT_GT(r.memory->peak_bytes[index(State::kHole)], 0);
  ASSERT_EQ(r.memory->kinds.size(), 2U);
  for (const std::size_t s : observe::kHeldStates) {
    if (s == index(State::kPadding)) continue;  // the null block belongs to no kind of layers
    double mean = 0;
    std::int64_t peak = 0;
    for (const runs::KindMemory& kind : r.memory->kinds) {
      mean += kind.mean_bytes[s];
      peak += kind.peak_bytes[s];
    }
    EXPECT_DOUBLE_EQ(mean, r.memory->mean_bytes[s]);
    EXPECT_EQ(peak, r.memory->peak_bytes[s]);
    EXPECT_EQ(r.memory->kinds[0].peak_bytes[s], slow.memory->kinds[0].peak_bytes[s]);
    EXPECT_EQ(r.memory->kinds[0].mean_bytes[s], slow.memory->kinds[0].mean_bytes[s]);
  }
}

void expect_refused(const std::vector<std::string>& more, const std::string& words,
                    const std::string& field) {
  std::vector<std::string> sets{"memory.pool_blocks=4000", "memory.allocator=grouped", kSteps};
  sets.insert(sets.end(), more.begin(), more.end());
  const auto r = try_run(one(100, 10), sets);
  ASSERT_FALSE(r.ok()) << words;
  EXPECT_NE(r.error().message.find(words), std::string::npos) << r.error().message;
  EXPECT_EQ(r.error().field, field);
}

/// 38,596 tokens, or 14,955 blocks of groups. A request of 65,536 tokens takes 4,096 of these for the layers without a
/// window, and 577 for each of the six groups with one, ceil((1,024 - 1 + 8,192) / 16) + 1; a request of 262,144 tokens
/// takes 16,384 and again 577 each.
TEST(Groups, APoolIsNotMeasuredAsIfWindowsWereWhole) {
  const auto warnings = [](const std::string& allocator, const std::string& longest) {
    const auto r = try_run(
        one(100, 10), {"model=gemma-3-27b", "deployment.device=h100-sxm", "engine=vllm-v1:prefix_cache=false",
                       "engine.max_model_len=" + longest, "engine.allow_long_max_model_len=true",
                       "memory.allocator=" + allocator, kSteps});
    EXPECT_TRUE(r.ok()) << r.error().to_string();
    return r.value().warnings;
  };
  using Warnings = std::vector<std::string>;
  EXPECT_EQ(warnings("paged", "65536"), Warnings{"The pool holds 35568 tokens, fewer than a single request "
                                                 "of max_model_len (65536): vLLM would not start."});
  EXPECT_EQ(warnings("grouped", "65536"), Warnings{});
  EXPECT_EQ(warnings("grouped", "262144"),
            Warnings{"The pool holds 13782 blocks, fewer than a single request of max_model_len (262144) may "
                     "take (19846): vLLM would not start."});
}

/// Qwen3.5-27B: 16 layers store 4,096 bytes per token, 48 have a state: a convolution over the last three tokens of
/// 2 x 16 x 128 + 48 x 128 channels in 16 bits, and 48 matrices of 128 x 128 in 32 bits; 3,207,168 bytes, or 783 tokens
/// of a layer. So blocks have 784 tokens in 16 layers, and the states take three of them. A prompt of 2,000 tokens
/// takes three more.
TEST(Groups, StatesWorkedByHand) {
  constexpr std::int64_t kCell = 4096;
  constexpr std::int64_t kBlock = 784 * 16 * kCell;
  constexpr std::int64_t kStates = 48 * (10'240 * 3 * 2 + 48 * 128 * 128 * 4);
  static_assert(kStates == 48 * 783 * kCell);
  for (const bool step_by_step : {false, true}) {
    const runs::RunResult r =
        try_run(one(2000, 3), {"model=qwen3.5-27b", "memory.pool_blocks=20", kSteps}, step_by_step).value();
    EXPECT_EQ(r.completed, 1);
    EXPECT_EQ(r.iterations, 3);
    EXPECT_EQ(r.capacity_bytes, 20 * kBlock);
    const auto& peak = r.memory->peak_bytes;
    EXPECT_EQ(peak[index(State::kReserved)], 2002 * 16 * kCell + kStates);
    EXPECT_EQ(peak[index(State::kTail)], (3 * 784 - 2002) * 16 * kCell);
    EXPECT_EQ(peak[index(State::kPadding)], kBlock + 48 * kCell);
    EXPECT_EQ(peak[index(State::kFree)], (19 - 6) * kBlock);
    const auto mean = [&](State s) { return r.memory->mean_bytes[index(s)] * 3; };
    EXPECT_DOUBLE_EQ(mean(State::kLive), (2000 + 2001) * 16.0 * kCell + 2.0 * kStates);
    EXPECT_DOUBLE_EQ(mean(State::kReserved), (2002 + 2 + 1) * 16.0 * kCell + kStates);
    ASSERT_EQ(r.memory->kinds.size(), 2U);
    EXPECT_EQ(r.memory->kinds[0].kind, (model::LayerKind{0, 1, 16}));
    const runs::KindMemory& states = r.memory->kinds[1];
    EXPECT_EQ(states.kind, (model::LayerKind{0, 3, 48, true}));
    EXPECT_EQ(states.peak_bytes[index(State::kReserved)], kStates);
    EXPECT_DOUBLE_EQ(states.mean_bytes[index(State::kLive)] * 3, 2.0 * kStates);
    EXPECT_EQ(states.peak_bytes[index(State::kPadding)], 48 * kCell);
    EXPECT_EQ(r.held[0].most_alloc_units, 6);
  }
}

/// A preempted request gives up its states, and has blocks for them again at its next admission: two requests of 1,000
/// tokens hold 3 + 2 blocks each, and one that grows beyond 1,568 tokens needs another.
TEST(Groups, PreemptionFreesStates) {
  traces::Trace two = one(1000, 800);
  two.arrival_ns.push_back(0);
  two.input_tokens.push_back(1000);
  two.output_tokens.push_back(800);
  const auto run = [&](int blocks, bool step_by_step) {
    return try_run(two, {"model=qwen3.5-27b", "memory.pool_blocks=" + std::to_string(blocks), kSteps},
                   step_by_step)
        .value();
  };
  for (const bool step_by_step : {false, true}) {
    EXPECT_EQ(run(13, step_by_step).preemptions, 0);
    EXPECT_EQ(run(12, step_by_step).preemptions, 1);
    EXPECT_EQ(run(10, step_by_step).preemptions, 0) << "the second one waits";
    EXPECT_EQ(run(7, step_by_step).completed, 2);
    EXPECT_EQ(run(6, step_by_step).completed, 0);
  }
  EXPECT_EQ(run(12, false).makespan, run(12, true).makespan);
}

/// Public start-ups of vLLM ("Setting attention block size to N tokens", "Padding mamba page size by P%"), with vLLM
/// 0.19.1 (Qwen3.5-27B), a nightly build of March 2026 (35B-A3B) and one of May 2026 (35B-A3B, FP8 cache, no padding).
TEST(Groups, PagesOfStatesAsServersReportThem) {
  struct Reported {
    std::string model, format;
    std::int64_t tokens;
    double padding_percent;
  };
  for (const Reported& e :
       {Reported{"qwen3.5-27b", "native", 784, 0.13}, Reported{"qwen3.5-35b-a3b", "native", 1056, 0.76},
        Reported{"qwen3.5-35b-a3b", "fp8", 2096, 0}}) {
    const runs::RunResult r =
        try_run(one(100, 2), {"model=" + e.model, "format=" + e.format, "memory.pool_blocks=100", kSteps})
            .value();
    const core::MemoryLayout& layout = r.details.at(0).layout;
    EXPECT_EQ(layout.alloc_unit_tokens, e.tokens) << e.model;
    const auto filled = static_cast<double>(layout.states.slots);
    EXPECT_NEAR((static_cast<double>(e.tokens) / filled - 1) * 100, e.padding_percent, 0.005) << e.model;
  }
}

/// Issue 40691 of vllm-project/vllm, vLLM 0.19.0, Qwen3.5-27B: "GPU KV cache size: 290,864 tokens", "Maximum
/// concurrency for 32,768 tokens per request: 33.04x". The tokens leave 1,484 to 1,487 blocks in four groups; of
/// these only 1,487 gives the concurrency, with 42 blocks for tokens and three for states.
TEST(Groups, ConcurrencyWithStatesAsAServerReportsIt) {
  const Choice grouped = parse_component("grouped", "allocator", memory::allocator_descriptors()).value();
  const core::Workload nothing;
  memory::AllocatorRequest request{.workload = &nothing,
                                   .pool = {.blocks = 1487},
                                   .token_bytes = 16 * 4096,
                                   .model = model::find_model("qwen3.5-27b").value(),
                                   .prefix_cache = false};
  const memory::GroupedParts parts = memory::grouped_parts(grouped, request).value();
  EXPECT_EQ(parts.asked_blocks(32768), 45);
  EXPECT_EQ(1487 / 4 * parts.layout.alloc_unit_tokens, 290'864);
  EXPECT_EQ(std::llround(100.0 * 1487 / static_cast<double>(parts.asked_blocks(32768))), 3304);
  // The tokens of a report are as many blocks again, but for those that the division leaves over.
  request.pool = {.tokens = 290'864};
  EXPECT_EQ(memory::grouped_parts(grouped, request).value().layout.alloc_units + 1, 1484);
}

/// Ranks share heads: half of the state and half of the bytes of a token, so blocks have as many tokens as before.
TEST(Groups, RanksShareStates) {
  const auto layout = [](const std::string& ranks) {
    const auto r = try_run(one(100, 2),
                           {"model=qwen3.5-27b", "deployment.tp=" + ranks, "memory.pool_blocks=100", kSteps});
    EXPECT_TRUE(r.ok()) << r.error().to_string();
    return r.value().details.at(0).layout;
  };
  EXPECT_EQ(layout("2").alloc_unit_tokens, 784);
  EXPECT_EQ(layout("2").alloc_unit_bytes() * 2, layout("1").alloc_unit_bytes());
  // Eight ranks hold an eighth of the state, and one head: 391.5 tokens of 1,024 bytes, in blocks of 25 x 16.
  EXPECT_EQ(layout("8").alloc_unit_tokens, 400);
}

TEST(Groups, MeasuredStepsCountTokensOutsideWindowsWhichIsSaid) {
  const auto says = [](const std::string& model, const std::string& allocator) {
    const auto r = try_run(one(100, 10), {"model=" + model, "memory.pool_blocks=400",
                                          "latency=calibrated:file=-", "memory.allocator=" + allocator});
    EXPECT_TRUE(r.ok()) << r.error().to_string();
    return std::any_of(r.value().assumptions.begin(), r.value().assumptions.end(),
                       [](const std::string& sentence) {
                         return sentence.find("including those outside sliding windows") != std::string::npos;
                       });
  };
  EXPECT_TRUE(says("gemma-3-27b", "grouped"));
  EXPECT_FALSE(says("gemma-3-27b", "paged"));
  EXPECT_FALSE(says("llama-3-8b", "grouped"));
}

TEST(Groups, WhatIsRefusedWithStates) {
  const auto refused = [](const std::vector<std::string>& more) {
    std::vector<std::string> sets{"model=qwen3.5-27b", "memory.pool_blocks=4000", kSteps};
    sets.insert(sets.end(), more.begin(), more.end());
    const auto r = try_run(one(100, 10), sets);
    EXPECT_FALSE(r.ok());
    return r.ok() ? std::string() : r.error().to_string();
  };
  EXPECT_EQ(refused({"engine=vllm-v1:prefix_cache=true"}),
            "engine.prefix_cache: runs do not model prefix caching of layers with a state in place of a KV "
            "cache, as "
            "qwen3.5-27b has: expected it off, as vLLM has it for such models if nothing is said");
  EXPECT_EQ(refused({"memory.allocator=paged"}),
            "memory.allocator: expected \"grouped\", for layers with a state in place of a KV cache, as "
            "qwen3.5-27b "
            "has, found \"paged\"");
  EXPECT_EQ(
      refused({"engine=sglang"}).substr(0, 97),
      "engine: runs with engine=sglang do not model layers with a state in place of a KV cache, as qwen3");
}

TEST(Groups, WhatIsRefused) {
  expect_refused({"model=gemma-3-27b", "eviction=window:window=64"},
                 "it supports no token policy. Use eviction=full", "eviction");
  expect_refused({"model=gemma-3-27b", "eviction=window:window=64,placement=reuse"},
                 "it supports no token policy. Use eviction=full", "eviction");
  expect_refused({"model=gemma-3-27b", "memory.pool_blocks=1"}, "expected room for at least 2 blocks",
                 "memory");
  EXPECT_TRUE(try_run(one(100, 10), {"model=gemma-3-27b", "deployment.tp=4", "memory.pool_blocks=400",
                                     "memory.allocator=grouped", kSteps})
                  .ok());
}

}  // namespace
}  // namespace kvplan
