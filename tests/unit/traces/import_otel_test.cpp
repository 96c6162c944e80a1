// OpenTelemetry spans: both containers, old and present names, spans that are not requests, and the hand-made examples.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;

/// One export with these spans.
std::string otlp(const std::string& spans) {
  return R"({"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{"name":"s"},"spans":[)" +
         spans + "]}]}]}";
}

std::string attribute(const std::string& key, const std::string& value) {
  return R"({"key":")" + key + R"(","value":)" + value + "}";
}

/// A span with two counts and more attributes.
std::string span(const std::string& start, const std::string& end, const std::string& more = "") {
  return R"({"traceId":"T","spanId":"S","startTimeUnixNano":)" + start + R"(,"endTimeUnixNano":)" + end +
         R"(,"attributes":[)" + attribute("gen_ai.usage.input_tokens", R"({"intValue":"10"})") + "," +
         attribute("gen_ai.usage.output_tokens", R"({"intValue":3})") + (more.empty() ? "" : ",") + more +
         "]}";
}

TEST(Otel, NumbersOfSixtyFourBitsAsTextsOrNumbers) {
  const Trace trace = imported(otlp(span("\"1544712660000000001\"", "\"1544712661000000002\"") + "," +
                                    span("1544712660500000003", "1544712660500000003")));
  EXPECT_EQ(trace.arrival_ns, (Times{1544712660000000001, 1544712660500000003}));
  EXPECT_EQ(trace.e2e_ns, (Times{1000000001, 0}));
  EXPECT_EQ(trace.input_tokens, (Counts{10, 10}));
  EXPECT_EQ(trace.output_tokens, (Counts{3, 3}));
  EXPECT_EQ(trace.session, (Counts{0, 0}));
  EXPECT_EQ(trace.session_names, std::vector<std::string>{"T"});
  EXPECT_TRUE(trace.max_tokens == Counts({-1, -1}) || trace.max_tokens.empty());
  EXPECT_TRUE(trace.shares_clock);
  EXPECT_EQ(trace.provenance.format, "otel");
  EXPECT_TRUE(trace.provenance.warnings.empty());
}

TEST(Otel, PresentNamesCountBeforeOlderOnes) {
  const std::string both = attribute("gen_ai.usage.prompt_tokens", R"({"intValue":"99"})") + "," +
                           attribute("gen_ai.usage.completion_tokens", R"({"intValue":"98"})") + "," +
                           attribute("gen_ai.latency.time_to_first_token", R"({"doubleValue":0.75})") + "," +
                           attribute("gen_ai.response.time_to_first_chunk", R"({"doubleValue":0.5})") + "," +
                           attribute("gen_ai.latency.time_to_first_token", R"({"doubleValue":0.875})") + "," +
                           attribute("gen_ai.request.max_tokens", R"({"intValue":"256"})") + "," +
                           attribute("gen_ai.conversation.id", R"({"stringValue":"a\"b"})") + "," +
                           attribute("gen_ai.operation.name", R"({"stringValue":"chat"})");
  const std::string old =
      R"({"traceId":"U","startTimeUnixNano":"7","endTimeUnixNano":"9","attributes":[{"value":{"intValue":"5"},)"
      R"("key":"gen_ai.usage.prompt_tokens"},)" +
      attribute("gen_ai.usage.completion_tokens", R"({"intValue":"6"})") + "," +
      attribute("gen_ai.latency.time_to_first_token", R"({"doubleValue":1e-9})") + "," +
      attribute("gen_ai.latency.e2e", R"({"doubleValue":4.5})") + "," +
      attribute("other", R"({"arrayValue":{}})") + "," + attribute("empty", "{}") + "]}";
  const Trace trace = imported(otlp(span("5", "8", both) + "," + old));
  EXPECT_EQ(trace.input_tokens, (Counts{10, 5}));
  EXPECT_EQ(trace.output_tokens, (Counts{3, 6}));
  EXPECT_EQ(trace.ttft_ns, (Times{500000000, 1}));
  EXPECT_EQ(trace.e2e_ns, (Times{3, 2}));
  EXPECT_EQ(trace.max_tokens, (Counts{256, -1}));
  EXPECT_EQ(trace.session_names, (std::vector<std::string>{"a\"b", "U"}));
}

TEST(Otel, LinesResourcesScopesAndNulls) {
  const std::string text =
      otlp(span("1", "2")) + "\n" +
      R"({"resourceSpans":[{"scopeSpans":[{"spans":[]},{"spans":null},{"schemaUrl":"x","spans":[)" +
      span("3", "4") + R"(]}]},{"scopeSpans":[{"spans":[)" + span("5", "6") +
      "]}]}]}\n{\"resourceSpans\":[]}\n{}\n";
  EXPECT_EQ(imported(text).arrival_ns, (Times{1, 3, 5}));
}

