// The importer of recorded agent sessions: namespaces, sub-agents and their clocks, warnings, and what is
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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
using Ids = std::vector<std::uint32_t>;

std::string request(const std::string& t, int input, const std::string& ids, const std::string& more = {}) {
  return R"({"t":)" + t + R"(,"type":"s","model":"m","in":)" + std::to_string(input) +
         R"(,"out":3,"hash_ids":[)" + ids + "]" + more + "}";
}

std::string agent(const std::string& t, const std::string& duration, const std::string& requests) {
  return R"({"t":)" + t + R"(,"type":"subagent","agent_id":"a",)" + duration + R"("requests":[)" + requests +
         "]}";
}

std::string session(const std::string& id, const std::string& requests,
                    const std::string& top = R"("block_size":4,"hash_id_scope":"local")") {
  return R"({"id":")" + id + R"(","models":["m"],)" + top + R"(,"tool_tokens":5,"requests":[)" + requests +
         R"(],"totals":{"subagent_count":0}})" + "\n";
}

const std::string kNoStarts2 =
    "The file does not say when a session starts: all 2 have a clock that begins at 0, so a run starts all "
    "of them at once. `kvplan trace start` gives them start times.";

TEST(ClaudeCode, EachSessionHasItsOwnIds) {
  const Trace trace = imported(session("x", request("0.0", 9, "1,2") + "," + request("7.25", 13, "1,2,9")) +
                               session("y", request("1", 8, "1,9")));
  EXPECT_EQ(trace.provenance.format, "claude-code");
  EXPECT_EQ(trace.provenance.options, (std::vector<std::string>{"block=4", "hash_id_scope=local"}));
  EXPECT_EQ(trace.prefix.block_tokens, 4);
  EXPECT_EQ(trace.prefix.ids, (Ids{0, 1, 0, 1, 2, 3, 4}));
  EXPECT_EQ(trace.prefix.distinct, 5);
  EXPECT_FALSE(trace.prefix.last_may_be_partial);
  EXPECT_FALSE(trace.shares_clock);
  EXPECT_EQ(trace.session, (Counts{0, 0, 1}));
  EXPECT_EQ(trace.session_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(trace.arrival_ns, (Times{0, 7250000000, 1000000000}));
  EXPECT_EQ(trace.input_tokens, (Counts{9, 13, 8}));
  EXPECT_EQ(trace.output_tokens, (Counts{3, 3, 3}));
  EXPECT_EQ(trace.provenance.warnings, std::vector<std::string>{kNoStarts2});
}

TEST(ClaudeCode, IdsOfAGlobalScopeAreShared) {
  const std::string top = R"("block_size":4,"hash_id_scope":"global")";
  const Trace trace =
      imported(session("x", request("0", 8, "1,2"), top) + session("y", request("0", 8, "1,9"), top));
  EXPECT_EQ(trace.prefix.ids, (Ids{0, 1, 0, 2}));
  EXPECT_EQ(import_error(session("x", request("0", 8, "1,2"), top) + session("y", request("0", 8, "1"))),
            "t:2: hash_id_scope: expected \"global\" as in the first session: ids of different scopes cannot "
            "be compared");
}

TEST(ClaudeCode, LargeIdsStayApartOrAreRefused) {
  const std::string largest = "18446744073709551615";
  EXPECT_EQ(imported(session("x", request("0", 8, "1," + largest))).prefix.ids, (Ids{0, 1}));
  // One more than the largest id of the first session: the second session has room for ids up to 5.
  const std::string first = session("x", request("0", 4, "18446744073709551609"));
  EXPECT_EQ(imported(first + session("y", request("0", 8, "0,5"))).prefix.ids, (Ids{0, 1, 2}));
  EXPECT_EQ(import_error(first + session("y", request("0", 8, "0,6"))),
            "t:2: requests[0].hash_ids: id 6 is too large: with the ids of earlier sessions, the ids of this "
            "session exceed 64 bits");
  EXPECT_NE(import_error(session("x", request("0", 4, largest)) + session("y", request("0", 4, "0")))
                .find("id 0 is too large"),
            std::string::npos);
}

TEST(ClaudeCode, SubAgentsStartTheirDurationBeforeTheMarker) {
  // The three parallel sub-agents of the source's trace_0010 start together.
  const Trace trace =
      imported(session("x", request("447", 8, "1,2") + "," +
                                agent("556.464", R"("duration_ms":108898,)",
                                      request("0.0", 4, "1") + "," + request("30.0", 8, "1,7")) +
                                "," + agent("606.456", R"("duration_ms":158890,)", request("0.0", 4, "8")) +
                                "," + agent("760.094", R"("duration_ms":312539,)", request("0", 4, "1")) +
                                "," + request("761", 12, "1,2,3")));
  EXPECT_EQ(trace.arrival_ns,
            (Times{447000000000, 447566000000, 477566000000, 447566000000, 447555000000, 761000000000}));
  EXPECT_EQ(trace.prefix.ids, (Ids{0, 1, 0, 0, 2, 3, 0, 0, 1, 4}));
  EXPECT_EQ(trace.session, Counts(6, 0));
  EXPECT_EQ(trace.provenance.warnings,
            std::vector<std::string>{"2 of 6 arrivals are earlier than the arrival before them; runs sort "
                                     "them, and keep the file's order for equal times."});
}

TEST(ClaudeCode, SubAgentsInsideSubAgents) {
  // The inner marker counts on the clock of the agent around it: 100 - 40 + (30 - 10) + 5.
  const Trace trace = imported(session(
      "x", agent("100", R"("duration_ms":40000,)",
                 request("0", 4, "1") + "," +
                     agent("30", R"("duration_ms":1e4,)", request("0", 4, "1") + "," + request("5", 4, "2")) +
                     "," + request("31", 4, "1")) +
               "," + request("101", 4, "1")));
  EXPECT_EQ(trace.arrival_ns, (Times{60000000000, 80000000000, 85000000000, 91000000000, 101000000000}));
}

TEST(ClaudeCode, TimesOfTheSessionInsideASubAgent) {
  const std::string inside = request("63.5", 4, "1") + "," + request("70", 4, "1");
  const std::string warning =
      "1 sub-agents have times that do not restart at 0; they are read as times since the start of the "
      "session.";
  // The marker is the end, with and without a duration; in other publications it is the start.
  for (const std::string& marker :
       {agent("103", R"("duration_ms":40000,)", inside), agent("103", R"("duration_ms":null,)", inside),
        agent("103", "", inside), agent("63.5", R"("duration_ms":40000,)", inside), agent("63.5", "", inside),
        agent("104.2", R"("duration_ms":40000,)", inside)}) {
    const Trace trace = imported(session("x", marker));
    EXPECT_EQ(trace.arrival_ns, (Times{63500000000, 70000000000})) << marker;
    EXPECT_EQ(trace.provenance.warnings, std::vector<std::string>{warning});
  }
  // More than a second too early for the session's clock, so the clock did restart.
  EXPECT_EQ(imported(session("x", agent("105", R"("duration_ms":40000,)", inside))).arrival_ns,
            (Times{128500000000, 135000000000}));
}

TEST(ClaudeCode, WithoutADurationTheLastAnswerIsTheEnd) {
  const std::string inside =
      request("0", 4, "1", R"(,"api_time":2.5)") + "," + request("20", 4, "1", R"(,"api_time":9.5)");
  for (const std::string duration : {"", R"("duration_ms":null,)"}) {
    const Trace trace = imported(session("x", agent("100", duration, inside)));
    EXPECT_EQ(trace.arrival_ns, (Times{70500000000, 90500000000}));
    EXPECT_EQ(trace.provenance.warnings,
              std::vector<std::string>{
                  "1 sub-agents have no duration; the end of their last answer is used instead."});
  }
  const Trace early = imported(session("x", agent("10", "", inside)));
  EXPECT_EQ(early.arrival_ns, (Times{0, 20000000000}));
  EXPECT_EQ(early.provenance.warnings.back(),
            "1 sub-agents ran longer than their session so far; they start with it.");
}

TEST(ClaudeCode, SubAgentsWithoutRequests) {
  for (const std::string marker :
       {R"({"t":3,"type":"subagent","requests":[]})", R"({"t":3,"type":"subagent","requests":null})",
        R"({"t":3,"type":"subagent","status":"async_launched"})"}) {
    const Trace trace = imported(session("x", request("1", 4, "1") + "," + marker));
    EXPECT_EQ(trace.size(), 1);
    EXPECT_TRUE(trace.provenance.warnings.empty());
  }
}

TEST(ClaudeCode, TimesThatMayBeMissing) {
  const Trace trace = imported(
      session("x", request("0", 4, "1", R"(,"ttft":0.25,"api_time":1.5,"think_time":3)") + "," +
                       request("2", 4, "1", R"(,"ttft":null,"api_time":2)") + "," + request("3", 4, "1")));
  EXPECT_EQ(trace.ttft_ns, (Times{250000000, -1, -1}));
  EXPECT_EQ(trace.e2e_ns, (Times{1500000000, 2000000000, -1}));
  EXPECT_TRUE(imported(session("x", request("0", 4, "1"))).e2e_ns.empty());
}

TEST(ClaudeCode, OddRequestsAreKeptAndCounted) {
  const Trace trace = imported(
      session("x", R"({"t":0,"type":"n","in":9,"out":0,"hash_ids":[1,2,3]},{"t":1,"type":"n","in":9,"out":1})"
                   R"(,{"t":2,"type":"n","in":9,"out":1,"hash_ids":[1,2]})"));
  EXPECT_EQ(trace.output_tokens, (Counts{0, 1, 1}));
  EXPECT_EQ(trace.provenance.warnings,
            (std::vector<std::string>{
                "1 of 3 requests have no output tokens; runs reject them.",
                "1 of 3 requests have no prefix ids; their prompts share nothing with others.",
                "The partly filled last block has an id in 1 requests and no id in 1."}));
}

TEST(ClaudeCode, ASecondSessionOfOneIdIsKeptApart) {
  const std::string one = session("x", request("0", 4, "1"));
  const Trace trace = imported(one + session("x#2", request("0", 4, "1")) + one + one);
  EXPECT_EQ(trace.session_names, (std::vector<std::string>{"x", "x#2", "x#3", "x#4"}));
  EXPECT_EQ(trace.prefix.distinct, 4);
  EXPECT_EQ(trace.provenance.warnings.back(),
            "2 sessions have the same id as an earlier one; they are renamed id#2 and so on.");
}

TEST(ClaudeCode, FilesFollowEachOther) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.file("trace_0001.json"), session("x", request("0", 8, "1,2")));
  testing::write_file(folder.file("trace_0002.json"), "\n\n" + session("y", request("0", 8, "1")) + "{}\n");
  const auto read = [&](const std::vector<std::string>& names) -> Result<Trace> {
    KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream(names, {}));
    return collect(*stream);
  };
  const Result<Trace> both = read({folder.file("trace_0001.json"), folder.file("trace_0001.json")});
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both.value().prefix.ids, (Ids{0, 1, 2, 3}));
  EXPECT_EQ(both.value().provenance.sources,
            (std::vector<std::string>{"trace_0001.json", "trace_0001.json"}));
  const Result<Trace> broken = read({folder.file("trace_0001.json"), folder.file("trace_0002.json")});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().to_string(), folder.file("trace_0002.json") +
                                            ":4: requests: missing: expected the session's list of requests");
}

