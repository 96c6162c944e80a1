// Random small traces for replays without time: bursts, prompts that share prefixes, lengths that end at block
// borders. A trace is a function of its seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/random.h"
#include "traces/record/trace.h"

namespace kvplan::test {

struct TraceShape {
  std::int64_t requests{40};
  std::int64_t hash_block{8};    ///< tokens of a prefix id; 0: no ids
  std::int64_t most_input{60};   ///< prompt tokens
  std::int64_t most_output{20};  ///< output tokens
  std::int64_t most_gap_ms{300};
};

inline traces::Trace random_trace(Random& random, const TraceShape& shape) {
  traces::Trace trace;
  std::int64_t now_ms = random.between(0, 500);
  std::vector<std::vector<std::uint32_t>> prompts;
  std::uint32_t next = 0;
  trace.prefix.block_tokens = shape.hash_block;
  if (shape.hash_block > 0) trace.prefix.offsets.push_back(0);
  for (std::int64_t i = 0; i < shape.requests; ++i) {
    if (random.chance(1, 2)) now_ms += random.between(0, shape.most_gap_ms);
    std::int64_t input = random.between(1, shape.most_input);
    if (shape.hash_block > 0 && random.chance(1, 3))
      input = ceil_div(input, shape.hash_block) * shape.hash_block;
    trace.arrival_ns.push_back(now_ms * 1'000'000);
    trace.input_tokens.push_back(static_cast<std::int32_t>(input));
    trace.output_tokens.push_back(
        static_cast<std::int32_t>(random.chance(1, 5) ? 1 : random.between(1, shape.most_output)));
    if (shape.hash_block == 0) continue;
    const auto blocks = static_cast<std::size_t>(ceil_div(input, shape.hash_block));
    std::vector<std::uint32_t> ids;
    if (!prompts.empty() && random.chance(3, 4)) {
      ids = prompts[random.below(prompts.size())];
      ids.resize(std::min(random.chance(1, 3) ? ids.size() : random.below(ids.size() + 1), blocks));
    }
    while (ids.size() < blocks) ids.push_back(next++);
    trace.prefix.ids.insert(trace.prefix.ids.end(), ids.begin(), ids.end());
    trace.prefix.offsets.push_back(trace.prefix.ids.size());
    prompts.push_back(std::move(ids));
  }
  trace.prefix.distinct = next;
  return trace;
}

/// Adds sessions and pauses, and sometimes turns that wait for each other.
inline void add_turns(Random& random, traces::Trace& trace) {
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
}

}  // namespace kvplan::test
