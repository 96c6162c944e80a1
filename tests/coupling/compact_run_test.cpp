// Runs with placement=compact: counted, with and without a recording that says which tokens are dropped.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

Values compact(const std::string& eviction) {
  return {{"model", "small/config.json"},
          {"eviction", eviction + ",placement=compact"},
          {"memory.pool_tokens", "400"},
          {"memory.allocator", "paged:block_tokens=8"},
          {"latency", "affine:base_ns=90000,token_ns=100,context_ns=10"},
          {"engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300"}};
}

/// Decimal numbers with twelve digits: a run that counts cells one byte larger divides other sums by other units.
std::string in_twelve_digits(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() &&
           (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.'))
      ++end;
    const std::string number = text.substr(at, end - at);
    if (number.find('.') == std::string::npos || number.front() == '.') {
      end = std::max(end, at + 1);
      out += text.substr(at, end - at);
    } else {
      char shorter[40];
      std::snprintf(shorter, sizeof(shorter), "%.12g", std::stod(number));
      out += shorter;
    }
    at = end;
  }
  return out;
}

/// Runs fast, naive, and with the recording that says which tokens are dropped: all figures must be equal.
runs::RunResult one_run(const char* policy, const traces::Trace& trace, runs::RunOptions how) {
  SCOPED_TRACE(policy);
  Values values = compact(policy);
  auto fast = runs::run_scenario(resolved(values).value(), trace, how);
  if (!fast.ok()) {
    ADD_FAILURE() << fast.error().to_string();
    return {};
  }
  EXPECT_EQ(fast.value().completed, 40);
  EXPECT_EQ(fast.value().prefix_hit_tokens + fast.value().rehit_tokens, 0);
  EXPECT_EQ(fast.value().warnings.size(), 1U);
  EXPECT_NE(fast.value().warnings[0].find("prefix_cache is ignored"), std::string::npos);
  const auto& said = fast.value().assumptions;
  EXPECT_TRUE(std::any_of(said.begin(), said.end(), [](const std::string& s) {
    return s.find("the effect on answers, is unknown") != std::string::npos;
  }));
  how.step_by_step = true;
  const auto naive = runs::run_scenario(resolved(values).value(), trace, how);
  EXPECT_TRUE(naive.ok());
  EXPECT_EQ(runs::report_json(fast.value()), runs::report_json(naive.value()));
  EXPECT_EQ(figures(fast.value()), figures(naive.value()));

  values.emplace_back("workload.attention", "r.kva");
  how.step_by_step = false;
  const auto replayed = runs::run_scenario(resolved(values).value(), trace, how);
  if (!replayed.ok()) {
    ADD_FAILURE() << replayed.error().to_string();
    return {};
  }
  EXPECT_EQ(in_twelve_digits(figures(fast.value())), in_twelve_digits(figures(replayed.value())));
  const std::string name = std::string(policy).substr(0, std::string(policy).find(':'));
  const bool positional =
      name == "window" || name == "streaming-llm" || std::string(policy) == "seed-ring:window=25,chunk=1";
  EXPECT_EQ(replayed.value().coverage.has_value(), !positional);
  return std::move(fast).value();
}

TEST(CompactRuns, FastNaiveAndReplayedAreOneRun) {
  const auto trace = trace_of(40, 150);
  std::int64_t preemptions = 0;
  std::int64_t compactions = 0;
  for (const char* policy :
       {"h2o:hh=10,recent=12", "h2o:hh=0,recent=1", "tova:budget=20", "scissorhands:budget=15,drop=1",
        "snapkv:window=4,capacity=30", "window:window=25", "streaming-llm:sink=4,recent=9",
        "random:budget=20,recent=5,sink=2", "random:budget=5,recent=11,sink=6", "seed-lfu:budget=20",
        "seed-lru:budget=1", "expr:score=\"accumulated/(1+age)\",budget=20",
        "expr:score=last,budget=3,recent=9,sink=4,scope=layer", "oracle-suffix:budget=20",
        "oracle-exact:budget=20", "seed-ring:window=25,chunk=1", "seed-pyramid-select:budget=20",
        // The number rises and falls, or depends on the prompt.
        "seed-ring:window=25,chunk=8", "scissorhands:budget=24", "scissorhands:budget=20,drop=3,recent=30",
        "keyformer:kv_percent=40", "observed-attention:ratio=0.6", "finch:window=4,ratio=0.6",
        "pyramidinfer:ratio=0.5", "pyramidinfer:ratio=1", "seed-proportional:budget=30,fraction=0.3,recent=2",
        "seed-dynamic:by=phase,budget=40,later=20,recent=5", "seed-dynamic:by=length,share=0.4,least=9"}) {
    const auto run = one_run(policy, trace, options());
    preemptions += run.preemptions;
    compactions += run.compactions;
  }
  EXPECT_GT(preemptions, 20);
  EXPECT_GT(compactions, 300);
}

