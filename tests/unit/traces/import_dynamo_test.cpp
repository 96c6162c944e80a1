// The importer of Dynamo's event logs: which events are requests, wrapped or not, 64-bit hashes, warnings, and what is
// refused.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/traces/support.h"
#include "traces/record/statistics.h"

namespace kvplan::traces {
namespace {

using testing::blocks_of;
using testing::import_error;
using testing::imported;
using testing::Pairs;
using testing::pairs_of;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;

std::string event(const std::string& type, const std::string& rest) {
  return R"({"schema":"dynamo.request.trace.v1","event_type":")" + type + R"(","event_time_unix_ms":9)" +
         rest + "}";
}
std::string line(const std::string& bare) {
  return bare + "\n";
}
std::string wrapped(const std::string& bare) {
  return R"({"timestamp":5,"event":)" + bare + "}\n";
}

std::string replay(const std::string& hashes, int block = 16) {
  return R"(,"replay":{"trace_block_size":)" + std::to_string(block) + R"(,"input_sequence_hashes":[)" +
         hashes + "]}";
}
std::string end(const std::string& received, const std::string& more, const std::string& session = "s") {
  return event("request_end", R"(,"agent_context":{"session_id":")" + session +
                                  R"(","parent_session_id":"p"},"request":{"request_id":"r",)"
                                  R"("request_received_ms":)" +
                                  received + more + "}");
}
const std::string kTokens = R"(,"input_tokens":20,"output_tokens":4)";

TEST(Dynamo, RequestsAmongOtherEvents) {
  const std::string tool = event("tool_start", R"(,"tool":{"tool_call_id":"c"})");
  const std::string first =
      end("1779163080006", R"(,"input_tokens":33,"output_tokens":7,"ttft_ms":2124.7523410000003,)"
                           R"("total_time_ms":22503.473119)" +
                               replay("1,9223372036854775808,18446744073709551615"));
  const std::string second = end("1779163048815", kTokens + R"(,"ttft_ms":null)" + replay("1,5"), "u");
  const std::vector<std::string> warnings{
      "1 of 2 arrivals are earlier than the arrival before them; runs sort them, and keep the file's order "
      "for equal times.",
      "2 tool events are not requests and were left out.",
      "1 events are neither requests nor tool events and were left out."};
  for (const auto form : {line, wrapped}) {
    const Trace trace = imported(form(tool) + form(first) + form(event("tool_end", "")) + "\n" +
                                 form(event("note", "")) + form(second));
    EXPECT_EQ(trace.arrival_ns, (Times{1779163080006000000, 1779163048815000000}));
    EXPECT_EQ(trace.input_tokens, (Counts{33, 20}));
    EXPECT_EQ(trace.output_tokens, (Counts{7, 4}));
    EXPECT_EQ(trace.ttft_ns, (Times{2124752341, -1}));
    EXPECT_EQ(trace.e2e_ns, (Times{22503473119, -1}));
    EXPECT_EQ(trace.session_names, (std::vector<std::string>{"s", "u"}));
    EXPECT_EQ(trace.prefix.block_tokens, 16);
    EXPECT_EQ(trace.prefix.ids, (std::vector<std::uint32_t>{0, 1, 2, 0, 3}));
    EXPECT_TRUE(trace.prefix.last_may_be_partial);
    EXPECT_TRUE(trace.shares_clock);
    EXPECT_EQ(trace.provenance.format, "dynamo");
    EXPECT_EQ(trace.provenance.options, std::vector<std::string>{"block=16"});
    EXPECT_EQ(trace.provenance.warnings, warnings);
  }
}

/// A request of a session that another session began (empty: none did), by its times in ms.
std::string turn(const std::string& session, const std::string& parent, int received, double total) {
  std::string total_text = std::to_string(total);
  return line(event("request_end", R"(,"agent_context":{"session_id":")" + session +
                                       R"(","parent_session_id":)" +
                                       (parent.empty() ? "null" : "\"" + parent + "\"") +
                                       R"(},"request":{"request_received_ms":)" + std::to_string(received) +
                                       R"(,"total_time_ms":)" + total_text + kTokens + "}"));
}

