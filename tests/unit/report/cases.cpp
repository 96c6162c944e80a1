#include "tests/unit/report/cases.h"

#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::report::testing {

const char* const kMicroTrace = KVPLAN_SOURCE_DIR "/tests/golden/engines/micro_trace.jsonl";

traces::Trace small_trace() {
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (int i = 0; i < 12; ++i)
    rows += std::to_string(i * 1000000) + "," + std::to_string(40 + 7 * i) + "," + std::to_string(1 + 9 * i) +
            "\n";
  rows += "13000000,5000,10\n";  // more than the pool
  return traces::testing::import_text(rows).value();
}

runs::InputReaders small_inputs() {
  return {{}, [](const runs::Scenario&) -> Result<traces::Trace> { return small_trace(); }, {}, {}};
}

std::vector<runs::Setting> small_settings() {
  return {{"memory.pool_blocks", "40", {}, 0},
          {"engine.max_seqs", "6", {}, 0},
          {"latency", "affine:base_ns=1000000,token_ns=2000,context_ns=3", {}, 0},
          {"targets.ttft_s", "0.05", {}, 0}};
}

runs::Scenario scenario_of(const std::vector<runs::Setting>& settings) {
  const auto scenario = runs::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return scenario.value();
}

runs::RunResult result_of(const std::vector<runs::Setting>& settings, const traces::Trace& trace,
                          std::int64_t timeline_bins) {
  runs::RunOptions options;
  options.timeline_bins = timeline_bins;
  auto result = runs::run_scenario(scenario_of(settings), trace, options);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return std::move(result).value();
}

std::string without_sources(std::string json) {
  constexpr std::string_view kKey = "\"scenario_sources\"";
  std::size_t found = 0;
  for (std::size_t at = json.find(kKey); at != std::string::npos; at = json.find(kKey)) {
    json.erase(at, json.find(']', at) + 1 - at);
    ++found;
  }
  EXPECT_GT(found, 0U) << json.substr(0, 200);
  return json;
}

}  // namespace kvplan::report::testing