/// A request that is longer than its recording is counted, the others are replayed; the run equals one in which all are
/// counted. The coverage leaves out this request's share of requests and of memory over time.
TEST(CompactRuns, RequestsThatNoRecordingDrivesAreCounted) {
  const auto trace = trace_of(40, 200);  // recordings have 150 tokens
  for (const char* policy : {"h2o:hh=10,recent=12", "tova:budget=20", "snapkv:window=4,capacity=30"}) {
    SCOPED_TRACE(policy);
    Values values = compact(policy);
    const auto counted = runs::run_scenario(resolved(values).value(), trace, options()).value();
    values.emplace_back("workload.attention", "r.kva");
    auto how = options();
    const auto mixed = runs::run_scenario(resolved(values).value(), trace, how).value();
    EXPECT_EQ(figures(counted), figures(mixed));
    how.step_by_step = true;
    EXPECT_EQ(figures(counted), figures(runs::run_scenario(resolved(values).value(), trace, how).value()));

    std::int64_t driven = 0;
    Wide driven_ticks = 0, ticks = 0;
    for (std::size_t i = 0; i < counted.held.size(); ++i) {
      const bool drives = trace.input_tokens[i] + trace.output_tokens[i] - 1 <= 150;
      driven += drives ? 1 : 0;
      driven_ticks += drives ? counted.held[i].alloc_unit_ticks : 0;
      ticks += counted.held[i].alloc_unit_ticks;
    }
    ASSERT_GT(driven, 5);
    ASSERT_LT(driven, 35);
    EXPECT_EQ(mixed.coverage->driven_requests, driven);
    EXPECT_DOUBLE_EQ(*mixed.coverage->driven_request_fraction, static_cast<double>(driven) / 40);
    EXPECT_DOUBLE_EQ(*mixed.coverage->driven_byte_seconds_fraction,
                     static_cast<double>(driven_ticks) / static_cast<double>(ticks));
    EXPECT_NE(mixed.warnings.back().find(std::to_string(40 - driven) + " of 40 requests are longer"),
              std::string::npos);
    how = options();
    how.request_memory = false;
    const auto unasked = runs::run_scenario(resolved(values).value(), trace, how).value();
    EXPECT_EQ(unasked.coverage->driven_byte_seconds_fraction, mixed.coverage->driven_byte_seconds_fraction);
    EXPECT_TRUE(unasked.held.empty());
  }
}

/// The same for policies that use keys, queries or values, which cannot be replayed from rows alone.
TEST(CompactRuns, OfPoliciesThatReadTensorsToo) {
  const auto trace = trace_of(40, 150);
  const auto how = options(std::vector<std::int64_t>(kLayers, 0), recorded_tensors());
  std::int64_t compactions = 0;
  for (const char* policy :
       {"knorm:budget=30", "keydiff:budget=25", "lagkv:budget=30,lag=8", "expected-attention:budget=30",
        "critical-kv:window=4,capacity=30", "expr:score=-key_norm,budget=20",
        "oracle-suffix:budget=20,weights=output", "seed-pyramid-select:budget=20,importance=value-norm",
        "r-kv:window=4,budget=20,every=7", "knorm:budget=20,every=7", "keydiff:budget=20,every=5",
        "lagkv:budget=20,lag=3,every=9"})
    compactions += one_run(policy, trace, how).compactions;
  EXPECT_GT(compactions, 100);
}

TEST(CompactRuns, MetadataIsOfTheRank) {
  const auto trace = trace_of(3, 60);
  for (const auto& [tp, pp, heads] :
       std::vector<std::array<std::int64_t, 3>>{{1, 1, 256}, {4, 1, 64}, {2, 2, 64}}) {
    const auto scenario = resolved({{"eviction", "h2o:hh=4,recent=4,placement=compact"},
                                    {"deployment.tp", std::to_string(tp)},
                                    {"deployment.pp", std::to_string(pp)}});
    const auto r = runs::run_scenario(scenario.value(), trace, {});
    ASSERT_TRUE(r.ok()) << r.error().to_string();
    const core::MemoryLayout& layout = r.value().details[0].layout;
    EXPECT_EQ(layout.metadata_bytes, 4 * heads);
    EXPECT_EQ(layout.token_bytes, heads * (2 * 128 * 2 + 4));
  }
}