TEST(Dynamo, AnAgentWaitsForItsCallsAndItsSubAgents) {
  const Trace trace = imported(turn("root", "", 0, 10) +     // 0
                               turn("a", "root", 12, 5) +    // 1: begun by 0
                               turn("b", "root", 13, 6) +    // 2: likewise
                               turn("a", "root", 18, 4.5) +  // 3: after 1
                               turn("deep", "b", 20, 5) +    // 4: begun by 2
                               turn("b", "root", 26, 4) +    // 5: after 2 and 4
                               turn("root", "", 31, 9) +     // 6: after 0, 3 and 5
                               turn("a", "root", 41, 1) +  // 7: nothing of its own is open: begun again by 6
                               turn("other", "gone", 50, 1) +  // 8: nothing is known of its parent
                               turn("root", "", 60, 1));       // 9: after 6 and 7
  EXPECT_EQ(
      pairs_of(trace.waits),
      (Pairs{
          {1, 0}, {2, 0}, {3, 1}, {4, 2}, {5, 2}, {5, 4}, {6, 0}, {6, 3}, {6, 5}, {7, 6}, {9, 6}, {9, 7}}));
  EXPECT_EQ(trace.think_ns, (std::vector<std::int64_t>{-1, 2'000'000, 3'000'000, 1'000'000, 1'000'000,
                                                       1'000'000, 1'000'000, 1'000'000, -1, 18'000'000}));
}

TEST(Dynamo, WhatRunsSideBySideDoesNotWait) {
  // Two calls of one session at once; a sub-agent that still runs while its parent continues; an answer without an end.
  const Trace trace = imported(turn("s", "", 0, 10) +      // 0
                               turn("s", "", 5, 10) +      // 1: while 0 runs
                               turn("c", "s", 16, 4) +     // 2: begun by 1, the latest that had ended
                               turn("s", "", 18, 7) +      // 3: after 0 and 1; 2 still runs
                               turn("c", "s", 21, 9) +     // 4: after 2
                               turn("s", "", 40, 1) +      // 5: after 3 and 4
                               line(end("50", kTokens)) +  // 6: after 5; its end is unknown
                               turn("s", "", 60, 1));      // 7
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{2, 1}, {3, 0}, {3, 1}, {4, 2}, {5, 3}, {5, 4}, {6, 5}}));
}

TEST(Dynamo, RowsWithoutSessionHeaders) {
  const Trace trace = imported(line(event(
      "request_end",
      R"(,"request":{"request_received_ms":1000,"output_tokens":4,"replay":{"trace_block_size":64,"input_length":128,)"
      R"("input_sequence_hashes":[101,102]}})")));
  EXPECT_EQ(trace.input_tokens, Counts{128});
  EXPECT_TRUE(trace.session.empty());
  EXPECT_TRUE(trace.ttft_ns.empty());
  EXPECT_EQ(trace.prefix.block_tokens, 64);
}

TEST(Dynamo, LengthsThatDiffer) {
  const Trace trace = imported(line(
      end("1",
          kTokens + R"(,"replay":{"trace_block_size":16,"input_length":30,"input_sequence_hashes":[1,2]})")));
  EXPECT_EQ(trace.input_tokens, Counts{20});
  EXPECT_EQ(trace.provenance.warnings,
            std::vector<std::string>{"1 requests have different values of replay.input_length and "
                                     "input_tokens; replay.input_length was used."});
}

