// Reports in binary form: the JSON converted from them is that of the run, for any run.
#include <gtest/gtest.h>

#include "proto/report.pb.h"
#include "simulator/io/report_message.h"
#include "simulator/results/report.h"
#include "tests/unit/io/document_support.h"
#include "tests/unit/report/cases.h"
#include "traces/import/open_trace.h"

namespace kvplan::io {
namespace {

using report::testing::kMicroTrace;
using report::testing::result_of;
using runs::Setting;

struct Case {
  const char* name;
  std::vector<Setting> settings;
  bool micro{false};  ///< with prefix hashes
};

Setting set(const char* path, const char* text) {
  return {path, text, {}, 0};
}

std::vector<Case> cases() {
  std::vector<Setting> small = report::testing::small_settings();
  const auto with = [&](std::vector<Setting> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return more;
  };
  return {
      {"paged, preemptions, a rejected request, a target", small},
      {"defaults", {}},
      {"contiguous", {set("memory.pool_tokens", "1000"), set("memory.allocator", "contiguous:reserve=pow2")}},
      {"eviction", with({set("eviction", "window:window=32")})},
      {"sinks", with({set("eviction", "streaming-llm:sink=2,recent=30")})},
      {"a fleet", with({set("fleet", "replicas=3"), set("targets.e2e_s", "1e1")})},
      {"a fleet with an idle replica", with({set("fleet.replicas", "16")})},
      {"groups of layers in a fleet",
       {set("model", "gemma-3-27b"), set("memory.pool_blocks", "900"), set("memory.allocator", "grouped"),
        set("fleet.replicas", "2")}},
      {"groups of layers, no time",
       {set("model", "gemma-3-27b"), set("memory.pool_blocks", "900"), set("memory.allocator", "grouped"),
        set("latency", "affine:base_ns=0,token_ns=0,context_ns=0"), set("workload.limit", "1")}},
      {"no request", with({set("workload.limit", "0")})},
      {"no time", {set("latency", "affine:base_ns=0,token_ns=0,context_ns=0"), set("workload.limit", "1")}},
      {"prefix hits", {set("memory.pool_blocks", "1000"), set("workload.limit", "300")}, true},
      {"prefix hits in a fleet with all targets",
       {set("memory.pool_blocks", "700"), set("workload.limit", "300"), set("fleet.replicas", "2"),
        set("targets.ttft_s", "0.50"), set("targets.tpot_s", "0.02"), set("targets.e2e_s", "3e0"),
        set("targets.percentiles_s", "ttft.p99=2,queue.p50=.001")},
       true}};
}

runs::RunResult run(const Case& c, std::int64_t bins = 0) {
  return result_of(c.settings,
                   c.micro ? traces::open_trace(kMicroTrace).value() : report::testing::small_trace(), bins);
}

ReportFile read(std::string_view bytes) {
  traces::Input input = testing::input_of(bytes);
  auto read = read_report(input);
  EXPECT_TRUE(read.ok()) << read.error().to_string();
  return read.ok() ? std::move(read).value() : ReportFile{};
}

std::string copied(std::string_view bytes) {
  traces::Input input = testing::input_of(bytes);
  return testing::bytes_of([&](const DocumentWriter::Sink& sink) { return copy_report_binary(input, sink); });
}

TEST(ReportBinary, GivesTheJsonOfTheRun) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const runs::RunResult result = run(c);
    const std::string json = runs::report_json(result);
    const std::string bytes = testing::report_bytes(result);
    const ReportFile file = read(bytes);
    EXPECT_EQ(file.json, json);
    EXPECT_FALSE(file.later_fields || file.timeline);
    EXPECT_EQ(testing::report_bytes(result), bytes) << "same result, same bytes";
    EXPECT_EQ(copied(bytes), bytes);
    // The JSON gives the same binary form again.
    const std::string from_json = copied(json);
    EXPECT_EQ(read(from_json).json, json);
    EXPECT_EQ(read(json).json, json);
  }
}

