// The table of combinations is right: small runs with two choices each are refused where the table says so, with its
// text, and nowhere else. Every pair of parts that is not in the table can run.
#include "simulator/scenario/combinations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "simulator/io/head_scores.h"
#include "simulator/io/run_event_log.h"
#include "simulator/retention/run_tokens.h"
#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

using runs::Part;

/// Choices for a scenario. `rest`: other settings that they need, which are replaced if another choice sets them.
struct Choices {
  Values rest;
  Values chosen;
};

const std::string kFixed = ",placement=compact";
const Values kRecorded{{"workload.attention", "r.kva"}, {"model", "small/config.json"}};
const std::string kGates = "[[0.9,0.1,0.4],[0.2,0.8,0.7],[0.1,0.3,0.2],[0.6,0.5,0.05]]";
const std::string kWindow = "window:window=9";
const std::string kTova = "tova:budget=12";
const std::string kSnap = "snapkv:window=4,capacity=20";

std::vector<Choices> evictions() {
  std::vector<Choices> out;
  for (const std::string& text :
       {kWindow, kWindow + ",placement=reuse", kWindow + kFixed, "streaming-llm:sink=3,recent=8" + kFixed,
        "h2o:hh=4,recent=4" + kFixed, kTova + kFixed, kSnap + kFixed,
        "seed-proportional:budget=24,fraction=0.3,recent=5" + kFixed, "random:budget=9" + std::string(),
        "random:budget=9,placement=reuse" + std::string(), "pyramidinfer" + std::string(":placement=compact"),
        "duo-attention:sink=4,recent=9,gates=" + kGates,
        "duo-attention:sink=4,recent=9,placement=compact,gates=" + kGates})
    out.push_back({{}, {{"eviction", text}}});
  for (const std::string& text :
       {"h2o:hh=4,recent=4" + std::string(), kTova + ",placement=reuse", kSnap, "h2o:hh=4,recent=4" + kFixed})
    out.push_back({kRecorded, {{"eviction", text}}});
  return out;
}

std::vector<std::vector<Choices>> axes() {
  const auto each = [](const std::string& path, const std::vector<std::string>& texts) {
    std::vector<Choices> out;
    for (const std::string& text : texts) out.push_back({{}, {{path, text}}});
    return out;
  };
  const std::string paged = "paged:block_tokens=4";
  std::vector<Choices> budgets;
  for (const char* text : {"pyramidkv-paper:total=80,beta=4",
                           "headkv:capacity=24,window=4,scores=[[1,2,3],[1,2,3],[1,1,1],[2,2,2]]"})
    budgets.push_back({{{"eviction", kSnap + kFixed}}, {{"budget", text}}});
  Values measured = kRecorded;
  measured.emplace_back("eviction", "h2o:hh=4,recent=4" + kFixed);
  budgets.push_back({measured, {{"budget", "d2o:hh_ratio=0.2"}}});
  std::vector<Choices> models = each("model", {"latent/config.json", "unlike/config.json"});
  models.push_back({{}, {{"model", "windows/config.json"}}});
  std::vector<Choices> windows{{{{"model", "windows/config.json"}}, {{"window_format", "int8"}}},
                               {{{"model", "windows/config.json"}}, {{"window_format", "cla"}}}};
  return {
      budgets,
      evictions(),
      models,
      each("format", {"int8", "kivi:group=8,residual=16", "nvfp4", "minicache", "cla", "palu:rank=8,rank_v=8",
                      "kvquant:outliers=0", "pyramid-int8"}),
      windows,
      each("reader", {"quest:budget=16", "oracle:budget=16", "quest:budget=16,dense_layers=1"}),
      each("memory.allocator",
           {paged, paged + ",table=layer", paged + ",table=head", "contiguous:reserve=oracle", "growing",
            "vmm:map_us=0,unmap_us=0", "caching", "no-cache", "grouped:block_tokens=4"}),
      each("engine", {"vllm-v1:max_model_len=300", "vllm-v1:policy=priority,max_model_len=300",
                      "vllm-v1:prefix_cache=false,max_model_len=300", "sglang:context_length=300"}),
      each("memory.replacement", {"s3fifo"}),
      each("deployment.tp", {"3"}),
      each("deployment.pp", {"2"}),
      each("latency", {"calibrated:file=steps.json"}),
  };
}