TEST(ClaudeCode, TheOrderOfTheTopDoesNotMatter) {
  const std::string list = request("1", 8, "1,2");
  const Trace usual = imported(session("x", list));
  for (const std::string& text :
       {R"({"requests":[)" + list + R"(],"id":"x","models":[],"hash_id_scope":"local","block_size":4})",
        R"({"models":[],"id":"x","block_size":4,"requests":[)" + list + R"(],"hash_id_scope":"local"})",
        R"({"id":"x","models":[],"block_size":4,"requests":[)" + list + "]}"})
    testing::expect_same(imported(text), usual);
}

TEST(ClaudeCode, TheBlockIsThatOfTheFileOrOfTheOption) {
  const std::string list = request("1", 8, "1,2");
  const std::string open = session("x", list, R"("hash_id_scope":"local")");
  EXPECT_EQ(imported(open, blocks_of(4)).prefix.block_tokens, 4);
  EXPECT_EQ(imported(session("x", list), blocks_of(4)).prefix.block_tokens, 4);
  EXPECT_EQ(import_error(open), "t:1: block_size: missing: give the tokens per prefix id with --block");
  EXPECT_EQ(import_error(session("x", list), blocks_of(8)),
            "t:1: block_size: the file says 4; --block 8 is only for files without a block size");
  EXPECT_EQ(
      import_error(session("x", list) + session("y", list, R"("block_size":2,"hash_id_scope":"local")")),
      "t:2: block_size: expected 4 as in the first session, found 2");
  EXPECT_EQ(import_error(session("x", list, R"("block_size":0)")),
            "t:1: block_size: expected 1 to 1048576 tokens, found 0");
}