TEST(ReportBinary, HasTheTimelineWhereItWasAskedFor) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    for (const std::int64_t bins : {1, 7, 5000}) {  // 5,000: several parts
      const runs::RunResult result = run(c, bins);
      const std::string bytes = testing::report_bytes(result, true);
      traces::Input input = testing::input_of(bytes);
      EXPECT_EQ(testing::bytes_of([&](const DocumentWriter::Sink& s) { return copy_timeline_csv(input, s); }),
                runs::timeline_csv(result));
      const ReportFile file = read(bytes);
      EXPECT_EQ(file.json, runs::report_json(result));
      EXPECT_TRUE(file.timeline);
      EXPECT_EQ(copied(bytes), bytes);
      EXPECT_FALSE(read(testing::report_bytes(result)).timeline);
    }
  }
  const std::string bytes = testing::report_bytes(run(cases()[0]));
  traces::Input without = testing::input_of(bytes);
  EXPECT_EQ(testing::bytes_of([&](const DocumentWriter::Sink& s) { return copy_timeline_csv(without, s); }),
            "error: file: the report has no timeline: `kvplan run` writes one into a binary report with "
            "--timeline");
}

TEST(ReportBinary, NumbersAreTheMessagesNumbers) {
  const runs::RunResult result = run(cases()[5]);
  v1::Report message;
  ASSERT_TRUE(fill_message(result, message).ok());
  EXPECT_EQ(message.requests().completed(), result.completed);
  EXPECT_EQ(message.tokens().recomputed(), result.recomputed_tokens);
  EXPECT_EQ(message.latency_s().tpot().p99(), result.tpot->p99);
  EXPECT_EQ(message.memory().mean_bytes().live(), result.memory->mean_bytes[1]);
  EXPECT_EQ(message.memory().peak().bytes().free(), result.memory->peak_bytes[9]);
  ASSERT_EQ(message.replicas_size(), 3);
  EXPECT_EQ(message.replicas(2).quanta(), result.details[2].layout.alloc_units);
  EXPECT_EQ(message.scenario().fleet().replicas().value(), 3);
  EXPECT_EQ(message.scenario().fleet().replicas().origin(), v1::GIVEN);
  EXPECT_EQ(message.scenario().targets().e2e_s().digits(), "1e1");
}

TEST(ReportBinary, NamesOfFilesStayWhatTheyAre) {
  runs::RunResult result = run(cases()[0]);
  result.scenario.texts[0] = "folder/\xFFname";
  v1::Report message;
  ASSERT_TRUE(fill_message(result, message).ok());
  EXPECT_EQ(message.scenario().workload().trace().value(), "folder/\xFFname");
  EXPECT_EQ(report_json(message).value(), runs::report_json(result));
}

/// The largest and smallest numbers, and texts that JSON must escape.
TEST(ReportBinary, ExtremeValues) {
  runs::RunResult result = run(cases()[0]);
  result.computed_tokens = INT64_MAX;
  result.recomputed_tokens = INT64_MIN;
  result.capacity_bytes = (std::int64_t{1} << 53) + 1;
  result.mean_running = 5e-324;
  result.ttft->max = 1.7976931348623157e308;
  result.ttft->mean = 18446744073709551616.0;  // written without an exponent, beyond 64 bits
  result.ttft->p50 = -0.0;
  result.ttft->p90 = 0.1;
  result.warnings = {"", "\"quoted\" \\ \n \x01 \xE6\xB1\x89 end"};
  EXPECT_EQ(read(testing::report_bytes(result)).json, runs::report_json(result));
  result.ttft->p95 = std::numeric_limits<double>::quiet_NaN();  // null, as in JSON
  EXPECT_EQ(read(testing::report_bytes(result)).json, runs::report_json(result));
}

TEST(ReportBinary, FieldsOfALaterVersionAreLeftOutAndSaid) {
  const runs::RunResult result = run(cases()[0]);
  v1::Report message;
  ASSERT_TRUE(fill_message(result, message).ok());
  v1::ReportTokens& tokens = *message.mutable_tokens();
  tokens.GetReflection()->MutableUnknownFields(&tokens)->AddVarint(99, 5);
  const std::string bytes = testing::document(DocumentKind::kReport, message.SerializeAsString());
  const ReportFile file = read(bytes);
  EXPECT_EQ(file.json, runs::report_json(result));
  EXPECT_TRUE(file.later_fields);
}

