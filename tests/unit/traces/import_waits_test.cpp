// Rows that wait for others: by named ids, by numbers, by session; in all formats of rows, and written out
// again.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"
#include "traces/import/piece_builder.h"
#include "traces/io/kvt.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::import_text;
using testing::Pairs;
using testing::pairs_of;
using testing::run_kvplan;
using testing::TemporaryFolder;

std::string quoted(const std::string& path) {
  return "'" + path + "'";
}

Trace imported(const std::string& text, const ImportOptions& options = {}) {
  Result<Trace> trace = import_text(text, options);
  EXPECT_TRUE(trace.ok()) << trace.error().to_string();
  return trace.ok() ? std::move(trace).value() : Trace{};
}

const ImportOptions kCsv{.format = "csv", .map = "arrival=t,input=i,output=o,id=id,after=w,think=p:ms"};

TEST(Waits, RowsNameRowsBeforeAndBehindThem) {
  const Trace trace =
      imported("t,i,o,id,w,p\n0,1,1,x,,\n1,1,1,y,x z,7\n2,1,1,z,\"x,x\",\n3,1,1,,y;z,0.5\n4,1,1,v,,\n", kCsv);
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{1, 0}, {1, 2}, {2, 0}, {3, 1}, {3, 2}}));
  EXPECT_EQ(trace.think_ns, (std::vector<std::int64_t>{-1, 7'000'000, -1, 500'000, -1}));
  EXPECT_TRUE(trace.provenance.warnings.empty());
}

TEST(Waits, WhatIsNeverNamedIsCounted) {
  const Trace trace = imported("t,i,o,id,w,p\n0,1,1,x,,\n1,1,1,y,q x,\n2,1,1,z,q,\n", kCsv);
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{1, 0}}));
  EXPECT_EQ(
      trace.provenance.warnings,
      std::vector<std::string>{"2 waits refer to requests that the file does not have; they were left out."});
}

TEST(Waits, ANameTwiceIsAnError) {
  EXPECT_EQ(import_error("t,i,o,id,w,p\n0,1,1,x,,\n1,1,1,x,,\n", kCsv),
            "t:3: id: an earlier request has the same id: \"x\"");
}

TEST(Waits, QuotedRowsAreReadOnce) {
  const Trace trace = imported("t,i,o,id,w,p\n0,1,1,x,,\n1,1,1,y,x,\"3\"\n", kCsv);
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{1, 0}}));
}

TEST(Waits, IdsWithoutWaitsAreAccepted) {
  const Trace trace =
      imported("t,i,o,id\n0,1,1,x\n1,1,1,x\n", {.format = "csv", .map = "arrival=t,input=i,output=o,id=id"});
  EXPECT_EQ(trace.size(), 2) << "nothing asks for them, so one may occur twice";
  EXPECT_TRUE(trace.waits.empty());
}

std::string row(int at, const std::string& more) {
  return "{\"timestamp\": " + std::to_string(at) +
         ", \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [1, 2]" + more + "}\n";
}

TEST(Waits, MooncakeTurnsOfASession) {
  const Trace trace = imported(row(0, R"(, "session_id": "a")") + row(1, R"(, "session_id": "b")") +
                               row(2, R"(, "session_id": "a", "delay": 1.5)") + row(3, "") +
                               row(4, R"(, "session_id": "a", "delay_ms": 2, "tool_wait_ms": 3)"));
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{2, 0}, {4, 2}}));
  EXPECT_EQ(trace.think_ns, (std::vector<std::int64_t>{-1, -1, 1'500'000, -1, 5'000'000}));
}

TEST(Waits, MooncakeRowsThatNameTheirWaits) {
  const Trace trace = imported(row(0, R"(, "request_id": "p", "session_id": "a")") +
                               row(1, R"(, "request_id": "q", "session_id": "a", "wait_for": ["r", "p"])") +
                               row(2, R"(, "request_id": "r", "session_id": "a", "wait_for": [])") +
                               row(3, R"(, "request_id": "s", "session_id": "a", "wait_for": "p")"));
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{1, 0}, {1, 2}, {3, 0}}));
  const std::string error = import_error(row(0, R"(, "request_id": "p", "wait_for": [{}])"), {});
  EXPECT_NE(error.find("t:1: wait_for: expected an array of numbers or strings"), std::string::npos) << error;
}

TEST(Waits, BailianChatsWaitForTheirParents) {
  const auto chat = [](int id, int parent) {
    return "{\"chat_id\": " + std::to_string(id) + ", \"parent_chat_id\": " + std::to_string(parent) +
           ", \"timestamp\": 1.5, \"input_length\": 20, \"output_length\": 5, \"type\": \"text\", \"turn\": "
           "1, "
           "\"hash_ids\": [1, 2]}\n";
  };
  const Trace trace = imported(chat(5, -1) + chat(6, 4) + chat(7, 5) + chat(8, 7) + chat(9, 5));
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{2, 0}, {3, 2}, {4, 0}}));
  EXPECT_EQ(trace.provenance.warnings.back(),
            "1 waits refer to requests that the file does not have; they were left out.");
}