TEST(ClaudeCode, ASessionOverSeveralLines) {
  const Trace usual = imported(session("a}\\\"", request("1", 8, "1,2")));
  const Trace spread = imported(
      "{\n  \"id\": \"a}\\\"\",\n  \"models\": [],\r\n  \"block_size\": 4,\n  \"requests\": [\n    {\"t\": "
      "1, "
      "\"type\": \"n\",\n     \"in\": 8, \"out\": 3, \"hash_ids\": [1,\n 2]}\n  ]\n}\n");
  testing::expect_same(spread, usual);
  EXPECT_EQ(import_error("{\n \"id\": \"x\", \"models\": [],\n \"block_size\": 4, \"requests\": [\n",
                         {.format = "claude-code", .map = "", .block_tokens = 0}),
            "t:1: expected one JSON object, found something else at byte 59 of it: \"\"");
}

TEST(ClaudeCode, ALongTextThatEndsInsideItsSession) {
  // As long as a buffer of the reader: the search for the missing end moves the text.
  std::string text = "{\n\"id\": \"x\", \"models\": [], \"block_size\": 4, \"requests\": [\n";
  const std::size_t length = std::size_t{1} << 21;
  while (text.size() < length - 200) text += request("1", 8, "1,2") + ",\n";
  text += "{\"t\":1, \"in\":\n";
  text.insert(1, length - text.size(), ' ');
  EXPECT_EQ(import_error(text), "t:1: expected one JSON object, found something else at byte " +
                                    std::to_string(length - 1) + " of it: \"\"");
}

