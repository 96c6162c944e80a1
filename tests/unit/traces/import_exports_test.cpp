// Exports of load generators: records of AIPerf, reports of GuideLLM. The samples are made by hand, with the keys of
// real exports.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;
using testing::Pairs;
using testing::pairs_of;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

std::string metric(const std::string& name, const std::string& value, const std::string& unit) {
  return "\"" + name + R"(":{"value":)" + value + R"(,"unit":")" + unit + "\"}";
}

/// A line of profile_export.jsonl. Times of metadata are ns after a base.
std::string record(const std::string& user, std::int64_t start_ns, std::int64_t end_ns,
                   const std::string& metrics, const std::string& phase = "profiling",
                   const std::string& error = "null") {
  const std::int64_t base = 1759813207000000000;
  return R"({"metadata":{"session_num":45,"x_request_id":"r","x_correlation_id":")" + user +
         R"(","conversation_id":"template","turn_index":0,"request_start_ns":)" +
         std::to_string(base + start_ns) + R"(,"request_ack_ns":null,"request_end_ns":)" +
         std::to_string(base + end_ns) + R"(,"worker_id":"w","record_processor_id":"p","benchmark_phase":")" +
         phase + R"(","was_cancelled":false,"cancellation_time_ns":null},"metrics":)" + metrics +
         R"(,"error":)" + error + "}\n";
}

std::string metrics(int input, int output, const std::string& more = "") {
  return "{" + metric("input_sequence_length", std::to_string(input), "tokens") + "," +
         metric("output_token_count", "1", "tokens") + "," +
         R"("inter_chunk_latency":{"value":[4.5, 5.25],"unit":"ms"},)" +
         metric("output_sequence_length", std::to_string(output), "tokens") + more + "}";
}

TEST(Aiperf, RecordsOfRequests) {
  const std::string latencies = "," + metric("time_to_first_token", "255.886568", "ms") + "," +
                                metric("request_latency", "0.5", "sec") + "," +
                                metric("inter_token_latency", "5.2", "ms");
  const Trace trace = imported(record("a", 5, 500000007, metrics(550, 9, latencies)) +
                               record("b", 7, 500000010, metrics(20, 3)) +
                               record("a", 700000005, 800000000, metrics(600, 4)));
  EXPECT_EQ(trace.provenance.format, "aiperf");
  EXPECT_EQ(trace.arrival_ns, (Times{1759813207000000005, 1759813207000000007, 1759813207700000005}));
  EXPECT_EQ(trace.input_tokens, (Counts{550, 20, 600}));
  EXPECT_EQ(trace.output_tokens, (Counts{9, 3, 4}));
  EXPECT_EQ(trace.ttft_ns, (Times{255886568, -1, -1}));
  EXPECT_EQ(trace.e2e_ns, (Times{500000000, 500000003, 99999995})) << "without a latency, to the end";
  EXPECT_EQ(trace.session_names, (Texts{"a", "b"}));
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{2, 0}})) << "the second turn of user a waits for the first";
  EXPECT_EQ(trace.think_ns[2], 200000000);
  EXPECT_TRUE(trace.shares_clock);
  EXPECT_TRUE(trace.provenance.warnings.empty());
}

TEST(Aiperf, WarmUpAndFailedRequestsAreLeftOut) {
  const std::string cancelled = [] {
    std::string line = record("c", 3, 4, "{" + metric("error_isl", "550", "tokens") + "}");
    return line.replace(line.find("\"was_cancelled\":false"), 21, "\"was_cancelled\":true");
  }();
  const Trace trace =
      imported(record("a", 1, 2, metrics(5, 5), "warmup") +
               record("b", 2, 3, "null", "profiling", R"({"code":499,"type":"T","message":"m"})") +
               cancelled + record("d", 5, 6, metrics(7, 8)));
  EXPECT_EQ(trace.input_tokens, (Counts{7}));
  EXPECT_EQ(trace.provenance.warnings, (Texts{"1 of 4 requests are of the warm-up and are left out.",
                                              "2 of 4 requests failed or were cancelled and are left out."}));
  EXPECT_EQ(import_error(record("a", 1, 2, metrics(5, 5), "warmup")),
            "t: expected requests that were answered, found only failed ones and the warm-up (1)");
}

