// The statistics of recorded traces equal the published table of their collection; small ones are counted by
// hand.
#include "traces/record/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

/// A value as the table prints it, with this many decimals.
double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

struct Published {
  std::string file;
  std::int64_t requests;
  double span_s, rate, cv;
  testing::Figures input, output;
  std::int64_t block, references, distinct;
  double hit_blocks, hit_tokens;
};

void expect_published(const Published& row) {
  SCOPED_TRACE(row.file);
  const Result<Trace> trace = open_trace(testing::shared_traces() + "/" + row.file);
  ASSERT_TRUE(trace.ok()) << trace.error().to_string();
  EXPECT_TRUE(trace.value().provenance.warnings.empty());
  const Statistics found = compute_statistics(trace.value());
  EXPECT_EQ(found.requests, row.requests);
  EXPECT_EQ(rounded(found.span_s.value(), 3), row.span_s);
  EXPECT_EQ(rounded(found.rate_per_s.value(), 3), row.rate);
  EXPECT_EQ(rounded(found.interarrival_cv.value(), 3), row.cv);
  testing::expect_tokens(found.input, row.input);
  testing::expect_tokens(found.output, row.output);
  ASSERT_EQ(found.prefix.has_value(), row.block > 0);
  if (row.block == 0) return;
  EXPECT_EQ(found.prefix->block_tokens, row.block);
  EXPECT_EQ(found.prefix->references, row.references);
  EXPECT_EQ(found.prefix->distinct, row.distinct);
  EXPECT_EQ(rounded(found.prefix->infinite_hit_blocks.value(), 4), row.hit_blocks);
  EXPECT_EQ(rounded(found.prefix->infinite_hit_tokens.value(), 4), row.hit_tokens);
}

TEST(TraceStatistics, AzureConversation) {
  KVPLAN_NEED_SHARED();
  expect_published({"azure_llm_2023_conv.csv",
                    19366,
                    3501.722,
                    5.530,
                    1.094,
                    {1154.7, 1020, 4083, 4142, 14050},
                    {211.1, 129, 451, 601, 1000},
                    0,
                    0,
                    0,
                    0,
                    0});
}

TEST(TraceStatistics, MooncakeConversation) {
  KVPLAN_NEED_SHARED();
  expect_published({"mooncake_fast25_conversation.jsonl.zst",
                    12031,
                    3536.999,
                    3.401,
                    3.034,
                    {12035.1, 6909, 39552, 85401, 126195},
                    {342.6, 350, 698, 1120, 2000},
                    512,
                    288500,
                    182790,
                    0.3664,
                    0.3736});
}

TEST(TraceStatistics, MooncakeArxivHead) {
  KVPLAN_NEED_SHARED();
  expect_published({"mooncake_arxiv_head1000.jsonl",
                    1000,
                    177.098,
                    5.641,
                    4.028,
                    {9792.0, 6557, 27288, 77792, 121290},
                    {199.1, 34, 610, 831, 2000},
                    512,
                    19686,
                    12207,
                    0.3799,
                    0.3907});
}

TEST(TraceStatistics, GeneratedTableThroughAMap) {
  KVPLAN_NEED_SHARED();
  ImportOptions options;
  options.format = "csv";
  options.map = "arrival=arrival_s:s,input=input_tokens,output=output_tokens,tenant=client_id";
  const Result<Trace> trace =
      open_trace(testing::shared_traces() + "/generated_servegen_deepseek-r1_1800s.csv.gz", options);
  ASSERT_TRUE(trace.ok()) << trace.error().to_string();
  EXPECT_EQ(trace.value().tenant_names.size(), 32u);
  const Statistics found = compute_statistics(trace.value());
  EXPECT_EQ(found.requests, 36999);
  EXPECT_EQ(rounded(found.span_s.value(), 3), 1799.999);
  // 36,998 gaps in 1799.999146 s; the table of the collection prints 36,999 / 1,800 s = 20.555.
  EXPECT_EQ(rounded(found.rate_per_s.value(), 3), 20.554);
  EXPECT_EQ(rounded(found.interarrival_cv.value(), 3), 1.315);
  testing::expect_tokens(found.input, {996.6, 297, 3263, 18704, 39379});
  testing::expect_tokens(found.output, {773.9, 462, 1683, 8543, 28480});
}

TEST(TraceStatistics, CountedByHand) {
  // Blocks of 10. Request 1 hits both of its blocks, although it has only 15 tokens; request 2 hits one; request 3 hits
  // none, since a known block after an unknown one does not count.
  const Result<Trace> trace = testing::import_text(
      "{\"timestamp\":0,\"input_length\":15,\"output_length\":1,\"hash_ids\":[7,8]}\n"
      "{\"timestamp\":4000,\"input_length\":15,\"output_length\":2,\"hash_ids\":[7,8]}\n"
      "{\"timestamp\":1000,\"input_length\":20,\"output_length\":3,\"hash_ids\":[7,9]}\n"
      "{\"timestamp\":1000,\"input_length\":20,\"output_length\":10,\"hash_ids\":[6,8]}\n",
      {.format = "", .map = "", .block_tokens = 10});
  ASSERT_TRUE(trace.ok()) << trace.error().to_string();
  const Statistics found = compute_statistics(trace.value());
  EXPECT_EQ(found.span_s, 4.0);
  EXPECT_EQ(found.rate_per_s, 0.75);
  // Gaps 1, 0, 3: mean 4/3, variance (1 + 16 + 25) / 27.
  EXPECT_DOUBLE_EQ(found.interarrival_cv.value(), std::sqrt(42.0 / 27.0) / (4.0 / 3.0));
  EXPECT_EQ(found.output.mean, 4.0);
  EXPECT_EQ(found.output.p50, 2);  // rank ceil(0.5 x 4) = 2
  EXPECT_EQ(found.output.p95, 10);
  EXPECT_EQ(found.prefix->infinite_hit_blocks, 3.0 / 8.0);
  EXPECT_EQ(found.prefix->infinite_hit_tokens, (15.0 + 10.0) / 70.0);
  ASSERT_EQ(trace.value().provenance.warnings.size(), 2u);
  EXPECT_EQ(trace.value().provenance.warnings[0],
            "1 of 4 arrivals are earlier than the arrival before them; runs sort them, and keep the file's "
            "order for equal times.");
  EXPECT_EQ(trace.value().provenance.warnings[1].substr(0, 39), "1 prefix ids follow a different id than");
}

TEST(TraceStatistics, OneRequestAndNone) {
  const Trace empty;
  const Statistics none = compute_statistics(empty);
  EXPECT_EQ(none.requests, 0);
  EXPECT_FALSE(none.span_s.has_value());
  EXPECT_FALSE(none.input.mean.has_value());
  Trace one;
  one.arrival_ns = {5};
  one.input_tokens = {3};
  one.output_tokens = {4};
  const Statistics single = compute_statistics(one);
  EXPECT_EQ(single.span_s, 0.0);
  EXPECT_FALSE(single.rate_per_s.has_value());
  EXPECT_FALSE(single.interarrival_cv.has_value());
  EXPECT_EQ(single.input.p50, 3);
  one.shares_clock = false;
  EXPECT_FALSE(compute_statistics(one).span_s.has_value());
}

}  // namespace
}  // namespace kvplan::traces