TEST(ReportBinary, WhatAnEarlierVersionDidNotWriteIsNull) {
  v1::Report message;
  ASSERT_TRUE(fill_message(run(cases()[0]), message).ok());
  message.clear_slo();
  const std::string bytes = testing::document(DocumentKind::kReport, message.SerializeAsString());
  const std::string json = read(bytes).json;
  EXPECT_NE(json.find("\n  \"slo\": null,\n"), std::string::npos);
  EXPECT_EQ(read(copied(json)).json, json);
}

/// The error of a JSON report in which `from` became `to`.
std::string json_error(const std::string& from, const std::string& to) {
  static const std::string kJson = runs::report_json(run(cases()[0]));
  std::string text = kJson;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return testing::error_of(DocumentKind::kReport, text);
}

TEST(ReportJson, WhatIsNoReport) {
  EXPECT_EQ(json_error("\"arrived\"", "\"come\""), "file: requests.come: this is not a report key");
  EXPECT_EQ(json_error("\"arrived\": 13,", ""), "file: requests: expected \"arrived\"");
  EXPECT_EQ(json_error("\"arrived\": 13,", "\"arrived\": null,"),
            "file: requests.arrived: expected a value, found null");
  EXPECT_EQ(json_error("\"arrived\": 13,", "\"arrived\": 13, \"arrived\": 13,"),
            "file: requests.arrived: expected one value, found a second");
  EXPECT_EQ(json_error("\"arrived\": 13,", "\"arrived\": 13.5,"),
            "file: requests.arrived: expected a whole number, found 13.5");
  EXPECT_EQ(json_error("\"arrived\": 13,", "\"arrived\": 99999999999999999999,"),
            "file: requests.arrived: expected a whole number, found 99999999999999999999");
  EXPECT_EQ(json_error("\"arrived\": 13,", "\"arrived\": \"13\","),
            "file: requests.arrived: expected a number");
  EXPECT_EQ(json_error("\"arrived\": 13,", "\"arrived\": 13 5,").substr(0, 6), "file: ");
  EXPECT_EQ(json_error("\"warnings\": [", "\"warnings\": [3"), "file: warnings: expected a string");
  EXPECT_EQ(json_error("\"warnings\": []", "\"warnings\": {}"), "file: warnings: expected an array");
  EXPECT_EQ(json_error("\"requests\": {", "\"requests\": 5, \"x\": {"), "file: requests: expected an object");
  EXPECT_EQ(
      json_error("\"engine\": {\n      \"name\": \"vllm-v1\"", "\"engine\": {\n      \"name\": \"vllm-v2\"")
          .substr(0, 70),
      "file: scenario.engine: vllm-v2: unknown engine \"vllm-v2\"; did you mean");
  EXPECT_EQ(json_error("\"scenario\"", "\"scene\""), "file: scene: this is not a report key");
  const std::string json = runs::report_json(run(cases()[0]));
  EXPECT_EQ(testing::error_of(DocumentKind::kReport, json + "{}"), "file: expected nothing after the object");
  EXPECT_EQ(testing::error_of(DocumentKind::kReport, "[]"), "file: expected a JSON object");
  for (std::size_t size = 0; size + 1 < json.size(); size += 7) {
    const std::string error = testing::error_of(DocumentKind::kReport, json.substr(0, size));
    EXPECT_EQ(error.substr(0, 6), "file: ") << size;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(ReportJson, KnownByItsFirstKey) {
  EXPECT_TRUE(looks_like_report(runs::report_json(run(cases()[0]))));
  EXPECT_TRUE(looks_like_report("\xEF\xBB\xBF {\n\t\"scenario\" : {"));
  for (const char* other :
       {"", "{", "{}", "[\"scenario\"]", R"({"seed": 1, "scenario": {}})", R"({"scenarios": 1})"})
    EXPECT_FALSE(looks_like_report(other)) << other;
}

}  // namespace
}  // namespace kvplan::io
