// Random workloads and scenarios for several replicas.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "simulator/plan/scenario.h"
#include "tests/support/random_trace.h"

namespace kvplan::test {

/// Prompts that begin alike, bursts, turns that wait for each other, sessions.
inline traces::Trace fleet_trace(Random& random) {
  traces::Trace trace = random_trace(random, {.requests = random.between(1, 50),
                                              .hash_block = 8,
                                              .most_input = 90,
                                              .most_output = 60,
                                              .most_gap_ms = random.chance(1, 2) ? 5 : 60});
  const std::int64_t sessions = random.between(1, 6);
  for (std::int64_t s = 0; s < sessions; ++s) trace.session_names.push_back(std::to_string(s));
  const bool waits = random.chance(1, 2);
  for (std::int64_t i = 0; i < trace.size(); ++i) {
    trace.session.push_back(static_cast<std::int32_t>(random.between(0, sessions - 1)));
    trace.think_ns.push_back(random.chance(1, 3) ? random.between(0, 3) * 4'000'000 : 0);
    if (!waits || i == 0 || random.chance(1, 3)) continue;
    trace.waits.request.push_back(static_cast<std::int32_t>(i));
    trace.waits.before.push_back(
        static_cast<std::int32_t>(random.between(std::max<std::int64_t>(0, i - 6), i - 1)));
  }
  trace.digest = "0123456789abcdef";
  return trace;
}

inline plan::Scenario scenario_of(const std::vector<std::string>& texts) {
  std::vector<plan::Setting> settings;
  for (const std::string& text : texts) settings.push_back(plan::parse_setting(text).value());
  auto scenario = plan::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return std::move(scenario).value();
}

/// Steps of no time, of one length, and of lengths that hardly ever agree.
inline std::string fleet_latency(Random& random) {
  const char* const kLatencies[]{
      "affine:base_ns=0,token_ns=0,context_ns=0", "affine:base_ns=4000000,token_ns=0,context_ns=0",
      "affine:base_ns=1000000,token_ns=777.7,context_ns=3.3", "affine:base_ns=0,token_ns=0,context_ns=900"};
  return std::string("latency=") + kLatencies[random.below(4)];
}

}  // namespace kvplan::test