TEST(Aiperf, NamesOfTheFirstReleases) {
  const Trace trace = imported(
      R"({"record_id":"","metadata":{"conversation_id":"c","timestamp_ns":1234567890123456789,"worker_id":"w",)"
      R"("record_processor_id":"p","credit_phase":"profiling","error":null},"metrics":{)" +
      metric("ttft", "45.5", "ms") + "," + metric("usage_prompt_tokens", "9", "tokens") + "," +
      metric("usage_completion_tokens", "2", "tokens") + "," +
      metric("output_sequence_length", "null", "tokens") + "}}\n");
  EXPECT_EQ(trace.arrival_ns, Times{1234567890123456789});
  EXPECT_EQ(trace.input_tokens, Counts{9});
  EXPECT_EQ(trace.output_tokens, Counts{2});
  EXPECT_EQ(trace.ttft_ns, Times{45500000});
  EXPECT_EQ(trace.session_names, Texts{"c"});
}

TEST(Aiperf, ErrorsNameLineAndField) {
  const std::string good = record("a", 1, 2, metrics(5, 5));
  EXPECT_EQ(import_error(good + record("a", 1, 2, "{}")),
            "t:2: metrics.input_sequence_length: missing: expected the prompt's tokens");
  EXPECT_EQ(
      import_error(good + record("a", 1, 2, "{" + metric("input_sequence_length", "5", "tokens") + "}")),
      "t:2: metrics.output_sequence_length: missing: expected the answer's tokens");
  EXPECT_EQ(
      import_error(good + record("a", 1, 2, "{" + metric("input_sequence_length", "5.5", "tokens") + "}")),
      "t:2: metrics.input_sequence_length.value: expected a whole number from 0 to 2147483647, found "
      "\"5.5\"");
  EXPECT_EQ(
      import_error(good + record("a", 1, 2, metrics(5, 5, "," + metric("request_latency", "5", "weeks")))),
      "t:2: metrics.request_latency.unit: expected ns, us, ms or sec, found \"weeks\"");
  EXPECT_EQ(
      import_error(good + record("a", 1, 2, metrics(5, 5, "," + metric("request_latency", "-5", "ms")))),
      "t:2: metrics.request_latency.value: expected a time of at least 0 in ms within 292 years, found "
      "\"-5\"");
  EXPECT_EQ(import_error(good + R"({"metadata":{},"metrics":{}})"),
            "t:2: metadata.request_start_ns: missing: expected a time in ns");
  EXPECT_EQ(import_error(good + "{\"metadata\""),
            "t:2: expected one JSON object, found something else at byte 11 of it: \"\"");
}

TEST(Aiperf, TotalsHaveNoRequests) {
  EXPECT_EQ(
      import_error(R"({
  "schema_version": "1.0", "aiperf_version": "0.4.0",
  "request_latency": {"unit": "ms", "avg": 300.5, "p50": 297.5},
  "input_config": {}
})"),
      "t: expected the records of requests, found the totals of a run; use profile_export.jsonl beside it "
      "(AIPerf writes it at --export-level records and raw)");
}

/// A request in the list of a present report.
std::string listed(int prompt, int output, const std::string& start, const std::string& more = "") {
  return R"({"type_":"generative_request_stats","request_id":"i","request_args":"{\"body\":{\"max_tokens\":4}}",)"
         R"("output":" \"}]","info":{"request_id":"i","status":"completed","timings":{"targeted_start":1.5},)"
         R"("conversation_id":null},"input_metrics":{"text_tokens":1,"total_tokens":1},"request_start_time":)" +
         start + R"(,"request_latency":24.25,"prompt_tokens":)" + std::to_string(prompt) +
         R"(,"output_tokens":)" + std::to_string(output) +
         R"(,"total_tokens":9,"time_to_first_token_ms":171.5)" + more + "}";
}

std::string benchmark(const std::string& successful, const std::string& made,
                      const std::string& others = "") {
  return R"({"type_":"generative_benchmark","config":{"requests":{"data":"x"}},"metrics":{"request_totals":)"
         R"({"successful":)" +
         made + R"(,"errored":0,"total":9},"requests_per_second":{"successful":{"mean":0.12}}},"requests":)" +
         R"({"successful":[)" + successful + "]" + others + R"(,"total":null},"start_time":1.0})";
}

std::string report(const std::string& benchmarks) {
  return R"({"metadata":{"version":1,"guidellm_version":"0.5.0"},"args":{"target":"http://0.0.0.0:8000",)"
         R"("data":["prompt_tokens=5"]},"benchmarks":[)" +
         benchmarks + "]}\n";
}