TEST(ClaudeCode, AFirstSessionLongerThanWhatIsLookedAt) {
  std::string ids = "1";
  for (int id = 2; ids.size() < (std::size_t{3} << 20); ++id) ids += "," + std::to_string(id);
  const auto count = static_cast<int>(std::count(ids.begin(), ids.end(), ',')) + 1;
  const Trace trace = imported(session("x", request("0", 4 * count, ids)));
  EXPECT_EQ(trace.prefix.distinct, count);
}

TEST(ClaudeCode, WhatIsNotASessionIsNotGuessed) {
  for (const char* row :
       {R"({"timestamp":5,"requests":[{"prompt":"x"}]})", R"({"id":"x","requests":[],"block_size":4})",
        R"({"id":"x","models":[],"requests":[]})", R"({"id":"x","models":[],"requests":{},"block_size":4})"})
    EXPECT_NE(import_error(row).find("no known format has these columns"), std::string::npos) << row;
}

TEST(ClaudeCode, ErrorsSayWhereAndWhatWasExpected) {
  const std::string good = session("x", request("0", 4, "1"));
  const auto error = [&](const std::string& list) { return import_error(good + session("y", list)); };
  const std::string first = request("0", 4, "1") + ",";
  EXPECT_EQ(error(first + request("-1", 4, "1")),
            "t:2: requests[1].t: expected a time of at least 0 in s within 292 years, found \"-1\"");
  EXPECT_EQ(error(first + agent("9", "", request("0", 4, "1") + "," + request("\"1\"", 4, "1"))),
            "t:2: requests[1].requests[1].t: expected a time of at least 0 in s within 292 years, found "
            "\"\"1\"\"");
  EXPECT_EQ(error(request("0", -4, "")),
            "t:2: requests[0].in: expected a whole number from 0 to 2147483647, found \"-4\"");
  EXPECT_EQ(error(request("0", 4, "1.5")),
            "t:2: requests[0].hash_ids: expected an array of whole numbers from 0 to 2^64 - 1");
  EXPECT_EQ(error(request("0", 4, "18446744073709551616")),
            "t:2: requests[0].hash_ids: expected an array of whole numbers from 0 to 2^64 - 1");
  EXPECT_EQ(error(request("0", 4, "1,2")),
            "t:2: requests[0].hash_ids: 2 ids for a prompt of 4 tokens; expected at most 1 with blocks of 4 "
            "tokens (--block changes the block size)");
  EXPECT_EQ(error(request("0", 4, "1", R"(,"api_time":"fast")")),
            "t:2: requests[0].api_time: expected a time of at least 0 in s within 292 years, found "
            "\"\"fast\"\"");
  EXPECT_EQ(error(R"({"t":0,"type":"n","in":4})"),
            "t:2: requests[0].out: missing: expected the output tokens");
  EXPECT_EQ(error(R"({"t":0,"type":"n","out":4})"),
            "t:2: requests[0].in: missing: expected the prompt tokens");
  EXPECT_EQ(error(R"({"type":"n","in":4,"out":4})"), "t:2: requests[0].t: missing: expected a time in s");
  EXPECT_EQ(error(R"({"t":0,"type":"x","in":4,"out":4})"),
            "t:2: requests[0].type: expected \"n\", \"s\" or \"subagent\", found \"x\"");
  EXPECT_EQ(
      error(agent("9000000000", R"("duration_ms":0,)", request("0", 4, "1") + "," + request("9e9", 4, ""))),
      "t:2: requests[0].requests[1].t: more than 292 years after the session's start");
  EXPECT_EQ(error("7"),
            "t:2: expected one JSON object, found something else at byte 92 of it: "
            "\"7],\"totals\":{\"subagent_count\":0}}\"");
  EXPECT_EQ(import_error(good + R"({"id":"y","models":[],"block_size":4,"requests":[{"t":)"),
            "t:2: expected one JSON object, found something else at byte 54 of it: \"\"");
  EXPECT_EQ(import_error(good + "x\n"),
            "t:2: expected one JSON object, found something else at byte 0 of it: \"x\"");
  EXPECT_EQ(import_error(good + R"({"id":"y","block_size":4})"),
            "t:2: requests: missing: expected the session's list of requests");
  EXPECT_EQ(import_error(good + session("", request("0", 4, "1"))),
            "t:2: id: missing: expected the session's name");
  EXPECT_EQ(import_error(good + session("y", "", R"("block_size":4,"hash_id_scope":"world")")),
            "t:2: hash_id_scope: expected \"local\" or \"global\", found \"world\"");
  EXPECT_EQ(import_error(good + session("y", "", R"("block_size":4,"block_size":5)")),
            "t:2: block_size: expected one block size, found a second");
  EXPECT_EQ(
      import_error(good + R"({"id":"y","block_size":4,"hash_id_scope":"local","requests":[],"requests":[]})"),
      "t:2: requests: expected one list of requests, found a second");
  EXPECT_EQ(import_error(session("x", "")), "t: a trace without requests");
  std::string nest = request("0", 4, "1");
  for (int depth = 0; depth < 9; ++depth) nest = agent("0", "", nest);
  EXPECT_NE(error(nest).find("sub-agents nested deeper than 8"), std::string::npos);
  EXPECT_EQ(import_error(session(std::string(1025, 'x'), request("0", 4, "1"))),
            "t:1: id: expected a name of at most 1024 bytes, found 1025");
}

