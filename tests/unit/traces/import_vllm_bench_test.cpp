// Results of vllm bench serve and sglang.bench_serving: arrays with an entry per request.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;
using testing::run_kvplan;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;

/// The text before the arrays of vLLM.
const std::string kTotals =
    R"("date": "20260101-000000", "endpoint_type": "openai", "label": null, "model_id": "m", "num_prompts": 3, )"
    R"("request_rate": "inf", "burstiness": 1.0, "max_concurrency": null, "duration": 10.5, "completed": 2, )"
    R"("failed": 1, "total_input_tokens": 60, "total_output_tokens": 5, "request_throughput": 0.19)";
const std::string kLengths = R"("input_lens": [10, 20, 30], "output_lens": [3, 2, 0])";

std::string run_of(const std::string& more) {
  return "{" + kTotals + ", " + kLengths + (more.empty() ? "" : ", ") + more + "}\n";
}

TEST(VllmBench, ArrivalIsTheStartLessTheWaitInTheClient) {
  const Trace trace = imported(run_of(
      R"("ttfts": [0.25, 0.5, 0.0], "itls": [[0.125, 0.0625], [1e-05], []],
      "start_times": [1000.5, 1000.123456789, 1001], "queue_times": [0.0, 0.023456789, 0],
      "generated_texts": ["a", "b\"]", ""], "errors": ["", "", "Traceback\n..."], "mean_ttft_ms": 375.0)"));
  EXPECT_EQ(trace.arrival_ns, (Times{1000500000000, 1000100000000}));
  EXPECT_EQ(trace.input_tokens, (Counts{10, 20}));
  EXPECT_EQ(trace.output_tokens, (Counts{3, 2}));
  EXPECT_EQ(trace.ttft_ns, (Times{250000000, 500000000}));
  EXPECT_EQ(trace.e2e_ns, (Times{437500000, 500010000}));
  EXPECT_TRUE(trace.session.empty());
  EXPECT_TRUE(trace.shares_clock);
  EXPECT_EQ(trace.provenance.format, "vllm-bench");
  EXPECT_EQ(trace.provenance.warnings,
            (std::vector<std::string>{"1 of 3 requests failed and are left out.",
                                      "1 of 2 requests waited in the client before they were sent: they "
                                      "arrive before that wait, but the recorded ttft and e2e exclude it.",
                                      "1 of 2 arrivals are earlier than the arrival before them; runs sort "
                                      "them, and keep the file's order for equal times."}));
}

TEST(VllmBench, RecordedLatenciesCountBeforeSums) {
  const Trace trace = imported(
      run_of(R"("ttfts": [0.25, null, 0.5], "itls": [[1], [1], null], "latencies": [2, null, null], )"
             R"("start_times": [1, 2, 3])"));
  EXPECT_EQ(trace.ttft_ns, (Times{250000000, -1, 500000000}));
  EXPECT_EQ(trace.e2e_ns, (Times{2000000000, -1, -1}));
}

TEST(VllmBench, WithoutStartTimesThereIsNoClock) {
  // As SGLang writes it: an object per run and line, numbers that JSON does not have, no start times.
  const std::string run = R"({"backend": "sglang", "request_rate": Infinity, "x": [NaN, -Infinity], )" +
                          kTotals + ", " + kLengths +
                          R"(, "ttfts": [0.5, 0.5, 0], "itls": [[], [0.5], []], )" +
                          R"("generated_texts": ["", "", ""], "errors": ["", null, "x"]})" + "\n";
  const Trace trace = imported(run + run);
  EXPECT_FALSE(trace.shares_clock);
  EXPECT_EQ(trace.arrival_ns, Times(4, 0));
  EXPECT_EQ(trace.input_tokens, (Counts{10, 20, 10, 20}));
  EXPECT_EQ(trace.e2e_ns, (Times{500000000, 1000000000, 500000000, 1000000000}));
  EXPECT_EQ(trace.provenance.options, std::vector<std::string>{"arrival=0"});
  EXPECT_EQ(trace.provenance.warnings,
            (std::vector<std::string>{"2 of 6 requests failed and are left out.",
                                      "The results have no start_times: all requests arrive at 0, so rates "
                                      "and waiting times are meaningless."}));
}

TEST(VllmBench, RunsOfOneFileAndPrettyPrinted) {
  const std::string times = R"("start_times": [1, 2, 3])";
  const Trace two = imported(run_of(times) + run_of(times));
  EXPECT_EQ(two.arrival_ns, (Times{1000000000, 2000000000, 3000000000, 1000000000, 2000000000, 3000000000}));
  EXPECT_EQ(two.provenance.warnings.front(),
            "The start times of 2 runs are read as times of one clock, which is only true for one client "
            "machine without a restart.");
  std::string pretty;
  for (const char c : run_of(times)) {
    pretty += c;
    if (c == '{' || c == '[' || c == ',') pretty += "\n  ";
  }
  testing::expect_same(imported(pretty), imported(run_of(times)));
}

TEST(VllmBench, ErrorsSayTheByteTheFieldAndWhatWasExpected) {
  const auto error = [](const std::string& more, const std::string& at, const std::string& rest) {
    const std::string text = run_of(more);
    EXPECT_EQ(import_error(text), "t: byte " + std::to_string(text.find(at)) + ": " + rest);
  };
  error(R"("ttfts": [0.1, 0.2])", "[0.1", "ttfts: expected 3 entries as in input_lens, found 2");
  error(R"("ttfts": [0.1, -0.2, 0])", "-0.2",
        "ttfts: expected a time of at least 0 in s within 292 years, found \"-0.2\"");
  error(R"("itls": [[0.1, "x"], [], []])", "\"x\"",
        "itls: expected a list of times of at least 0 in s within 292 years, found \"\"x\"]\"");
  error(R"("itls": [0.1, [], []])", "0.1, [",
        "itls: expected a list of times of at least 0 in s within 292 years, found \"0.1\"");
  error(R"("errors": ["", 5, ""])", "5, \"\"",
        "errors: expected a string, empty for a successful request, found \"5\"");
  error(R"("start_times": [1, null, 3])", "[1, n", "start_times: request 1: expected a time, found null");
  error(R"("start_times": [1, 2, 3], "queue_times": [0, 3, 0])", "[0, 3",
        "queue_times: request 1: expected at most the request's start time");
  error(R"("input_lens": [1, 2, 3])", "[1, 2",
        "input_lens: expected one array of this name per run, found a second");
  const std::string lengths = "{" + kTotals + R"(, "input_lens": [1, 2.5], "output_lens": [1, 2]})";
  EXPECT_EQ(import_error(lengths),
            "t: byte " + std::to_string(lengths.find("2.5")) +
                ": input_lens: expected a whole number from 0 to 2147483647, found \"2.5\"");
  const std::string first = run_of(R"("start_times": [1, 2, 3])");
  EXPECT_EQ(import_error(first + run_of("")),
            "t: byte " + std::to_string(first.size()) +
                ": start_times: expected these arrays in all runs or in none, found a run without");
  EXPECT_EQ(import_error(run_of("") + first),
            "t: byte " + std::to_string(run_of("").size()) +
                ": start_times: expected these arrays in all runs or in none, found a run with");
  EXPECT_EQ(import_error(run_of(R"("errors": ["a", "b", "c"])")),
            "t: expected successful requests, found only failed ones (3)");
  EXPECT_EQ(import_error("{" + kTotals + R"(, "input_lens": [], "output_lens": []})"),
            "t: a trace without requests");
  EXPECT_EQ(import_error(first + "[]"),
            "t: byte " + std::to_string(first.size()) + ": expected a JSON object, found \"[]\"");
}

TEST(VllmBench, AResultWithoutTheArraysSaysHowToHaveThem) {
  const std::string how =
      "expected an entry per request, found a run without them; use --save-result --save-detailed of vllm "
      "bench serve, or --output-details of sglang.bench_serving";
  EXPECT_EQ(import_error("{" + kTotals + "}"), "t: byte 0: input_lens: " + how);
  EXPECT_EQ(import_error("\n{" + kTotals + R"(, "input_lens": [1]})"), "t: byte 1: output_lens: " + how);
}

TEST(VllmBench, TextsOfAnySizeArePassedOver) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.file("head"), "{" + kTotals + ", " + kLengths + R"(, "generated_texts": [")");
  testing::write_file(folder.file("tail"), R"(", "", ""], "start_times": [1, 2, 3]})");
  // 300 MB of text on one line; the program has 96 MiB of address space.
  ASSERT_EQ(
      std::system(("cd '" + folder.path() +
                   "' && { cat head; head -c 300000000 /dev/zero | tr '\\0' x; cat tail; } | gzip -1 > r.gz")
                      .c_str()),
      0);
  const testing::Outcome head = run_kvplan("trace head '" + folder.file("r.gz") + "'", 96);
  EXPECT_EQ(head.exit_code, 0) << head.err;
  EXPECT_EQ(head.out,
            " request       arrival s    input   output\n       0        0.000000       10        3\n"
            "       1        1.000000       20        2\n       2        2.000000       30        0\n");
}

}  // namespace
}  // namespace kvplan::traces
