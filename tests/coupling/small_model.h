// Runs of a small model, four layers of three heads, with a recording of its shape.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "simulator/attention/memory_recording.h"
#include "simulator/base/random.h"
#include "simulator/observe/ledger_sink.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "tests/unit/attention/inputs.h"
#include "tests/unit/attention/tensor_input.h"

namespace kvplan::small_model {

using Values = std::vector<std::pair<std::string, std::string>>;

inline constexpr int kLayers = 4, kHeads = 3;

inline Result<runs::Scenario> resolved(const Values& values) {
  std::vector<runs::Setting> settings;
  for (const auto& [path, text] : values) settings.push_back({path, text, {}, 0});
  return runs::resolve(settings);
}

inline traces::Trace trace_of(std::int64_t requests, std::int64_t longest) {
  Random random(17, "trace for tables");
  traces::Trace trace;
  for (std::int64_t i = 0; i < requests; ++i) {
    const auto input = static_cast<std::int32_t>(random.between(1, longest - 1));
    trace.arrival_ns.push_back(i * 300'000);
    trace.input_tokens.push_back(input);
    trace.output_tokens.push_back(static_cast<std::int32_t>(random.between(1, longest + 1 - input)));
  }
  trace.digest = "test";
  return trace;
}

inline std::shared_ptr<const attention::Recording> recorded_rows() {
  Random random(5, "tables");
  std::vector<attention::Rows> rows;
  for (int i = 0; i < kLayers; ++i)
    rows.push_back(attention::random_rows(random, kHeads, 150, attention::RowKind::kSmooth));
  return attention::recording_of(rows);
}

/// A recording with queries, keys, values and output weights.
inline std::shared_ptr<const attention::Recording> recorded_tensors() {
  Random random(6, "tables");
  attention::LayerTensors tensors = attention::random_tensors(random, kHeads, 1, 150, false);
  attention::add_output_weights(random, 5, tensors);
  return std::make_shared<attention::RecordedTensors>(
      std::vector<attention::LayerTensors>(kLayers, std::move(tensors)));
}

/// `windows`: the window of each layer; 0: none.
inline runs::RunOptions options(
    const std::vector<std::int64_t>& windows = std::vector<std::int64_t>(kLayers, 0),
    const std::shared_ptr<const attention::Recording>& recording = recorded_rows()) {
  runs::RunOptions options;
  options.request_memory = true;
  options.timeline_bins = 13;
  options.open_recording = [recording](const std::string& /*path*/) {
    return Result<std::shared_ptr<const attention::Recording>>(recording);
  };
  const auto& info = recording->info();
  const std::int64_t keys = info.key_size, values = info.value_size;
  std::vector<model::LayerRun> runs;
  for (const std::int64_t window : windows)
    runs.push_back({1, {.heads = kHeads, .key_size = keys, .value_size = values, .window = window}});
  options.open_model = [keys, values, runs, bytes = info.cache_element_bytes](const std::string& /*path*/) {
    return Result<model::ModelShape>(model::ModelShape{
        .name = "small",
        .source = "test",
        .layers = kLayers,
        .hidden = kHeads * values,
        .query_heads = kHeads,
        .kv_heads = kHeads,
        .element_bytes = bytes,
        .runs = runs,
        .weight_shape = {.feed_forward = 12 * values, .key_size = keys, .value_size = values}});
  };
  return options;
}

inline Values scenario_with(const std::string& eviction, const std::string& table, const std::string& pool) {
  return {{"model", "small/config.json"},
          {"eviction", eviction},
          {"memory.pool_tokens", pool},
          {"memory.allocator", "paged:block_tokens=8,table=" + table},
          {"latency", "roofline:bandwidth=1e9,flops=1e11,memory_efficiency=1"},
          {"engine", "vllm-v1:token_budget=64,max_seqs=12,max_model_len=300"}};
}

inline runs::RunResult run(Values values, bool recorded, bool naive, const traces::Trace& trace,
                           runs::RunOptions how = options()) {
  if (recorded) values.emplace_back("workload.attention", "r.kva");
  how.step_by_step = naive;
  const auto scenario = resolved(values);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  auto result = runs::run_scenario(scenario.value(), trace, how);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return std::move(result.value());
}

/// All figures, without the run's sentences about itself.
inline std::string figures(runs::RunResult r) {
  r.scenario = resolved({}).value();
  r.warnings.clear();
  r.assumptions.clear();
  r.coverage.reset();
  return runs::report_json(r) + runs::requests_csv(r) + runs::timeline_csv(r);
}

/// Checks that all requests are served, that fast and naive runs are equal, and that the ledger adds up at the peak.
inline void expect_twins(const runs::RunResult& fast, const runs::RunResult& naive, std::int64_t requests) {
  EXPECT_EQ(fast.completed, requests);
  EXPECT_EQ(runs::report_json(fast), runs::report_json(naive));
  EXPECT_EQ(figures(fast), figures(naive));
  const auto& peak = fast.memory->peak_bytes;
  EXPECT_EQ(std::accumulate(peak.begin(), peak.end(), std::int64_t{0}), fast.memory->capacity_bytes);
}

/// Figures that are whole numbers, and those of each request; they do not depend on the size of cells.
inline std::string whole_figures(const runs::RunResult& r) {
  std::string out = runs::requests_csv(r);
  for (const std::int64_t figure : {r.evicted_tokens, r.evicted_blocks, r.compactions, r.compaction_bytes,
                                    r.hole_bytes_peak, r.makespan.count, r.preemptions, r.iterations})
    out += std::to_string(figure) + " ";
  for (const std::int64_t bytes : r.memory->peak_bytes) out += std::to_string(bytes) + " ";
  return out;
}

inline std::int64_t at(const observe::StateCounts& counts, observe::State state) {
  return counts[observe::index(state)];
}

}  // namespace kvplan::small_model