TEST(Dynamo, HashesMayBeMissing) {
  EXPECT_FALSE(imported(line(end("1", kTokens))).prefix.present());
  EXPECT_FALSE(imported(line(end("1", kTokens + R"(,"replay":null)"))).prefix.present());
  const Trace some = imported(line(end("1", kTokens + replay("1,2"))) + line(end("2", kTokens)));
  EXPECT_EQ(some.provenance.warnings,
            std::vector<std::string>{
                "1 of 2 requests have no prefix ids; their prompts share nothing with others."});
  const std::string late = line(end("1", kTokens)) + line(end("2", kTokens + replay("1,2")));
  EXPECT_EQ(import_error(late),
            "t:2: request.replay.trace_block_size: there are hashes, but the first request does not say how "
            "many tokens one covers: use --block");
  EXPECT_EQ(imported(late, blocks_of(16)).prefix.ids, (std::vector<std::uint32_t>{0, 1}));
}

TEST(Dynamo, OneBlockForAll) {
  const std::string first = line(end("1", kTokens + replay("1,2")));
  EXPECT_EQ(import_error(first + line(end("2", kTokens + replay("1", 32)))),
            "t:2: request.replay.trace_block_size: expected 16 as in the first request, found 32");
  EXPECT_EQ(import_error(first, blocks_of(8)),
            "t:1: request.replay.trace_block_size: the file says 16; --block 8 is for files that leave it "
            "out");
  EXPECT_EQ(import_error(line(end("2", kTokens + replay("1", 0)))),
            "t:1: request.replay.trace_block_size: expected 1 to 1048576 tokens, found 0");
}

TEST(Dynamo, WhatIsNotThisSchemaIsNotGuessed) {
  for (const char* row : {R"({"timestamp":5,"event":{"kind":"click"}})",
                          R"({"schema":"other.v1","event_type":"request_end","request":{}})",
                          R"({"text":"dynamo.request.trace.v1","n":1})"})
    EXPECT_NE(import_error(row).find("no known format has these columns"), std::string::npos) << row;
}

TEST(Dynamo, ErrorsSayWhereAndWhatWasExpected) {
  const std::string good = wrapped(end("1", kTokens + replay("1,2")));
  const auto error = [&](const std::string& row) { return import_error(good + row); };
  EXPECT_EQ(
      error(line(end("-1", kTokens))),
      "t:2: request.request_received_ms: expected a time of at least 0 in ms within 292 years, found \"-1\"");
  EXPECT_EQ(error(line(end("null", kTokens))),
            "t:2: request.request_received_ms: missing: expected a time in ms");
  EXPECT_EQ(error(line(end("1", R"(,"input_tokens":1.5,"output_tokens":1)"))),
            "t:2: request.input_tokens: expected a whole number from 0 to 2147483647, found \"1.5\"");
  EXPECT_EQ(error(line(end("1", R"(,"output_tokens":1)"))),
            "t:2: request.input_tokens: missing, like replay.input_length: expected the prompt tokens");
  EXPECT_EQ(error(line(end("1", R"(,"input_tokens":1)"))),
            "t:2: request.output_tokens: missing: expected the output tokens");
  EXPECT_EQ(
      error(line(end("1", kTokens + replay("1,-2")))),
      "t:2: request.replay.input_sequence_hashes: expected an array of whole numbers from 0 to 2^64 - 1");
  EXPECT_EQ(error(line(end("1", kTokens + replay("1,2,3")))),
            "t:2: request.replay.input_sequence_hashes: 3 ids for a prompt of 20 tokens; expected at most 2 "
            "with blocks of 16 tokens (--block changes the block size)");
  EXPECT_EQ(error(line(end("1", kTokens + R"(,"replay":[])"))), "t:2: request.replay: expected an object");
  EXPECT_EQ(error(line(event("request_end", ""))), "t:2: request: missing in a request_end");
  EXPECT_EQ(error(line(event("request_end", R"(,"request":7)"))), "t:2: request: expected an object");
  EXPECT_EQ(error(line(event("request_end", R"(,"agent_context":{"session_id":7})"))),
            "t:2: agent_context.session_id: expected a text, found \"7\"");
  EXPECT_EQ(error(line(end("1", kTokens, std::string(1025, 'x')))),
            "t:2: agent_context.session_id: expected a name of at most 1024 bytes, found 1025");
  EXPECT_EQ(error(R"({"event_type":"tool_end"})"),
            "t:2: schema: missing: expected \"dynamo.request.trace.v1\"");
  EXPECT_EQ(error(R"({"schema":"dynamo.request.trace.v2"})"),
            "t:2: schema: expected \"dynamo.request.trace.v1\", found \"dynamo.request.trace.v2\"");
  EXPECT_EQ(error(R"({"schema":"dynamo.request.trace.v1"})"), "t:2: event_type: missing");
  EXPECT_EQ(error(R"({"schema":"dynamo.request.trace.v1","event_type":)"),
            "t:2: expected one JSON object, found something else at byte 49 of it: \"\"");
  EXPECT_EQ(error("[]"), "t:2: expected one JSON object, found something else at byte 0 of it: \"[]\"");
  EXPECT_EQ(error(good.substr(0, good.size() - 1) + "x"),
            "t:2: expected one JSON object, found something else at byte " + std::to_string(good.size() - 1) +
                " of it: \"x\"");
  EXPECT_EQ(import_error(line(event("tool_end", ""))), "t: a trace without requests");
}