/// Figures of a file from the table of the recorded traces, and sums from a second reader of it (Python's json and
/// decimal modules, sub-agents as that page describes them).
struct Recorded {
  std::string file;
  std::int64_t requests, sessions;
  testing::Figures input, output;
  std::int64_t references, distinct;
  double hit_blocks, hit_tokens;
  std::int64_t arrivals_ns, with_e2e, e2e_ns, with_ttft, ttft_ns;
};

void expect_stated(const Times& times, std::int64_t count, std::int64_t sum) {
  EXPECT_EQ(std::count_if(times.begin(), times.end(), [](std::int64_t ns) { return ns >= 0; }), count);
  EXPECT_EQ(
      std::accumulate(times.begin(), times.end(), std::int64_t{0},
                      [](std::int64_t all, std::int64_t ns) { return all + std::max<std::int64_t>(ns, 0); }),
      sum);
}

void expect_recorded(const Recorded& row) {
  const Result<Trace> read = open_trace(testing::shared_traces() + "/" + row.file);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const Trace& trace = read.value();
  const Statistics found = compute_statistics(trace);
  EXPECT_EQ(found.requests, row.requests);
  EXPECT_EQ(found.sessions, row.sessions);
  EXPECT_FALSE(found.span_s.has_value());
  testing::expect_tokens(found.input, row.input);
  testing::expect_tokens(found.output, row.output);
  EXPECT_EQ(found.prefix->block_tokens, 64);
  EXPECT_EQ(found.prefix->references, row.references);
  EXPECT_EQ(found.prefix->distinct, row.distinct);
  EXPECT_EQ(std::round(found.prefix->infinite_hit_blocks.value() * 1e4), std::round(row.hit_blocks * 1e4));
  EXPECT_EQ(std::round(found.prefix->infinite_hit_tokens.value() * 1e4), std::round(row.hit_tokens * 1e4));
  EXPECT_FALSE(trace.prefix.last_may_be_partial);
  expect_stated(trace.arrival_ns, row.requests, row.arrivals_ns);
  expect_stated(trace.e2e_ns, row.with_e2e, row.e2e_ns);
  expect_stated(trace.ttft_ns, row.with_ttft, row.ttft_ns);
}