TEST(Otel, PrettyPrintedIsTheSame) {
  const Trace flat = imported(otlp(span("1", "2")));
  std::string pretty;
  for (const char c : otlp(span("1", "2"))) {
    pretty += c;
    if (c == '{' || c == '[' || c == ',') pretty += "\r\n    ";
    if (c == ':') pretty += ' ';
  }
  testing::expect_same(imported("\xEF\xBB\xBF\n" + pretty + "\n"), flat);
}

TEST(Otel, FlattenedWithAndWithoutZone) {
  const std::string text = R"({
  "trace_id": "outer", "span_count": 3,
  "spans": [
    {"trace_id": "a", "start_time": "2026-02-25T10:00:00.500000", "end_time": "2026-02-25T10:00:02.500001",
     "attributes": {"gen_ai.usage.prompt_tokens": 50, "gen_ai.usage.completion_tokens": "20",
                    "gen_ai.request.max_tokens": 500, "gen_ai.input.messages": "[{\"role\": \"user\"}]"}},
    {"start_time": "2026-02-25T12:00:01+02:00", "end_time": null,
     "attributes": {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.input_tokens": 8, "gen_ai.usage.output_tokens": 0}},
    {"trace_id": "a", "start_time": "2026-02-25T10:00:03Z", "attributes": null}
  ]
})";
  const Trace trace = imported(text);
  EXPECT_EQ(trace.arrival_ns, (Times{1772013600500000000, 1772013601000000000}));
  EXPECT_EQ(trace.e2e_ns, (Times{2000001000, -1}));
  EXPECT_EQ(trace.input_tokens, (Counts{50, 8}));
  EXPECT_EQ(trace.output_tokens, (Counts{20, 0}));
  EXPECT_EQ(trace.max_tokens, (Counts{500, -1}));
  EXPECT_EQ(trace.session, (Counts{0, -1}));
  EXPECT_EQ(
      trace.provenance.warnings,
      (std::vector<std::string>{
          "1 of 3 spans have no token counts (gen_ai.usage.input_tokens and gen_ai.usage.output_tokens, or "
          "the older gen_ai.usage.prompt_tokens and gen_ai.usage.completion_tokens) and are left out.",
          "1 of 2 start times have no time zone, while others have one; they are read as UTC.",
          "1 of 2 requests have no output tokens; runs reject them."}));
}

TEST(Otel, WhatIsNoRequestIsCounted) {
  const std::string agent = attribute("gen_ai.operation.name", R"({"stringValue":"invoke_agent"})");
  const std::string half =
      R"({"attributes":[)" + attribute("gen_ai.usage.input_tokens", R"({"intValue":"1"})") + "]}";
  const std::string tool = R"({"name":"execute_tool","startTimeUnixNano":"x"})";
  const Trace trace = imported(
      otlp(span("5", "4") + "," + span("6", "0") + "," + span("1", "9", agent) + "," + half + "," + tool));
  EXPECT_EQ(trace.arrival_ns, (Times{5, 6}));
  EXPECT_TRUE(trace.e2e_ns.empty() || trace.e2e_ns == (Times{-1, -1}));
  EXPECT_EQ(
      trace.provenance.warnings,
      (std::vector<std::string>{
          "1 of 5 spans have no token counts (gen_ai.usage.input_tokens and gen_ai.usage.output_tokens, or "
          "the older gen_ai.usage.prompt_tokens and gen_ai.usage.completion_tokens) and are left out.",
          "1 of 5 spans have only a count of input or only a count of output tokens, and are left out.",
          "1 of 5 spans with token counts are not inferences according to gen_ai.operation.name (agents "
          "repeat the counts of the calls that they make), and are left out.",
          "1 of 2 requests end before they start; their durations are left out."}));
}

