// Tables of arrivals and lengths of other projects: Vidur, BurstGPT, ServeGen, and tables with lengths alone.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"
#include "traces/record/statistics.h"

namespace kvplan::traces {
namespace {

using testing::expect_tokens;
using testing::import_error;
using testing::imported;
using testing::shared_traces;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;

TEST(Vidur, SecondsAndLengths) {
  const Trace trace =
      imported("arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n4.314579,396,109\n1e1,1,2\n");
  EXPECT_EQ(trace.provenance.format, "vidur");
  EXPECT_EQ(trace.arrival_ns, (Times{0, 4314579000, 10000000000}));
  EXPECT_EQ(trace.input_tokens, (Counts{374, 396, 1}));
  EXPECT_EQ(trace.output_tokens, (Counts{44, 109, 2}));
  EXPECT_TRUE(trace.shares_clock);
  EXPECT_EQ(import_error("arrived_at,num_prefill_tokens,num_decode_tokens\n-1,3,4\n"),
            "t:2: arrived_at: expected a time of at least 0 in s within 292 years, found \"-1\"");
}

TEST(Lengths, HaveNoClockAndSaySo) {
  const Trace trace = imported(
      "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n2000,12,2012,166.7\n5,6,11,0.83\n");
  EXPECT_EQ(trace.provenance.format, "lengths");
  EXPECT_EQ(trace.arrival_ns, (Times{0, 0}));
  EXPECT_EQ(trace.input_tokens, (Counts{2000, 5}));
  EXPECT_FALSE(trace.shares_clock);
  EXPECT_EQ(
      trace.provenance.warnings,
      (std::vector<std::string>{"The file has no arrival times: all requests arrive at the same time."}));
  const Statistics statistics = compute_statistics(trace);
  EXPECT_FALSE(statistics.span_s || statistics.rate_per_s || statistics.interarrival_cv);
}

TEST(Lengths, RecordedFilesHaveTheFiguresOfTheirReadme) {
  KVPLAN_NEED_SHARED();
  const auto statistics_of = [](const char* name) {
    const Result<Trace> trace = open_trace(shared_traces() + "/" + name);
    EXPECT_TRUE(trace.ok()) << trace.error().to_string();
    return compute_statistics(trace.value());
  };
  const Statistics arxiv = statistics_of("lengths_arxiv_summarization.csv");
  EXPECT_EQ(arxiv.requests, 28'257);
  expect_tokens(arxiv.input, {2588.1, 2730, 3813, 3934, 4054});
  expect_tokens(arxiv.output, {291.4, 167, 737, 3273, 4056});
  const Statistics sharegpt = statistics_of("lengths_sharegpt_8k.csv");
  EXPECT_EQ(sharegpt.requests, 30'731);
  expect_tokens(sharegpt.input, {2340.0, 1730, 6563, 7434, 8141});
  expect_tokens(sharegpt.output, {438.7, 415, 920, 998, 1024});
}

TEST(Burstgpt, ColumnsByNameWithAndWithoutSessions) {
  const Trace first = imported(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,Conversation log\n45,GPT-4,1087,0,1087,API log\n");
  EXPECT_EQ(first.provenance.format, "burstgpt");
  EXPECT_EQ(first.arrival_ns, (Times{5'000'000'000, 45'000'000'000}));
  EXPECT_EQ(first.input_tokens, (Counts{472, 1087}));
  EXPECT_EQ(first.output_tokens, (Counts{18, 0}));
  EXPECT_EQ(first.tenant_names, (std::vector<std::string>{"ChatGPT", "GPT-4"}));
  EXPECT_TRUE(first.session.empty());
  EXPECT_EQ(first.provenance.warnings,
            std::vector<std::string>{"1 of 2 requests have no output tokens; runs reject them."});
  const Trace second = imported(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5.25,7,1.5,ChatGPT,472,18,490,Conversation log\n6,,2,ChatGPT,5,6,11,API log\n");
  EXPECT_EQ(second.arrival_ns, (Times{5'250'000'000, 6'000'000'000}));
  EXPECT_EQ(second.session, (Counts{0, -1}));
  EXPECT_EQ(second.session_names, std::vector<std::string>{"7"});
  EXPECT_EQ(second.e2e_ns, (Times{1'500'000'000, 2'000'000'000}));
}

TEST(Servegen, ClientsAreTenants) {
  const Trace trace = imported(
      "arrival_s,client_id,input_tokens,output_tokens,reason_tokens\n0.000001,12,100,50,30\n0.5,3,7,8,0\n");
  EXPECT_EQ(trace.provenance.format, "servegen");
  EXPECT_EQ(trace.arrival_ns, (Times{1000, 500'000'000}));
  EXPECT_EQ(trace.output_tokens, (Counts{50, 8}));
  EXPECT_EQ(trace.tenant_names, (std::vector<std::string>{"12", "3"}));
}

TEST(Servegen, TheGeneratedSampleHasTheFiguresOfItsReadme) {
  KVPLAN_NEED_SHARED();
  const Result<Trace> trace = open_trace(shared_traces() + "/generated_servegen_deepseek-r1_1800s.csv.gz");
  ASSERT_TRUE(trace.ok()) << trace.error().to_string();
  EXPECT_EQ(trace.value().tenant_names.size(), 32U);
  const Statistics statistics = compute_statistics(trace.value());
  EXPECT_EQ(statistics.requests, 36'999);
  EXPECT_NEAR(statistics.span_s.value_or(-1), 1799.999, 0.0005);
  // (n - 1) / span; the README's 20.555 is n / 1800.
  EXPECT_NEAR(statistics.rate_per_s.value_or(-1), 36'998 / 1799.999, 0.0005);
  EXPECT_NEAR(statistics.interarrival_cv.value_or(-1), 1.315, 0.0005);
  expect_tokens(statistics.input, {996.6, 297, 3263, 18704, 39379});
  expect_tokens(statistics.output, {773.9, 462, 1683, 8543, 28480});
}

TEST(Lengths, ATableIsOfOneFormatOnly) {
  // With arrivals the format is Vidur's, without them it is "lengths".
  EXPECT_EQ(imported("num_decode_tokens,arrived_at,num_prefill_tokens\n1,2,3\n").provenance.format, "vidur");
  EXPECT_EQ(imported("num_decode_tokens,num_prefill_tokens\n1,3\n").provenance.format, "lengths");
}

}  // namespace
}  // namespace kvplan::traces