/// Each step after a compaction is longer by the moved bytes, twice over the bandwidth.
TEST(CompactRuns, MovingTakesTime) {
  traces::Trace trace = trace_of(1, 60);
  trace.input_tokens = {50};
  trace.output_tokens = {101};
  const auto run = [&](const std::string& latency, bool naive) {
    auto how = options();
    how.step_by_step = naive;
    Values values = compact("h2o:hh=4,recent=6");
    values.emplace_back("latency", latency);
    return runs::run_scenario(resolved(values).value(), trace, how).value();
  };
  const auto fast = run("roofline:bandwidth=1e9,memory_efficiency=1", false);
  EXPECT_EQ(runs::report_json(fast),
            runs::report_json(run("roofline:bandwidth=1e9,memory_efficiency=1", true)));
  EXPECT_EQ(fast.compactions, 1 + 99 / 8);
  EXPECT_EQ(fast.compaction_bytes, fast.compactions * 10 * fast.details[0].layout.token_bytes);
  EXPECT_NEAR(static_cast<double>(fast.placing.delay.count) / 1024,
              2.0 * static_cast<double>(fast.compaction_bytes), static_cast<double>(fast.compactions));
  EXPECT_EQ(run("affine", false).placing.delay.count, 0);
}

/// If lengths do not say how many tokens stay, a recording does.
TEST(CompactRuns, RecordingsSayHowManyStay) {
  const auto trace = trace_of(40, 150);
  for (const char* policy :
       {"ada-kv:window=4,capacity=20", "seed-threshold:threshold=0.05", "scissorhands:budget=30",
        "keyformer:kv_percent=50", "observed-attention:ratio=0.5", "finch:window=4",
        "seed-ring:window=20,chunk=4", "seed-proportional:budget=20", "pyramidinfer:ratio=0.5",
        "seed-dynamic:budget=20"}) {
    std::array<std::int64_t, 3> holes{};
    for (const std::size_t table : {0U, 1U, 2U}) {
      SCOPED_TRACE(policy + std::to_string(table));
      Values values = compact(policy);
      values[3].second += std::array{",table=all", ",table=layer", ",table=head"}[table];
      values.emplace_back("workload.attention", "r.kva");
      auto how = options();
      const auto fast = runs::run_scenario(resolved(values).value(), trace, how);
      ASSERT_TRUE(fast.ok()) << fast.error().to_string();
      how.step_by_step = true;
      const auto naive = runs::run_scenario(resolved(values).value(), trace, how);
      ASSERT_TRUE(naive.ok());
      EXPECT_EQ(runs::report_json(fast.value()), runs::report_json(naive.value()));
      EXPECT_EQ(figures(fast.value()), figures(naive.value()));
      EXPECT_EQ(fast.value().completed, 40);
      EXPECT_GT(fast.value().compactions, 0);
      EXPECT_GT(fast.value().compaction_bytes, 0);
      EXPECT_EQ(fast.value().coverage->driven_requests, 40);
      holes[table] = fast.value().hole_bytes_peak;
      const auto& said = fast.value().assumptions;
      const bool says = std::any_of(said.begin(), said.end(), [](const std::string& s) {
        return s.find("which may keep different numbers of tokens") != std::string::npos;
      });
      const bool all_alike = std::string(policy) == "seed-ring:window=20,chunk=4";
      EXPECT_EQ(says, table == 0 && !all_alike);
    }
    // Layers and heads with different numbers cause holes in each other, and none in tables of their own.
    if (std::string(policy).starts_with("pyramidinfer")) {
      EXPECT_GT(holes[0], 2 * holes[1]);
    }
    if (std::string(policy).substr(0, 6) == "ada-kv") {
      EXPECT_GT(holes[0], 2 * holes[2]);
    }
  }
}