/// A choice replaces settings that the other one needs.
Values merged(const Choices& one, const Choices& other) {
  Values out{{"model", "small/config.json"},
             {"memory.allocator", "paged:block_tokens=4"},
             {"memory.pool_tokens", "150000"},
             {"latency", "affine:base_ns=90000,token_ns=100,context_ns=10"}};
  for (const Choices* each : {&one, &other}) out.insert(out.end(), each->rest.begin(), each->rest.end());
  for (const Choices* each : {&one, &other}) out.insert(out.end(), each->chosen.begin(), each->chosen.end());
  return out;
}

/// Scenarios for parts that need more than two choices.
std::vector<Values> more_scenarios() {
  const Values base = merged({}, {});
  std::vector<Values> out;
  for (const Values& more : std::vector<Values>{{{"model", "windows/config.json"},
                                                 {"memory.allocator", "paged:block_tokens=4,table=layer"},
                                                 {"eviction", kTova + kFixed}},
                                                {{"memory.allocator", "paged:block_tokens=4,table=head"},
                                                 {"eviction", "random:budget=9"},
                                                 {"deployment.tp", "3"}},
                                                {{"workload.attention", "r.kva"},
                                                 {"workload.extrapolation", "shape"},
                                                 {"model", "deep/config.json"},
                                                 {"eviction", "h2o:hh=4,recent=4"}},
                                                {{"workload.attention", "r.kva"},
                                                 {"workload.extrapolation", "shape"},
                                                 {"model", "deep/config.json"},
                                                 {"eviction", "h2o:hh=4,recent=4"},
                                                 {"budget", "uniform:capacity=20"}}}) {
    out.push_back(base);
    out.back().insert(out.back().end(), more.begin(), more.end());
  }
  return out;
}

runs::RunOptions how_to_run() {
  runs::RunOptions how = options();
  how.open_scores = io::read_head_scores;
  const auto small = how.open_model;
  how.open_model = [small](const std::string& path) {
    auto shape = small(path);
    std::vector<model::LayerRun>& runs = shape.value().runs;
    if (path.starts_with("windows")) runs[1].cache.window = runs[3].cache.window = 12;
    if (path.starts_with("unlike")) runs[2].cache.key_size *= 2;
    if (path.starts_with("deep")) {
      shape.value().layers += 2;
      runs.insert(runs.end(), 2, runs.front());
    }
    if (path.starts_with("latent")) {
      shape.value().kv_heads = 1;
      for (model::LayerRun& run : runs)
        run.cache = {.kind = model::CacheKind::kLatent, .latent_size = 32, .rope_size = 8};
    }
    return shape;
  };
  how.open_steps = [](const std::string& /*path*/,
                      std::string_view /*model*/) -> Result<runs::MeasuredSteps> {
    return bad_input("no steps here").at_field("latency");
  };
  return how;
}

struct Outcome {
  runs::RunParts parts;  ///< of a run
  std::string error;     ///< empty: it ran
  std::vector<std::string> warnings;
};

Outcome outcome_of(const Values& values, const traces::Trace& trace, bool with_log) {
  Outcome out;
  const auto scenario = resolved(values);
  if (!scenario.ok()) {
    out.error = scenario.error().to_string();
    return out;
  }
  runs::RunOptions how = how_to_run();
  io::RunEventLog log([](std::string_view /*bytes*/) { return Status(Done{}); });
  if (with_log) log.attach(scenario.value(), trace, how);
  core::Observer nothing;
  how.extra_observers.push_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
    out.parts = watched.tokens.parts;
    out.parts.add(Part::kEvents, with_log);
    return &nothing;
  });
  const auto result = runs::run_scenario(scenario.value(), trace, how);
  if (result.ok()) {
    out.warnings = result.value().warnings;
  } else {
    out.error = result.error().to_string();
  }
  return out;
}