TEST(ClaudeCode, TheRecordedSessions) {
  KVPLAN_NEED_SHARED();
  expect_recorded({"claude_code_sessions.jsonl.zst",
                   31731,
                   482,
                   {117487.6, 98027, 305632, 526617, 894371},
                   {430.3, 217, 1487, 3509, 15390},
                   58234326,
                   2231598,
                   0.9617,
                   0.9614,
                   262115477074000000,
                   29210,
                   277880020000000,
                   2669,
                   10102380000000});
}

TEST(ClaudeCode, TheSmallSelectionOfThem) {
  KVPLAN_NEED_SHARED();
  expect_recorded({"claude_code_sessions_small.jsonl.gz",
                   1014,
                   24,
                   {79510.4, 70575, 144986, 237353, 423055},
                   {444.9, 249, 1469, 3636, 6531},
                   1259263,
                   82525,
                   0.9345,
                   0.9341,
                   42731613444000000,
                   951,
                   8930430000000,
                   67,
                   183210000000});
}

TEST(ClaudeCode, TheImportHoldsOneSessionAtATime) {
  KVPLAN_NEED_SHARED();
  const testing::TemporaryFolder folder;
  // 281 MB of text; its longest line has 4; the decompressor's window alone takes 128 MB.
  const testing::Outcome outcome =
      testing::run_kvplan("trace import '" + testing::shared_traces() +
                              "/claude_code_sessions.jsonl.zst' -o '" + folder.file("out.kvt") + "'",
                          400);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(ClaudeCode, TurnsWaitForWhatIsBeforeThem) {
  const std::string think = R"(,"think_time":2.5)";
  const Trace trace =
      imported(session("a", request("0", 4, "1") + "," + request("5", 4, "1", think) + "," +
                                // Two sub-agents side by side, the second with one of its own.
                                agent("20", R"("duration_ms":9000,)",
                                      request("0", 4, "1") + "," + request("3", 4, "1", think)) +
                                "," +
                                agent("21", R"("duration_ms":9000,)",
                                      request("0", 4, "1") + "," +
                                          agent("4", R"("duration_ms":1000,)", request("0", 4, "1"))) +
                                "," + request("30", 4, "1", think) + "," + request("40", 4, "1", think)) +
               "\n" + session("b", request("0", 4, "1") + "," + request("9", 4, "1")));
  EXPECT_EQ(pairs_of(trace.waits),
            (Pairs{{1, 0}, {2, 1}, {3, 2}, {4, 1}, {5, 4}, {6, 1}, {6, 3}, {6, 4}, {6, 5}, {7, 6}, {9, 8}}));
  // The pause in which sub-agents ran follows from times.
  EXPECT_EQ(trace.think_ns, (Times{-1, 2'500'000'000, -1, 2'500'000'000, -1, -1, -1, 2'500'000'000, -1, -1}));
}

TEST(ClaudeCode, AnAgentWithoutRequestsIsNoTurn) {
  const Trace trace = imported(session("a", agent("1", "", "") + "," + request("2", 4, "1") + "," +
                                                agent("3", "", "") + "," + request("4", 4, "1")));
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{1, 0}}));
}

}  // namespace
}  // namespace kvplan::traces