TEST(Otel, ErrorsSayTheByteTheFieldAndWhatWasExpected) {
  const auto error = [](const std::string& spans) { return import_error(otlp(spans)); };
  const std::size_t begin = otlp("").find("\"spans\":[") + 9;
  const auto at = [&](const std::string& spans, std::string_view what, const std::string& rest) {
    return "t: byte " + std::to_string(begin + spans.find(what)) + ": " + rest;
  };
  std::string bad = span("1", "2", attribute("gen_ai.request.max_tokens", R"({"intValue":"-5"})"));
  EXPECT_EQ(error(bad),
            at(bad, "\"-5\"",
               "gen_ai.request.max_tokens: expected a whole number from 0 to 2147483647, found \"-5\""));
  bad = span("1", "2", attribute("gen_ai.usage.input_tokens", R"({"doubleValue":1.5})"));
  EXPECT_EQ(error(bad),
            at(bad, "1.5",
               "gen_ai.usage.input_tokens: expected a whole number from 0 to 2147483647, found \"1.5\""));
  bad = span("1", "2", attribute("gen_ai.response.time_to_first_chunk", R"({"doubleValue":-1})"));
  EXPECT_EQ(error(bad), at(bad, "-1}",
                           "gen_ai.response.time_to_first_chunk: expected a time of at least 0 in s "
                           "within 292 years, found \"-1\""));
  bad = span("\"soon\"", "2");
  EXPECT_EQ(error(bad),
            at(bad, "\"soon\"",
               "startTimeUnixNano: expected a time of at least 0 in ns within 292 years, found \"soon\""));
  bad = span("null", "2");
  EXPECT_EQ(error(bad), at(bad, "{", "a span without startTimeUnixNano or start_time"));
  bad = span("1", "2") + ", 7";
  EXPECT_EQ(error(bad), at(bad, "7", "expected a span (a JSON object), found something else: \"7\""));
  bad = span("1", "2") + R"(, {"attributes": [5]})";
  EXPECT_EQ(error(bad), at(bad, "5]", "expected a span (a JSON object), found something else: \"5]}\""));
  bad = span("1", "2",
             attribute("gen_ai.conversation.id", R"({"stringValue":")" + std::string(1025, 'x') + "\"}"));
  EXPECT_EQ(error(bad), at(bad, "{", "session: expected a name of at most 1024 bytes, found 1025"));
  const std::string iso =
      R"({"trace_id":"a","spans":[{"start_time":"today","attributes":{"gen_ai.usage.input_tokens":1,)"
      R"("gen_ai.usage.output_tokens":1}}]})";
  EXPECT_EQ(import_error(iso), "t: byte " + std::to_string(iso.find("\"today\"")) +
                                   ": start_time: expected a time such as 2026-02-25T10:00:00.5 or "
                                   "2026-02-25T10:00:00Z, found \"today\"");
  EXPECT_EQ(import_error(R"({"resourceSpans":[7]})"), "t: byte 18: expected a JSON object, found \"7]}\"");
  EXPECT_EQ(import_error(otlp(span("1", "2")) + "\n{\"resourceSpans\": ["),
            "t: byte " + std::to_string(otlp(span("1", "2")).size() + 20) +
                ": expected a JSON object, found the end of the file");
}

TEST(Otel, WithoutAnyCountsItIsAnError) {
  const std::string counts =
      "t: expected inference spans with token counts (gen_ai.usage.input_tokens and "
      "gen_ai.usage.output_tokens, or the older gen_ai.usage.prompt_tokens and "
      "gen_ai.usage.completion_tokens), found none in ";
  EXPECT_EQ(import_error(otlp("{},{}")), counts + "2 spans");
  EXPECT_EQ(import_error("{\"resourceSpans\":[]}"), counts + "0 spans");
  EXPECT_EQ(import_error("TIMESTAMP,a\n", {.format = "otel", .map = "", .block_tokens = 0}),
            "t: byte 0: expected a JSON object, found \"TIMESTAMP,a\\x0a\"");
}

TEST(Otel, TheExamplesOfInferencePerf) {
  KVPLAN_NEED_SHARED();
  const std::string folder = testing::shared_traces() + "/otel/";
  const Result<Trace> read = open_trace(folder + "prefix_sharing_example.json");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const Trace& trace = read.value();
  EXPECT_EQ(trace.input_tokens, (Counts{50, 45, 100, 180, 270, 380, 40}));
  EXPECT_EQ(trace.output_tokens, (Counts{20, 15, 50, 60, 70, 55, 10}));
  Times arrivals;
  for (int i = 0; i < 7; ++i) arrivals.push_back((1772100000 + 2 * i) * std::int64_t{1000000000});
  EXPECT_EQ(trace.arrival_ns, arrivals);
  EXPECT_EQ(trace.e2e_ns,
            (Times{1000000000, 1000000000, 1000000000, 1500000000, 1800000000, 1500000000, 1000000000}));
  EXPECT_EQ(trace.session, (Counts{0, 1, 2, 2, 2, 2, 3}));
  EXPECT_TRUE(trace.provenance.warnings.empty());
  for (const auto& [name, spans] :
       {std::pair{"code_review_workflow.json", 15}, std::pair{"simple_chain.json", 3}}) {
    const Result<Trace> texts = open_trace(folder + name);
    ASSERT_FALSE(texts.ok());
    EXPECT_NE(texts.error().to_string().find("found none in " + std::to_string(spans) + " spans"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace kvplan::traces