/// The row of the table that an error comes from.
const runs::Combination* row_of(const std::string& error) {
  for (const runs::Combination& each : runs::combinations())
    if (error.find(" does not work with ") != std::string::npos &&
        error.find(": " + std::string(each.reason)) != std::string::npos &&
        error.find(". Use " + std::string(each.use)) != std::string::npos)
      return &each;
  return nullptr;
}

/// Refusals that are not in the table: rooms below scenarios state what they accept.
bool is_outside(const std::string& error) {
  for (const char* text :
       {"the allocator \"grouped\" needs layers with equal bytes", "policy=priority can preempt a request",
        "this allocator stores keys and values of each layer in", "no steps here", "selects tokens per layer",
        "budget: layer 0: expected a budget for each of", "expected the model's shape",
        "different heads or windows", "on different pipeline stages", "eviction: duo-attention:gates: "})
    if (error.find(text) != std::string::npos) return true;
  return false;
}

std::string name_of(const Values& values) {
  std::string out;
  for (const auto& [path, text] : values) out.append(path).append("=").append(text).append(" ");
  return out;
}

using Pair = std::pair<Part, Part>;

TEST(Combinations, EveryCellOfTheTableIsTrue) {
  const traces::Trace trace = trace_of(5, 60);
  std::set<Pair> ran;
  std::map<std::string, std::int64_t> refused;
  const auto all = axes();
  const auto draw = [&](const Values& values, bool with_log) {
    const Outcome outcome = outcome_of(values, trace, with_log);
    if (!outcome.error.empty()) {
      const runs::Combination* const row = row_of(outcome.error);
      EXPECT_TRUE(row != nullptr || is_outside(outcome.error)) << name_of(values) << "\n" << outcome.error;
      if (row != nullptr) ++refused[std::string(row->reason) + std::string(row->use)];
      return;
    }
    std::vector<Part> parts;
    for (const runs::PartKind& kind : runs::part_kinds())
      if (outcome.parts.has(kind.part)) parts.push_back(kind.part);
    for (const Part one : parts)
      for (const Part other : parts) {
        if (one == other) continue;
        ran.emplace(one, other);
        const runs::Combination* const row = runs::combination_of(one, other);
        if (row == nullptr || row->part != one) continue;
        EXPECT_NE(row->together, runs::Together::kRefused) << name_of(values) << "\n" << row->reason;
        if (row->together == runs::Together::kIgnored) {
          EXPECT_TRUE(std::any_of(outcome.warnings.begin(), outcome.warnings.end(), [](const auto& w) {
            return w.starts_with("prefix_cache is ignored");
          })) << name_of(values);
        }
      }
  };
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = a + 1; b < all.size(); ++b)
      for (const Choices& one : all[a])
        for (const Choices& other : all[b]) draw(merged(one, other), false);
  for (const auto& axis : all)
    for (const Choices& one : axis) draw(merged(one, one), true);

  for (const Values& values : more_scenarios()) draw(values, true);

  EXPECT_GT(ran.size(), 800U) << "pairs of parts, in both orders";
  for (const runs::Combination& row : runs::combinations()) {
    const bool of_the_command = row.part == Part::kHolders;  // tests of `kvplan run --holders` have these
    if (row.together == runs::Together::kRefused && !of_the_command) {
      EXPECT_GT(refused[std::string(row.reason) + std::string(row.use)], 0)
          << runs::part_kind(row.part).name << " + " << runs::part_kind(row.other).name;
    }
  }
}

}  // namespace
}  // namespace kvplan::small_model
