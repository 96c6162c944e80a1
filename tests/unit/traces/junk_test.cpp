// Logs of any origin: columns recognised, bad rows left out, rows chosen.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"
#include "traces/import/column_map.h"

namespace kvplan::traces {
namespace {

using testing::import_text;
using testing::Outcome;
using testing::run_kvplan;
using testing::TemporaryFolder;
using testing::write_file;

Result<Trace> import_with(const std::string& text, const std::string& map) {
  ImportOptions options;
  options.map = map;
  return import_text(text, options);
}
Trace good(const std::string& text, const std::string& map) {
  auto trace = import_with(text, map);
  EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().to_string());
  return trace.ok() ? std::move(trace).value() : Trace{};
}
std::string error_of(const std::string& text, const std::string& map) {
  const auto trace = import_with(text, map);
  return trace.ok() ? "no error" : trace.error().to_string();
}
std::string warnings_of(const Trace& trace) {
  std::string out;
  for (const std::string& each : trace.provenance.warnings) out += each + "\n";
  return out;
}

/// Times since the first.
std::vector<std::int64_t> gaps(const Trace& trace) {
  std::vector<std::int64_t> out;
  for (const std::int64_t at : trace.arrival_ns) out.push_back(at - trace.arrival_ns.front());
  return out;
}

TEST(AutoMap, TimesAreRecognisedWhereTheyArePlain) {
  const std::vector<std::int64_t> second{0, 1'000'000'000};
  for (const auto& [first, then] :
       std::vector<std::pair<const char*, const char*>>{{"2026-01-02 03:04:05", "2026-01-02 03:04:06"},
                                                        {"2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"},
                                                        {"1767225600", "1767225601"},
                                                        {"1767225600000", "1767225601000"},
                                                        {"1767225600000000", "1767225601000000"},
                                                        {"1767225600000000000", "1767225601000000000"},
                                                        {"0.5", "1.5"}}) {
    const std::string rows = std::string(first) + ",10,20,u1\n" + then + ",11,21,u2\n";
    const Trace trace = good("timestamp,prompt_tokens,completion_tokens,user\n" + rows, "auto");
    EXPECT_EQ(gaps(trace), second) << first;
    EXPECT_EQ(trace.tenant_names.size(), 2U);
    EXPECT_NE(warnings_of(trace).find("recognised by their names and values: --map"), std::string::npos);
  }
  const Trace named = good("start_ms;InputLength;output_len\n0;10;20\n1000;11;21\n", "auto");
  EXPECT_EQ(gaps(named), second);
  const Trace json = good(
      "{\"created\":1767225600,\"input_tokens\":10,\"output_tokens\":5,\"conversation_id\":\"a\"}\n"
      "{\"created\":1767225601,\"input_tokens\":10,\"output_tokens\":5,\"conversation_id\":\"a\"}\n",
      "auto");
  EXPECT_EQ(gaps(json), second);
  EXPECT_EQ(json.session_names.size(), 1U);
}

TEST(AutoMap, WhatCouldBeSeveralIsAsked) {
  EXPECT_NE(
      error_of("time,in_tokens,out_tokens\n0,1,2\n27,1,2\n", "auto").find("could be seconds or milliseconds"),
      std::string::npos);
  const std::string missing = error_of("timestamp,prompt_tokens,color\n1767225600,1,2\n", "auto");
  EXPECT_NE(missing.find("no column is plainly the output"), std::string::npos) << missing;
  EXPECT_NE(missing.find("--map"), std::string::npos);
}

/// Five kinds of junk in one file: one run says it all.
TEST(SkipBad, CountsKindsAndShowsThreeRows) {
  const std::string junk =
      "timestamp,prompt_tokens,completion_tokens\n"
      "1767225600,10,20\n"
      "never,10,20\n"         // no time
      "1767225601,ten,20\n"   // no number
      "1767225602,10\n"       // a field is missing
      "1767225603,10,-5\n"    // negative
      "1767225604,10,20,9\n"  // one too many
      "1767225605,11,21\n"
      "1767225606,1e99,21\n";
  const Trace trace = good(junk, "auto,bad=skip");
  EXPECT_EQ(trace.size(), 2);
  const std::string warnings = warnings_of(trace);
  EXPECT_NE(warnings.find("6 rows could not be read and were left out"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("line 3, timestamp: "), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("line 5, "), std::string::npos) << warnings;
  EXPECT_EQ(warnings.find("line 6, "), std::string::npos) << "three examples";
  EXPECT_NE(error_of(junk, "auto").find("timestamp"), std::string::npos)
      << "without it the first is an error";
  EXPECT_NE(error_of("timestamp,in_tokens,out_tokens\n1767225600,x,1\n", "auto,bad=skip").find("1 rows"),
            std::string::npos);
  const Trace json = good(
      "{\"ts\":0.5,\"input_tokens\":1,\"output_tokens\":2}\n{\"ts\":0.5,\"input_to\n{\"ts\":0.7}\n"
      "{\"ts\":1.5,\"input_tokens\":1,\"output_tokens\":2}\n",
      "auto,bad=skip");
  EXPECT_EQ(json.size(), 2);
}

TEST(Where, OnlyRowsWithTheValueAreRead) {
  const std::string table =
      "ts,in_tokens,out_tokens,tier,\"a,b\"\n0.5,1,2,gold,x\n0.6,2,2,free,x\n0.7,3,2,gold,y\n0.8,bad,2,free,"
      "y\n";
  EXPECT_EQ(good(table, "auto,where=tier=gold").input_tokens, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(good(table, "auto,where=tier=gold,where=\"a,b=y\"").input_tokens, (std::vector<std::int32_t>{3}));
  EXPECT_NE(warnings_of(good(table, "auto,where=tier=gold")).find("2 rows have other values"),
            std::string::npos);
  EXPECT_NE(error_of(table, "auto,where=team=a").find("no column \"team\""), std::string::npos);
  EXPECT_NE(error_of(table, "auto,where=team").find("expected COLUMN=VALUE"), std::string::npos);
  std::string rows;
  for (int i = 0; i < 300; ++i)
    rows += "{\"ts\":" + std::to_string(i) + ".5,\"in_tokens\":" + std::to_string(i) +
            ",\"out_tokens\":1,\"tier\":\"" + (i % 3 == 0 ? "gold" : "free") +
            "\",\"n\":" + std::to_string(i % 2) + "}\n";
  EXPECT_EQ(good(rows, "auto,where=tier=gold").size(), 100);
  EXPECT_EQ(good(rows, "auto,where=tier=gold,where=n=1").size(), 50);
}

TEST(AutoMap, AnIdThatNothingWaitsForIsAccepted) {
  const Trace trace = good("t,i,o,id\n0.5,1,2,a\n0.6,1,2,a\n", "arrival=t,input=i,output=o,id=id");
  EXPECT_EQ(trace.size(), 2);
}

TEST(AutoMap, TextsOfMapsAreReadBack) {
  const std::string text = "arrival=t:ms,input=i,output=o,bad=skip,where=\"a=b,c\"";
  EXPECT_EQ(to_text(parse_column_map(text).value()), text);
}

TEST(AutoMap, TheCommandSaysWhatItDid) {
  const TemporaryFolder folder;
  write_file(folder.file("log.csv"),
             "time,prompt_tokens,output_tokens,team\n2026-01-02 03:04:05,10,20,a\noops,1,2,a\n2026-01-02 "
             "03:04:06,11,21,b\n2026-01-02 03:04:07,12,22,a\n");
  const Outcome info = run_kvplan("trace info '" + folder.file("log.csv") + "' --skip-bad --where team=a");
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_NE(info.out.find("1 rows could not be read"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("recognised by their names and values"), std::string::npos) << info.out;
  const Outcome run =
      run_kvplan("run '" + folder.file("log.csv") + "' --map auto --skip-bad --where team=a --json -");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("\"arrived\": 2"), std::string::npos);
}

}  // namespace
}  // namespace kvplan::traces
