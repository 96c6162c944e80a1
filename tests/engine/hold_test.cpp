// Driver `hold` beyond its golden file: on random traces the serving pool and its plain model give the same table, and
// the properties that the definition gives to every table are true.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/scheduling/vllm/replay/hold.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_trace.h"

namespace kvplan {
namespace {

using replays::HoldRow;

std::vector<HoldRow> rows_of(const traces::Trace& trace, const replays::CacheOptions& options) {
  std::vector<HoldRow> rows;
  EXPECT_TRUE(replays::run_vllm_hold(trace, options, [&](const HoldRow& row) { rows.push_back(row); }).ok());
  return rows;
}

std::string text_of(const traces::Trace& trace, const replays::CacheOptions& options) {
  replays::Tables tables;
  EXPECT_TRUE(replays::kVllmHold.run(trace, options, tables).ok());
  return tables.requests;
}

/// First come first served, no request ends late, and the pool never holds more than it has.
void expect_sound(const traces::Trace& trace, const replays::CacheOptions& options,
                  const std::vector<HoldRow>& rows) {
  std::int64_t last_admission = 0;
  RequestId last = kNoRequest;
  for (const HoldRow& row : rows) {
    const std::size_t i = index(row.request);
    const std::int64_t tokens = trace.input_tokens[i] + trace.output_tokens[i] - 1;
    EXPECT_EQ(row.fits, ceil_div(tokens, options.block_tokens) <= options.blocks - 1);
    if (!row.fits) continue;
    EXPECT_GE(row.admit_step, trace.arrival_ns[i] / (options.quantum_ms.value() * 1'000'000));
    EXPECT_GE(row.admit_step, last_admission);
    EXPECT_GT(row.request, last);
    last_admission = row.admit_step;
    last = row.request;
    EXPECT_EQ(row.end_step, row.admit_step + trace.output_tokens[i]);
    EXPECT_LT(row.hit_tokens, trace.input_tokens[i]);
    EXPECT_EQ(row.table_len, row.new_blocks + row.hit_tokens / options.block_tokens);
    EXPECT_EQ(row.table_len, ceil_div(tokens, options.block_tokens));
    const auto live = std::count_if(rows.begin(), rows.end(), [&](const HoldRow& other) {
      return other.fits && other.request <= row.request && other.end_step > row.admit_step;
    });
    EXPECT_EQ(row.live_after_admit, live);
    EXPECT_LE(row.free_blocks_after_admit + row.table_len, options.blocks - 1);
  }
}

TEST(Hold, FastEqualsPlainOnRandomTraces) {
  const std::int64_t cases = test::random_cases(150);
  std::int64_t hits = 0, evicted = 0, rejected = 0, waited = 0;
  for (std::int64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<std::uint64_t>(seed), "hold");
    const traces::Trace trace = test::random_trace(random, {.requests = random.between(1, 80),
                                                            .hash_block = random.chance(1, 8) ? 0 : 8,
                                                            .most_output = random.between(1, 40)});
    replays::CacheOptions options;
    options.block_tokens = std::int64_t{1} << random.between(0, 3);
    options.blocks = 2 + random.between(20, 300) / options.block_tokens;
    options.prefix_cache = random.chance(7, 8);
    options.quantum_ms = random.between(1, 200);
    const auto rows = rows_of(trace, options);
    ASSERT_EQ(static_cast<std::int64_t>(rows.size()), trace.size());
    expect_sound(trace, options, rows);
    for (const HoldRow& row : rows) {
      hits += row.hit_tokens;
      evicted += row.evicted;
      rejected += row.fits ? 0 : 1;
      waited += row.fits && row.live_after_admit > 1 ? 1 : 0;
    }
    const std::string fast = text_of(trace, options);
    options.step_by_step = true;
    ASSERT_TRUE(fast == text_of(trace, options));
  }
  for (const std::int64_t seen : {hits, evicted, rejected, waited}) EXPECT_GT(seen, 0);
}

TEST(Hold, RequestsTooLargeForThePoolNeverJoin) {
  traces::Trace trace;
  trace.arrival_ns = {0, 0, 0};
  trace.input_tokens = {9, 2, 0};
  trace.output_tokens = {1, 3, 4};
  replays::CacheOptions options;
  options.block_tokens = 4;
  options.blocks = 3;
  EXPECT_EQ(text_of(trace, options), std::string(HoldRow::kColumns) +
                                         "0,9,1,rejected,,,0,0,0,0,0,0,0\n"
                                         "1,2,3,ok,0,3,0,1,0,1,2583214201,1,1\n"
                                         "2,0,4,rejected,,,0,0,0,0,0,0,0\n");
}

}  // namespace
}  // namespace kvplan
