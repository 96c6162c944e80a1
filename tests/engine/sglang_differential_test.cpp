// SGLang's scheduler compared with its naive model on random traces and settings: both tables, as text.
#include <gtest/gtest.h>

#include "simulator/scheduling/sglang/replay/sched.h"
#include "tests/engine/naive_sglang.h"
#include "tests/support/golden.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_trace.h"

namespace kvplan {
namespace {

using scheduling::sglang::QueueOrder;

traces::Trace draw_trace(Random& random) {
  // Sometimes more requests at once than lpm orders.
  const bool crowd = random.chance(1, 12);
  traces::Trace trace =
      test::random_trace(random, {.requests = crowd ? 150 : random.between(1, 60),
                                  .hash_block = random.chance(1, 8) ? 0 : random.between(3, 12),
                                  .most_input = random.between(5, 120),
                                  .most_output = crowd ? 6 : random.between(1, 40),
                                  .most_gap_ms = crowd ? 3 : random.between(10, 2000)});
  if (random.chance(1, 20)) trace.output_tokens[random.below(trace.output_tokens.size())] = 0;
  if (random.chance(1, 2)) return trace;
  for (const std::int32_t output : trace.output_tokens) {
    const std::int64_t allowed = random.chance(1, 6)    ? -1
                                 : random.chance(1, 10) ? random.between(0, output)
                                                        : output * random.between(1, 4);
    trace.max_tokens.push_back(static_cast<std::int32_t>(allowed));
  }
  return trace;
}

replays::CacheOptions draw_options(Random& random) {
  replays::CacheOptions options;
  options.block_tokens = random.chance(1, 3) ? 1 : random.between(1, 9);
  options.pool_tokens =
      options.block_tokens * random.between(1, 3) + random.between(10, random.chance(1, 2) ? 150 : 600);
  options.prefix_cache = random.chance(3, 4);
  options.quantum_ms = random.between(1, 100);
  // Without prefix cache but with ignore_eos, SGLang's arithmetic has no meaning for chunks that end within a page.
  options.sglang.ignore_eos = random.chance(1, 2);
  if (random.chance(1, 2)) {
    const bool pages = !options.prefix_cache && options.sglang.ignore_eos;
    options.chunk = pages || random.chance(1, 2) ? options.block_tokens * random.between(1, 6)
                                                 : options.block_tokens + random.between(0, 30);
  }
  options.scheduler.max_seqs = random.chance(1, 4) ? 100 : random.between(1, 12);
  options.sglang.order = random.chance(1, 2) ? QueueOrder::kLongestPrefix : QueueOrder::kArrival;
  options.sglang.max_prefill_tokens = random.chance(1, 2) ? 16384 : random.between(1, 100);
  options.sglang.conservativeness = static_cast<double>(random.between(0, 20)) / 10;
  options.sglang.decay_steps = random.between(1, 60);
  options.sglang.clip_tokens = random.chance(1, 2) ? 4096 : random.between(1, 20);
  options.sglang.retract_decode_steps = random.between(0, 30);
  return options;
}

/// How often a column was above 0.
std::int64_t seen(const std::string& table, std::size_t column) {
  std::int64_t count = 0;
  const auto lines = test::lines_of(table);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::size_t at = 0;
    for (std::size_t k = 0; k < column; ++k) at = lines[i].find(',', at) + 1;
    count += std::atoll(lines[i].c_str() + at) > 0 ? 1 : 0;
  }
  return count;
}

TEST(SglangSched, EqualsTheNaiveOneOnRandomTraces) {
  const std::int64_t cases = test::random_cases(400, 400);
  std::int64_t hits = 0, chunks = 0, retracted = 0, evicted = 0, full = 0, waited = 0, stopped = 0, idle = 0;
  for (std::int64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed), "sglang");
    const traces::Trace trace = draw_trace(random);
    const replays::CacheOptions options = draw_options(random);
    const auto expected = test::naive_sglang(trace, options);
    replays::Tables tables{.wants_steps = true, .requests = {}, .steps = {}};
    const Status status = replays::kSglangSched.run(trace, options, tables);
    ASSERT_EQ(status.ok(), !expected.stuck);
    if (!status.ok()) {
      const bool forever = status.error().to_string().find("waits forever") != std::string::npos;
      EXPECT_TRUE(forever ? options.sglang.ignore_eos && !options.prefix_cache
                          : options.chunk.value() % options.block_tokens != 0);
      ++(forever ? waited : stopped);
      continue;
    }
    ASSERT_EQ(tables.steps, expected.steps);
    ASSERT_EQ(tables.requests, expected.requests);
    replays::Tables quiet;
    ASSERT_TRUE(replays::kSglangSched.run(trace, options, quiet).ok());
    ASSERT_EQ(quiet.requests, expected.requests);
    hits += seen(tables.steps, 4);
    chunks += seen(tables.steps, 5);
    retracted += seen(tables.steps, 8);
    evicted += seen(tables.steps, 9);
    full += seen(tables.steps, 14);
    for (const std::string& line : test::lines_of(tables.steps))
      idle += line.find(",I,0,0,0,-1,0,") < line.find(",I,0,0,0,-1,0,0,") ? 1 : 0;  // although requests wait
  }
  for (const std::int64_t count : {hits, chunks, retracted, evicted, full, waited, stopped, idle})
    EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace kvplan
