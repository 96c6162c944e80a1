// SGLang's drivers beyond their golden files: what is rejected, what stops a run, and number formats.
#include <gtest/gtest.h>

#include "simulator/scheduling/replay/python_number.h"
#include "simulator/scheduling/sglang/replay/sched.h"
#include "simulator/scheduling/sglang/replay/seq.h"

namespace kvplan {
namespace {

TEST(PythonNumber, IsWhatReprWrites) {
  // Left: the text that Python 3.11 prints.
  for (const auto& [text, number] :
       {std::pair{"0.7", 0.7}, std::pair{"0.06999999999999999", 0.06999999999999999}, std::pair{"1.0", 1.0},
        std::pair{"0.0", 0.0}, std::pair{"-0.25", -0.25}, std::pair{"0.0001", 0.0001},
        std::pair{"9.5e-05", 0.000095}, std::pair{"1e-05", 0.00001}, std::pair{"1.5e-300", 1.5e-300},
        std::pair{"123456789012345.0", 123456789012345.0}, std::pair{"1e+16", 1e16},
        std::pair{"1000000000000000.0", 1e15}})
    EXPECT_EQ(replays::python_number(number), text);
}

traces::Trace three_requests() {
  traces::Trace trace;
  trace.arrival_ns = {0, 120'000'000, 0};
  trace.input_tokens = {4, 5, 90};
  trace.output_tokens = {2, 1, 3};
  return trace;
}

replays::CacheOptions options_of(std::int64_t page, std::int64_t pool) {
  replays::CacheOptions options;
  options.block_tokens = page;
  options.pool_tokens = pool;
  return options;
}

std::string error_of(const traces::Trace& trace, const replays::CacheOptions& options) {
  replays::Tables tables;
  const Status status = replays::kSglangSched.run(trace, options, tables);
  return status.ok() ? "" : status.error().to_string();
}

TEST(SglangSched, TooLongPromptsNeverJoin) {
  replays::Tables tables{.wants_steps = true, .requests = {}, .steps = {}};
  ASSERT_TRUE(replays::kSglangSched.run(three_requests(), options_of(4, 95), tables).ok());
  // Whole pages of the pool: 92 tokens, so a prompt of 86 is too long.
  EXPECT_EQ(tables.requests, std::string(replays::SglangRequestRow::kColumns) +
                                 "0,4,2,2,0,0,0,1,0,0,1,0,1,4,1,0\n"
                                 "1,5,1,1,2,2,2,2,0,0,1,0,1,5,0,0\n"
                                 "2,90,3,0,0,,,,0,0,0,0,0,0,0,0\n");
  replays::Tables empty{.wants_steps = true, .requests = {}, .steps = {}};
  ASSERT_TRUE(replays::kSglangSched.run(traces::Trace{}, options_of(4, 95), empty).ok());
  EXPECT_EQ(empty.requests, replays::SglangRequestRow::kColumns);
}

TEST(SglangSched, AClientMayAllowLessThanTheOutput) {
  traces::Trace trace = three_requests();
  trace.max_tokens = {1, -1, -1};
  const auto rows = replays::run_sglang_sched(trace, options_of(1, 200), {}).value();
  EXPECT_EQ(rows[0].max_new_tokens, 1);
  EXPECT_EQ(rows[0].finish_step, rows[0].first_token_step);
  EXPECT_EQ(rows[2].max_new_tokens, 3);
  EXPECT_EQ(rows[2].finish_step, rows[2].first_token_step + 3);  // a prefill came before
}

TEST(SglangSched, SettingsThatMeanNothingAreRefused) {
  auto options = options_of(8, 800);
  EXPECT_EQ(error_of(three_requests(), options), "");
  options.chunk = 7;
  EXPECT_EQ(error_of(three_requests(), options), "--chunk: expected at least 8, found 7");
  EXPECT_EQ(error_of(three_requests(), options_of(8, 7)),
            "--pool-tokens: expected at least a page of 8 tokens, found 7");
  // 90 tokens are 12 pages of 8, which leaves 4 tokens for 3 and one in reserve; 93 tokens need one more page.
  options = options_of(8, 100);
  options.prefix_cache = false;
  options.sglang.ignore_eos = true;
  traces::Trace trace = three_requests();
  trace.input_tokens[2] = 86;
  trace.output_tokens[2] = 7;
  EXPECT_NE(error_of(trace, options).find("request 2 waits forever"), std::string::npos);
  trace.output_tokens[2] = 6;
  EXPECT_EQ(error_of(trace, options), "");
}

TEST(SglangSeq, WhatAnEmptyPoolCannotHoldIsRejected) {
  traces::Trace trace = three_requests();
  trace.output_tokens[1] = 0;
  replays::Tables tables;
  ASSERT_TRUE(replays::kSglangSeq.run(trace, options_of(4, 92), tables).ok());
  EXPECT_EQ(tables.requests,
            std::string(replays::SglangSeqRow::kColumns) +
                "0,4,2,ok,0,0,0,0,0,88,4\n"
                "1,5,0,rejected,0,0,0,0,0,0,0\n"
                "2,90,3,ok,0,4,0,1,3,0,92\n");  // decoding asks for memory twice in vain, and then needs none
  tables = {};
  ASSERT_TRUE(replays::kSglangSeq.run(trace, options_of(4, 91), tables).ok());
  EXPECT_NE(tables.requests.find("2,90,3,rejected,0,0,0,0,0,0,0\n"), std::string::npos);
}

}  // namespace
}  // namespace kvplan