TEST(CompactRuns, RefusesWhatLengthsDoNotSay) {
  const auto error_of = [](Values values) {
    const auto scenario = resolved(values);
    return scenario.ok() ? "resolved" : scenario.error().to_string();
  };
  const Values h2o{{"eviction", "h2o:hh=4,recent=4,placement=compact"}};
  EXPECT_EQ(error_of(h2o), "resolved");
  EXPECT_EQ(error_of({h2o[0], {"memory.allocator", "contiguous"}}),
            "eviction: placement=compact does not work with memory.allocator=contiguous: compaction moves "
            "kept tokens together to free single blocks, and only paged memory frees single blocks. Use "
            "memory.allocator=paged, or placement=holes");
  for (const char* policy : {"keyformer-gptj:kv_percent=40", "seed-threshold:threshold=0.1",
                             "ada-kv:window=4,capacity=9", "seed-dynamic:by=mass"}) {
    const Values values{{"eviction", std::string(policy) + ",placement=compact"}};
    EXPECT_EQ(error_of(values).rfind(
                  "eviction: expected a policy with a number of tokens that follows from lengths (", 0),
              0U)
        << policy;
    EXPECT_EQ(error_of({values[0], {"workload.attention", "r"}}), "resolved") << policy;
  }
  // Exactly those that can be counted, and the parameters that must be given for that.
  EXPECT_EQ(
      error_of({{"eviction", "keyformer-gptj:kv_percent=40,placement=compact"}}),
      "eviction: expected a policy with a number of tokens that follows from lengths (window, seed-ring, "
      "streaming-llm, h2o, tova, keyformer, scissorhands, observed-attention, snapkv, pyramidkv, "
      "pyramidinfer, finch, duo-attention, razor-attention, seed-pyramid-select, seed-dynamic with "
      "by=phase, knorm, keydiff, lagkv, r-kv, expected-attention, critical-kv, seed-proportional, "
      "seed-lfu, seed-lru, random, expr, oracle-suffix, oracle-exact) with placement=compact, found "
      "\"keyformer-gptj\", which needs a recording (workload.attention)");
  // Numbers that rise and fall are refused where blocks are filled with bytes.
  for (const char* falls : {"scissorhands:budget=20,", "pyramidinfer:"})
    EXPECT_NE(error_of({{"eviction", std::string(falls) + "placement=compact"}, {"format", "nvfp4"}})
                  .find("Use eviction=full, or a policy with a fixed number of tokens"),
              std::string::npos)
        << falls;
  EXPECT_EQ(error_of({{"eviction", "h2o:hh=0,recent=0,placement=compact"}}),
            "eviction: expected a policy that keeps at least one token with placement=compact, found none");
  // A recording that keeps another number than lengths give.
  Values protects = compact("scissorhands:budget=5,drop=1,recent=9");
  EXPECT_EQ(
      runs::run_scenario(resolved(protects).value(), trace_of(1, 60), options()).value().warnings.front(),
      "eviction=scissorhands is counted with 5 tokens, because it protects more than its budget.");
  protects.emplace_back("workload.attention", "r");
  const auto run = runs::run_scenario(resolved(protects).value(), trace_of(4, 60), options());
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().to_string().rfind("workload.attention: expected 5 tokens kept of ", 0), 0U);
}

/// Without recordings, the error names what each policy needs, and only if it needs it.
TEST(CompactRuns, SayWhatElseAPolicyNeeds) {
  const std::string recordings = ": give recordings as workload.attention, ";
  const std::string compact =
      "use placement=compact, which needs no recording because it only counts kept tokens, ";
  const std::string other =
      "or use a policy that needs no recording (window, seed-ring, streaming-llm, duo-attention, "
      "razor-attention, random, expr)";
  for (const auto& [policy, how, counted] : std::vector<std::tuple<std::string, std::string, bool>>{
           {"h2o:hh=4,recent=4", "selects by attention", true},
           {"tova:budget=4", "selects by attention", true},
           {"snapkv:window=4,capacity=9", "selects by attention", true},
           {"pyramidkv:window=4,capacity=40", "selects by attention", true},
           {"seed-lfu:budget=9", "selects by attention", true},
           {"oracle-exact:budget=9", "selects by attention", true},
           {"scissorhands:budget=20", "selects by attention", true},
           {"scissorhands:budget=20,drop=1", "selects by attention", true},
           {"keyformer", "selects by attention", true},
           {"seed-dynamic:by=length", "selects by attention", true},
           {"seed-dynamic:by=mass", "selects by attention", false},
           {"knorm:budget=9,every=4", "selects by keys, queries or values", true},
           {"seed-threshold:threshold=0.1", "selects by attention", false},
           {"knorm:budget=9", "selects by keys, queries or values", true},
           {"critical-kv:window=2,capacity=9", "selects by keys, queries or values", true},
           {"expr:score=last,budget=9", "selects by attention", true}})
    for (const char* placement : {"holes", "reuse"}) {
      const Values values{{"eviction", policy + ",placement=" + placement}};
      const std::string text =
          policy.find(':') == std::string::npos ? policy + ":placement=" + placement : values[0].second;
      const auto scenario = resolved({{"eviction", text}});
      ASSERT_FALSE(scenario.ok()) << policy;
      EXPECT_EQ(scenario.error().to_string(), "eviction: \"" + policy.substr(0, policy.find(':')) + "\" " +
                                                  how + recordings + (counted ? compact : "") + other);
    }
  EXPECT_EQ(resolved({{"eviction", "tova:budget=4"}, {"memory.allocator", "contiguous"}}).error().to_string(),
            "eviction: \"tova\" selects by attention" + recordings + other)
      << "nothing is compacted there";
}

}  // namespace
}  // namespace kvplan::small_model