TEST(GuideLlm, RequestsOfABenchmark) {
  const Trace trace = imported(
      report(benchmark(listed(81, 1024, "1772470696.6802611") + "," + listed(7, 3, "1772470697"), "2")));
  EXPECT_EQ(trace.provenance.format, "guidellm");
  EXPECT_EQ(trace.arrival_ns, (Times{1772470696680261100, 1772470697000000000}));
  EXPECT_EQ(trace.input_tokens, (Counts{81, 7}));
  EXPECT_EQ(trace.output_tokens, (Counts{1024, 3}));
  EXPECT_EQ(trace.ttft_ns, (Times{171500000, 171500000}));
  EXPECT_EQ(trace.e2e_ns, (Times{24250000000, 24250000000}));
  EXPECT_TRUE(trace.session.empty());
  EXPECT_TRUE(trace.shares_clock);
  EXPECT_TRUE(trace.provenance.warnings.empty());
}

TEST(GuideLlm, OlderReportsAndPrettyPrinted) {
  const Trace trace = imported(R"({
  "args": {},
  "benchmarks": [
    {"run_stats": {"start_time": 5},
     "requests": {"successful": [
       {"type_": "generative_text_response", "prompt": "When?", "prompt_tokens": 8, "output_tokens": 16,
        "start_time": 1759354691.5, "end_time": 1759354695.5, "request_latency": 4.0,
        "time_to_first_token_ms": 1264.5}
     ]}}
  ]
})");
  EXPECT_EQ(trace.arrival_ns, Times{1759354691500000000});
  EXPECT_EQ(trace.input_tokens, Counts{8});
  EXPECT_EQ(trace.output_tokens, Counts{16});
  EXPECT_EQ(trace.ttft_ns, Times{1264500000});
  EXPECT_EQ(trace.e2e_ns, Times{4000000000});
}

TEST(GuideLlm, TurnsWaitForTheAnswersBefore) {
  const auto turn = [](const std::string& start) {
    std::string text = listed(5, 5, start);
    return text.replace(text.find("\"conversation_id\":null"), 22, "\"conversation_id\":\"c\\u0041\"");
  };
  const Trace trace = imported(report(benchmark(turn("100") + "," + turn("130"), "2")));
  EXPECT_EQ(trace.session_names, Texts{"cA"});
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{1, 0}}));
  EXPECT_EQ(trace.think_ns[1], 5750000000);
}

TEST(GuideLlm, WhatIsLeftOutIsSaid) {
  const Trace trace = imported(report(
      benchmark(listed(1, 1, "1"), "5", R"(,"errored":[{"prompt_tokens":null},{}],"incomplete":[{"a":[]}])") +
      "," + benchmark(listed(2, 2, "2"), "1")));
  EXPECT_EQ(trace.input_tokens, (Counts{1, 2}));
  EXPECT_EQ(trace.provenance.warnings,
            (Texts{"The requests of 2 benchmarks are one trace, with the times at which they were sent: each "
                   "benchmark has its own rate.",
                   "2 of 5 requests failed and are left out.",
                   "1 of 5 requests were cut off at the end and are left out.",
                   "The report lists 2 of 6 answered requests, a sample: rates are that much lower."}));
  EXPECT_EQ(import_error(report(benchmark("", "0", R"(,"errored":[{},{}])"))),
            "t: expected requests that were answered, found only failed and incomplete ones (2)");
  EXPECT_EQ(import_error(report("")), "t: a trace without requests");
}

TEST(GuideLlm, ErrorsNameByteAndField) {
  const auto error = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return import_error(report(benchmark(text, "1")));
  };
  const std::string good = listed(5, 6, "7");
  EXPECT_NE(error(good, "\"prompt_tokens\":5", "\"prompt_tokens\":null").find("prompt_tokens: missing"),
            std::string::npos);
  EXPECT_NE(error(good, "\"output_tokens\":6", "\"x\":6").find("output_tokens: missing"), std::string::npos);
  EXPECT_NE(error(good, "\"request_start_time\":7", "\"x\":7")
                .find("request_start_time: missing, like start_time: expected a time in s"),
            std::string::npos);
  const std::string negative = error(good, "\"request_latency\":24.25", "\"request_latency\":-1");
  EXPECT_NE(
      negative.find("request_latency: expected a time of at least 0 in s within 292 years, found \"-1\""),
      std::string::npos)
      << negative;
  EXPECT_EQ(negative.find("t: byte "), 0U) << negative;
  const std::string text = report(benchmark(good, "1"));
  EXPECT_EQ(import_error(text.substr(0, text.size() / 2)).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace kvplan::traces
