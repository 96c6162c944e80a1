// Runs that replay recordings.
#pragma once

#include <gtest/gtest.h>

#include "simulator/attention/drops.h"
#include "simulator/attention/memory_recording.h"
#include "simulator/base/random.h"
#include "simulator/io/attention_json.h"
#include "simulator/results/report.h"
#include "simulator/run/run.h"
#include "simulator/study/inputs.h"
#include "tests/coupling/settled.h"
#include "tests/support/observed_run.h"
#include "tests/unit/attention/inputs.h"

namespace kvplan {

using observe::State;

extern const std::string kInputs;  ///< a folder

inline traces::Trace trace_of(const std::vector<std::array<std::int32_t, 2>>& lengths, std::int64_t gap_ns) {
  traces::Trace trace;
  std::int64_t now = 0;
  for (const auto& [input, output] : lengths) {
    trace.arrival_ns.push_back(now);
    trace.input_tokens.push_back(input);
    trace.output_tokens.push_back(output);
    now += gap_ns;
  }
  trace.digest = "test";
  return trace;
}

inline runs::Scenario scenario_of(std::vector<std::pair<std::string, std::string>> values) {
  std::vector<runs::Setting> settings;
  for (auto& [path, text] : values) settings.push_back({path, text, {}, 0});
  const auto scenario = runs::resolve(settings);
  EXPECT_TRUE(scenario.ok()) << scenario.error().to_string();
  return scenario.value();
}

inline runs::RunOptions options_with(std::shared_ptr<const attention::Recording> recording = nullptr) {
  runs::RunOptions options;
  options.request_memory = true;
  options.open_recording = [recording](const std::string& path) {
    return recording == nullptr ? io::open_attention(path)
                                : Result<std::shared_ptr<const attention::Recording>>(recording);
  };
  return options;
}

/// One request over a whole recording: the live tokens must be those that the policy keeps, block by block.
inline void compare_with_token_level(const std::shared_ptr<const attention::Recording>& recording,
                                     const std::string& policy, std::int64_t prompt) {
  const std::int64_t tokens = recording->info().sequences[0].tokens;
  const auto outcome = attention::run_policy(*recording, policy, prompt);
  constexpr std::int64_t kBlock = 4;
  const auto scenario = scenario_of({{"workload.attention", "one"},
                                     {"eviction", policy},
                                     {"memory.pool_tokens", "400"},
                                     {"memory.allocator", "paged:block_tokens=4"}});
  const auto trace =
      trace_of({{{static_cast<std::int32_t>(prompt), static_cast<std::int32_t>(tokens + 1 - prompt)}}}, 0);
  std::optional<Settled> settled;
  auto options = options_with(recording);
  options.step_by_step = true;  // a span for each token
  options.extra_observers.push_back([&](const runs::Watched& watched) -> Result<core::Observer*> {
    return static_cast<core::Observer*>(&settled.emplace(watched.ledger, prompt));
  });
  const auto result = runs::run_scenario(scenario, trace, options);
  ASSERT_TRUE(result.ok()) << result.error().to_string();

  const auto& info = recording->info();
  const std::int64_t heads = info.query_heads;
  const std::int64_t cell = std::int64_t{info.key_size + info.value_size} * info.cache_element_bytes;
  const auto parsed = attention::parse_policy(policy);
  ASSERT_TRUE(parsed.ok());
  const std::int64_t metadata = parsed.value().kind->traits(parsed.value().choice).state_bytes_per_cell;
  const auto layout = result.value().details[0].layout;
  EXPECT_EQ(layout.token_bytes, heads * (cell + metadata));
  EXPECT_EQ(layout.alloc_units, 400 / kBlock - 1);
  for (std::int64_t n = prompt; n < tokens; ++n) {
    const attention::Sets& sets =
        n == prompt ? outcome.after_prefill : outcome.retained[static_cast<std::size_t>(n - 1 - prompt)];
    // TOVA has one set for all heads of the layer.
    const std::int64_t heads_per_set = heads / static_cast<std::int64_t>(sets.size());
    std::int64_t kept = 0;
    std::vector<bool> needed(static_cast<std::size_t>(ceil_div(n, kBlock)), false);
    for (const auto& set : sets) {
      kept += static_cast<std::int64_t>(set.size()) * heads_per_set;
      for (const std::int32_t p : set) needed[static_cast<std::size_t>(p / kBlock)] = true;
    }
    if (n % kBlock != 0) needed.back() = true;  // a cell of the block is still to be written
    std::int64_t written_in_held = 0;
    for (std::int64_t p = 0; p < n; ++p)
      written_in_held += needed[static_cast<std::size_t>(p / kBlock)] ? heads : 0;
    const auto& bytes = settled->bytes.at(n);
    EXPECT_EQ(bytes[index(State::kLive)], kept * cell) << n;
    EXPECT_EQ(bytes[index(State::kMetadata)], kept * metadata) << n;
    EXPECT_EQ(bytes[index(State::kHole)], (written_in_held - kept) * (cell + metadata)) << n;
  }
  EXPECT_EQ(result.value().coverage->recordings, 1);
  EXPECT_EQ(result.value().coverage->used, 1);
  EXPECT_EQ(result.value().coverage->driven_requests, 1);
}

inline void compare_with_token_level(const std::string& input, const std::string& policy,
                                     std::int64_t prompt) {
  SCOPED_TRACE(input + " " + policy);
  const auto opened = io::open_attention(kInputs + input);
  ASSERT_TRUE(opened.ok());
  compare_with_token_level(opened.value(), policy, prompt);
}

inline std::shared_ptr<const attention::Recording> random_recording(int layers, int heads, int tokens) {
  Random random(5, "coupling");
  std::vector<attention::Rows> rows;
  for (int i = 0; i < layers; ++i)
    rows.push_back(attention::random_rows(random, heads, tokens, attention::RowKind::kSmooth));
  return attention::recording_of(rows);
}

inline traces::Trace short_trace(std::int64_t requests, std::int64_t longest, std::int64_t gap_ns) {
  Random random(11, "short trace");
  std::vector<std::array<std::int32_t, 2>> lengths;
  for (std::int64_t i = 0; i < requests; ++i) {
    const auto input = random.between(1, longest - 1);
    lengths.push_back({static_cast<std::int32_t>(input),
                       static_cast<std::int32_t>(random.between(1, longest + 1 - input))});
  }
  return trace_of(lengths, gap_ns);
}

}  // namespace kvplan
