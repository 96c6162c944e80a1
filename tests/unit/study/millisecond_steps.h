// Runs with latencies that can be computed by hand: steps of one millisecond, requests one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulator/run/run.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::runs::testing {

using Texts = std::vector<std::pair<std::string, std::string>>;

inline constexpr std::int64_t kMs = 1'000'000;

/// Settings for steps of one millisecond, whatever the steps compute.
inline std::vector<Setting> settings_with(const Texts& more) {
  std::vector<Setting> settings{{"memory.pool_blocks", "1000", {}, 0},
                                {"latency", "affine:base_ns=1000000,token_ns=0,context_ns=0", {}, 0}};
  for (const auto& [path, text] : more) settings.push_back({path, text, {}, 0});
  return settings;
}

inline RunResult run(const traces::Trace& trace, const Texts& more) {
  return report::testing::result_of(settings_with(more), trace, 0);
}

/// Requests one after the other, a second apart; each takes as many milliseconds as it has output tokens.
inline traces::Trace apart(const std::vector<int>& output) {
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (std::size_t i = 0; i < output.size(); ++i)
    rows +=
        std::to_string(static_cast<std::int64_t>(i) * 1000 * kMs) + ",10," + std::to_string(output[i]) + "\n";
  return traces::testing::import_text(rows).value();
}

}  // namespace kvplan::runs::testing