TEST(Waits, ConversationsAreTurns) {
  const Trace trace = imported(
      R"([{"id": "a", "conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"},
          {"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]},
          {"id": "b", "conversations": [{"from": "human", "value": "x"}, {"from": "gpt", "value": "y"}]}])");
  EXPECT_EQ(pairs_of(trace.waits), (Pairs{{1, 0}}));
}

TEST(Waits, SurviveConversion) {
  const TemporaryFolder folder;
  testing::write_file(folder.file("a.jsonl"), row(0, R"(, "session_id": "a")") +
                                                  row(2, R"(, "session_id": "a", "delay": 1.5)") +
                                                  row(3, R"(, "session_id": "a", "wait_for": [])") +
                                                  row(4, R"(, "wait_for": [0, 2])"));
  const std::string json = run_kvplan("trace info --json - " + quoted(folder.file("a.jsonl"))).out;
  const std::string digest = json.substr(json.find("digest"), 27);
  EXPECT_NE(json.find("\"waiting\": 2,\n    \"waits\": 3,\n    \"longest_chain\": 2"), std::string::npos)
      << json;
  for (const char* name : {"b.jsonl", "b.kvt"}) {
    EXPECT_EQ(
        run_kvplan("trace convert " + quoted(folder.file("a.jsonl")) + " -o " + quoted(folder.file(name)))
            .exit_code,
        0);
    const std::string again = run_kvplan("trace info --json - " + quoted(folder.file(name))).out;
    EXPECT_EQ(again.substr(again.find("digest"), 27), digest) << name;
  }
  testing::write_file(folder.file("c.csv"), "t,i,o,w,p\n0,1,1,,\n1,1,1,0,7\n2,1,1,0 1,\n");
  const std::string map = " --map arrival=t,input=i,output=o,after=w,think=p:ms ";
  const std::string csv = run_kvplan("trace info --json -" + map + quoted(folder.file("c.csv"))).out;
  EXPECT_EQ(
      run_kvplan("trace convert" + map + quoted(folder.file("c.csv")) + " -o " + quoted(folder.file("d.csv")))
          .exit_code,
      0);
  EXPECT_EQ(testing::read_file(folder.file("d.csv")),
            "arrival_ns,input_tokens,output_tokens,think_ns,after\n0,1,1,,\n1000000000,1,1,7000000,0\n"
            "2000000000,1,1,,0 1\n");
  const std::string out = run_kvplan("trace info --json - " + quoted(folder.file("d.csv"))).out;
  EXPECT_EQ(out.substr(out.find("digest"), 27), csv.substr(csv.find("digest"), 27));
}

/// Positions in waits have 31 bits, so a trace may be too long for them; here the limit is five requests.
class FiveWithWaits : public ::testing::Test {
 protected:
  /// Adds `rows` rows to a piece; `waiting` of them wait for the first one.
  bool add(PieceBuilder& builder, std::int64_t rows, std::int64_t waiting) {
    for (std::int64_t i = 0; i < rows; ++i) {
      Row row;
      row.session = "s";
      if (i == waiting) row.after = {0};
      if (!builder.add(row)) return false;
    }
    return true;
  }
  Trace piece_;
};

TEST_F(FiveWithWaits, AnImportRefusesTheSixth) {
  for (const std::int64_t waiting : {1, 4, 5}) {
    PieceBuilder builder(0, {}, 5);
    builder.begin(piece_);
    EXPECT_EQ(add(builder, 5, waiting), true);
    Row row;
    if (waiting == 5) row.after = {0};
    EXPECT_FALSE(builder.add(row)) << waiting;
    EXPECT_EQ(builder.problem().field, "after");
    EXPECT_EQ(builder.problem().message, "a trace with waits has at most 5 requests");
  }
  PieceBuilder sessions(0, {.turns_wait = true}, 5);
  sessions.begin(piece_);
  EXPECT_FALSE(add(sessions, 6, -1));
  EXPECT_EQ(piece_.size(), 5);
}

TEST_F(FiveWithWaits, PiecesWithoutWaitsGoOn) {
  PieceBuilder builder(0, {}, 5);
  builder.begin(piece_);
  EXPECT_TRUE(add(builder, 5, 4));
  builder.begin(piece_);
  EXPECT_TRUE(add(builder, 5, -1));
}

TEST_F(FiveWithWaits, WhatIsWrittenIsRefusedInTheSamePlace) {
  const TemporaryFolder folder;
  for (const std::int64_t rows : {5, 6}) {
    PieceBuilder builder(0);
    builder.begin(piece_);
    ASSERT_TRUE(add(builder, rows, 1));
    Result<std::unique_ptr<Output>> output = create_output(folder.file("t.kvt"));
    ASSERT_TRUE(output.ok());
    KvtWriter writer(*output.value(), 5);
    ASSERT_TRUE(writer.begin({}).ok());
    const Status added = writer.add(piece_);
    EXPECT_EQ(added.ok(), rows == 5);
    EXPECT_EQ(added.ok() ? "" : added.error().to_string(),
              rows == 5 ? "" : "a trace with waits has at most 5 requests");
  }
}

}  // namespace
}  // namespace kvplan::traces