TEST(Dynamo, TheRecordedLog) {
  KVPLAN_NEED_SHARED();
  const Result<Trace> read = open_trace(testing::shared_traces() + "/dynamo_request_trace_pi.jsonl.gz");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const Statistics found = compute_statistics(read.value());
  EXPECT_EQ(found.requests, 17);
  EXPECT_EQ(found.sessions, 5);
  EXPECT_NEAR(found.span_s.value(), 162.147, 5e-4);
  EXPECT_NEAR(found.rate_per_s.value(), 0.099, 5e-4);
  EXPECT_NEAR(found.interarrival_cv.value(), 0.922, 5e-4);
  EXPECT_NEAR(found.input.mean.value(), 3912.9, 0.05);
  EXPECT_EQ(found.input.p50, 3423);
  EXPECT_EQ(found.input.p95, 8780);
  EXPECT_EQ(found.input.p99, 8780);
  EXPECT_EQ(found.input.max, 8780);
  EXPECT_NEAR(found.output.mean.value(), 476.1, 0.05);
  EXPECT_EQ(found.output.p50, 389);
  EXPECT_EQ(found.output.p95, 1101);
  EXPECT_EQ(found.output.p99, 1101);
  EXPECT_EQ(found.output.max, 1101);
  EXPECT_EQ(found.prefix->block_tokens, 16);
  EXPECT_EQ(found.prefix->references, 4163);
  EXPECT_NEAR(found.prefix->infinite_hit_blocks.value(), 0.7158, 5e-5);
  EXPECT_NEAR(found.prefix->infinite_hit_tokens.value(), 0.7168, 5e-5);
  EXPECT_TRUE(read.value().prefix.last_may_be_partial);
  // Read from the log by hand: the agent's second call starts two scouts (of six calls and of three) and a reviewer (of
  // two), in which each call follows the one before; its third call waits for all three.
  EXPECT_EQ(pairs_of(read.value().waits), (Pairs{{2, 1},
                                                 {3, 2},
                                                 {4, 2},
                                                 {5, 3},
                                                 {6, 2},
                                                 {7, 5},
                                                 {8, 4},
                                                 {9, 6},
                                                 {10, 8},
                                                 {11, 7},
                                                 {12, 11},
                                                 {13, 12},
                                                 {14, 2},
                                                 {14, 9},
                                                 {14, 10},
                                                 {14, 13},
                                                 {15, 14},
                                                 {16, 15}}));
  EXPECT_EQ(read.value().think_ns[2], 16'526'881);   // a tool that failed
  EXPECT_EQ(read.value().think_ns[14], 22'220'677);  // after the last scout's answer
  EXPECT_EQ(read.value().provenance.warnings,
            (std::vector<std::string>{"3 of 17 arrivals are earlier than the arrival before them; runs sort "
                                      "them, and keep the file's order for equal times.",
                                      "44 tool events are not requests and were left out."}));
}

}  // namespace
}  // namespace kvplan::traces
