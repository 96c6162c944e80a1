// Files of measurements: each kind gives the figures that it has, and damage is one line with its place.
#include "simulator/measured/measured_file.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/unit/traces/support.h"

namespace kvplan::measured {
namespace {

using Found = std::map<std::string, double>;

Found found(const std::string& text) {
  const auto read = read_measured(text, "m");
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  Found out;
  if (read.ok())
    for (const Measured& each : read.value()) out[each.name] = each.value;
  return out;
}

std::string error_of(const std::string& text) {
  const auto read = read_measured(text, "m");
  return read.ok() ? "no error" : read.error().to_string();
}

TEST(MeasuredFile, ResultOfVllmBenchServe) {
  EXPECT_EQ(found(R"({"date": "20260101-000000", "endpoint_type": "vllm", "model_id": "m", "num_prompts": 300,
    "request_rate": 10.0, "max_concurrency": null, "duration": 31.5, "completed": 300,
    "total_input_tokens": 61000, "total_output_tokens": 60000, "request_throughput": 9.5,
    "output_throughput": 1900.0, "total_token_throughput": 3850.5, "mean_ttft_ms": 45.5, "median_ttft_ms": 40.0,
    "std_ttft_ms": 12.0, "p99_ttft_ms": 110.0, "mean_tpot_ms": 9.25, "median_tpot_ms": 9.0, "p99_tpot_ms": 14.0,
    "mean_itl_ms": 9.1, "mean_e2el_ms": 1900.0, "p90_e2el_ms": 4000.0})"),
            (Found{{"makespan_s", 31.5},
                   {"requests.completed", 300},
                   {"tokens.input", 61000},
                   {"tokens.output", 60000},
                   {"throughput.requests_per_s", 9.5},
                   {"throughput.output_tokens_per_s", 1900},
                   {"latency_s.ttft.mean", 45.5e-3},
                   {"latency_s.ttft.p50", 40e-3},
                   {"latency_s.ttft.p99", 110e-3},
                   {"latency_s.tpot.mean", 9.25e-3},
                   {"latency_s.tpot.p50", 9e-3},
                   {"latency_s.tpot.p99", 14e-3},
                   {"latency_s.e2e.mean", 1.9},
                   {"latency_s.e2e.p90", 4}}));
}

TEST(MeasuredFile, LineOfSglangBenchServing) {
  EXPECT_EQ(found("\xEF\xBB\xBF"
                  R"({"backend": "sglang", "dataset_name": "random", "request_rate": Infinity,
    "max_concurrency": 64, "completed": 640, "duration": 200.5, "mean_e2e_latency_ms": 15000.0,
    "median_e2e_latency_ms": 14000.0, "mean_ttft_ms": 250.0, "std_itl_ms": NaN, "concurrency": 63.5})"
                  "\n"),
            (Found{{"requests.completed", 640},
                   {"makespan_s", 200.5},
                   {"latency_s.e2e.mean", 15},
                   {"latency_s.e2e.p50", 14},
                   {"latency_s.ttft.mean", 0.25}}));
  EXPECT_EQ(error_of("{\"mean_ttft_ms\": NaN, \"completed\": 0}"),
            "m: mean_ttft_ms: expected a finite number");
}

TEST(MeasuredFile, RowOfACsv) {
  EXPECT_EQ(found("id,isl,osl,batch_size,silicon_ttft_ms,silicon_tpot_ms\na,8192,1024,128,972.5,33.25\n"),
            (Found{{"latency_s.ttft.mean", 0.9725}, {"latency_s.tpot.mean", 33.25e-3}}));
  EXPECT_EQ(
      found("latency_s.ttft.p99,tpot_s,memory.capacity_bytes\r\n0.5,0.01,1e9\r\n"),
      (Found{{"latency_s.ttft.p99", 0.5}, {"latency_s.tpot.mean", 0.01}, {"memory.capacity_bytes", 1e9}}));
}

TEST(MeasuredFile, PoolOfAStartUpLog) {
  const std::string log =
      traces::testing::read_file(KVPLAN_SOURCE_DIR "/tests/golden/startup/llama-3.1-8b-tp2.log");
  EXPECT_EQ(found(log), (Found{{std::string(kPoolTokens), 1'044'688}}));
}

TEST(MeasuredFile, DamageIsOneLine) {
  EXPECT_EQ(error_of(""), "m: the file is empty");
  EXPECT_EQ(
      error_of("hello\n"),
      "m: expected the result of vllm bench serve or sglang.bench_serving as JSON, a CSV row with names such "
      "as ttft_ms, or the start-up log of a server");
  EXPECT_EQ(error_of("{\"mean_ttft_ms\": \"4\"}"), "m: mean_ttft_ms: expected a finite number");
  EXPECT_EQ(error_of("{\"mean_ttft_ms\": -4}"), "m: mean_ttft_ms: expected a number of at least 0");
  EXPECT_EQ(error_of("{\"mean_ttft_ms\": 4, \"ttft_ms\": 4}"),
            "m: ttft_ms: the file has latency_s.ttft.mean twice");
  EXPECT_EQ(error_of("{\"mean_ttft_ms\": 4}\n{\"mean_ttft_ms\": 5}\n"),
            "m: expected the result of one run, found several; keep one of the lines");
  EXPECT_EQ(error_of("[1]"), "m: expected a JSON object: the result of one run");
  EXPECT_EQ(error_of("{\"model_id\": \"x\"}"),
            "m: expected results such as mean_ttft_ms, mean_tpot_ms or request_throughput, found none");
  EXPECT_EQ(error_of("ttft_ms,tpot_ms\n1,2\n3,4\n"),
            "m: expected a heading and one row, found 2 rows; keep that of the run");
  EXPECT_EQ(error_of("ttft_ms,tpot_ms\n1,x\n"), "m:2: tpot_ms: expected a number, found \"x\"");
  EXPECT_EQ(error_of("ttft_ms,tpot_ms\n1\n"), "m:2: expected 2 cells, found 1");
}

/// Cut anywhere, a result is an error or a part of what it was; never another value.
TEST(MeasuredFile, CutAnywhere) {
  const std::string whole = R"({"completed": 300, "mean_ttft_ms": 45.5, "p99_tpot_ms": 14.0})";
  for (std::size_t end = 0; end < whole.size(); ++end)
    EXPECT_FALSE(read_measured(whole.substr(0, end), "m").ok()) << whole.substr(0, end);
}

TEST(CheckCommand, HoldsARunAgainstAResult) {
  const traces::testing::TemporaryFolder folder;
  const std::string trace = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
  traces::testing::write_file(folder.file("m.json"), "{\"mean_ttft_ms\": 1000, \"completed\": 100}");
  const auto text = traces::testing::run_kvplan("check " + trace + " --set workload.limit=100 --measured " +
                                                folder.file("m.json"));
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("Likeliest cause: outside"), std::string::npos) << text.out;
  const auto json = traces::testing::run_kvplan(
      "check " + trace + " --set workload.limit=100 --json - --measured " + folder.file("m.json"));
  EXPECT_NE(json.out.find("\"cause\": \"outside\""), std::string::npos) << json.out;
  const auto over = traces::testing::run_kvplan("check " + trace + " --measured " + folder.file("m.json") +
                                                " --json " + folder.file("m.json"));
  EXPECT_EQ(over.exit_code, 2);
  EXPECT_EQ(traces::testing::run_kvplan("check " + trace).exit_code, 2);
}

}  // namespace
}  // namespace kvplan::measured
