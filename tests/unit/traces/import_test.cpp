// Importers: existing dialects, detection by content, and error texts of files that cannot be read.
#include <gtest/gtest.h>

#include "tests/unit/traces/import_support.h"
#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;

TEST(Azure, Dialect2023CarriageReturnsAndNoFinalNewline) {
  const Trace trace = imported(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n2023-11-16 "
      "18:15:50.9951690,396,109");
  EXPECT_EQ(trace.arrival_ns, (Times{1700158546680590000, 1700158550995169000}));
  EXPECT_EQ(trace.input_tokens, (Counts{374, 396}));
  EXPECT_EQ(trace.output_tokens, (Counts{44, 109}));
  EXPECT_FALSE(trace.prefix.present());
  EXPECT_EQ(trace.provenance.format, "azure");
  EXPECT_EQ(trace.provenance.sources, std::vector<std::string>{"t"});
}

TEST(Azure, Dialect2024MixesFractions) {
  const Trace trace = imported(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-12 "
      "00:00:00+00:00,2399,6\n");
  EXPECT_EQ(trace.arrival_ns, (Times{1715299200009930000, 1715472000000000000}));
}

TEST(Azure, Dialect2025HasMoreColumnsAndTheOrderIsFree) {
  const Trace trace = imported(
      "\xEF\xBB\xBFNumImages,GeneratedTokens,TIMESTAMP,ContextTokens\n1,7,2024-10-15T12:00:00.269Z,100\n");
  EXPECT_EQ(trace.arrival_ns, Times{1728993600269000000});
  EXPECT_EQ(trace.input_tokens, Counts{100});
  EXPECT_EQ(trace.output_tokens, Counts{7});
}

TEST(Azure, ArrivalsWithinTenMillisecondsStayApart) {
  const Trace trace = imported(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,1,1\n2023-11-16 "
      "18:15:46.6805910,1,1\n");
  EXPECT_EQ(trace.arrival_ns[1] - trace.arrival_ns[0], 1000);
}

TEST(Azure, OddRowsAreKeptAndCounted) {
  const Trace trace = imported(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:01,0,1\n2023-11-16 18:00:00,5,0\n2023-11-16 "
      "18:00:02,5,0\n");
  EXPECT_EQ(trace.size(), 3);
  EXPECT_EQ(trace.provenance.warnings,
            (std::vector<std::string>{"1 of 3 arrivals are earlier than the arrival before them; runs sort "
                                      "them, and keep the file's order for equal times.",
                                      "1 of 3 requests have no input tokens; runs reject them.",
                                      "2 of 3 requests have no output tokens; runs reject them."}));
}

TEST(Azure, ErrorsSayWhereAndWhatWasExpected) {
  const std::string header = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  const std::string good = "2023-11-16 18:00:00,5,5\n";
  EXPECT_EQ(import_error(header + good + "2023-11-16 18:00:00,-5,5\n"),
            "t:3: ContextTokens: expected a whole number from 0 to 2147483647, found \"-5\"");
  EXPECT_EQ(import_error(header + "2023-11-16 18:00:00,5,nan\n"),
            "t:2: GeneratedTokens: expected a whole number from 0 to 2147483647, found \"nan\"");
  EXPECT_EQ(import_error(header + "yesterday,5,5\n"),
            "t:2: TIMESTAMP: expected a time such as 2023-11-16 18:15:46.68 or 2024-05-10T00:00:00Z, found "
            "\"yesterday\"");
  EXPECT_EQ(import_error(header + "2023-11-16 18:00:00,5\n"),
            "t:2: expected 3 fields as in the header, found 2");
  EXPECT_EQ(import_error(header + "2023-11-16 18:00:00,5,5,5\n"),
            "t:2: expected 3 fields as in the header, found more");
  EXPECT_EQ(import_error(header + "2023-11-16 18:00:00,,5\n"),
            "t:2: ContextTokens: expected a whole number from 0 to 2147483647, found \"\"");
  EXPECT_EQ(import_error(header), "t: a trace without requests");
  EXPECT_EQ(import_error(""), "t: the file is empty");
  EXPECT_EQ(import_error("TIMESTAMP,ContextTokens,ContextTokens,GeneratedTokens\n1,2,3,4\n"),
            "t:1: ContextTokens: two columns have this name");
}

TEST(Mooncake, RowsAndDenseIds) {
  const Trace trace = imported(
      "{\"timestamp\": 27482, \"input_length\": 600, \"output_length\": 52, \"hash_ids\": [46, 9000000000]}\n"
      "{\"hash_ids\": [46, 18446744073709551615], \"timestamp\": 30535.5, \"input_length\": 1024, "
      "\"output_length\": 26}");
  EXPECT_EQ(trace.arrival_ns, (Times{27482000000, 30535500000}));
  EXPECT_EQ(trace.prefix.block_tokens, 512);
  EXPECT_EQ(trace.prefix.offsets, (std::vector<std::uint64_t>{0, 2, 4}));
  EXPECT_EQ(trace.prefix.ids, (std::vector<std::uint32_t>{0, 1, 0, 2}));
  EXPECT_EQ(trace.prefix.distinct, 3);
  EXPECT_TRUE(trace.prefix.last_may_be_partial);
  EXPECT_TRUE(trace.session.empty());
}

TEST(Mooncake, OtherNamesNullsAndUnknownFields) {
  const Trace trace = imported(
      "{\"created_time\": 1, \"input_tokens\": 10, \"output_tokens\": 2, \"hash_ids\": [5], \"session_id\": "
      "\"a\\u0062\", "
      "\"extra\": {\"x\": [1, {\"y\": null}]}}\n\n"
      "{\"created_time\": 2, \"input_tokens\": 10, \"output_tokens\": 2, \"hash_ids\": null, \"session_id\": "
      "null}\n"
      "{\"created_time\": 3, \"input_tokens\": 10, \"output_tokens\": 2, \"hash_ids\": [], \"session_id\": "
      "\"c\", "
      "\"max_tokens\": 64, \"new\": true}\n");
  EXPECT_EQ(trace.session, (Counts{0, -1, 1}));
  EXPECT_EQ(trace.session_names, (std::vector<std::string>{"ab", "c"}));
  EXPECT_EQ(trace.max_tokens, (Counts{-1, -1, 64}));
  EXPECT_EQ(trace.prefix.offsets, (std::vector<std::uint64_t>{0, 1, 1, 1}));
  // A prompt shorter than a block shares nothing, whether its ids are missing or the list is empty.
  EXPECT_EQ(
      trace.provenance.warnings,
      (std::vector<std::string>{"The partly filled last block has an id in 1 requests and no id in 1."}));
}

/// Missing ids and an empty list are the same after reading.
TEST(Mooncake, FullBlocksWithoutIdsAreSaid) {
  const Trace trace = imported(
      "{\"timestamp\": 1, \"input_length\": 600, \"output_length\": 2, \"hash_ids\": []}\n"
      "{\"timestamp\": 2, \"input_length\": 1100, \"output_length\": 2, \"hash_ids\": [1]}\n"
      "{\"timestamp\": 3, \"input_length\": 1100, \"output_length\": 2, \"hash_ids\": null}\n");
  EXPECT_EQ(trace.provenance.warnings,
            (std::vector<std::string>{
                "2 of 3 requests have no prefix ids; their prompts share nothing with others.",
                "1 of 3 requests have fewer prefix ids than full blocks of 512 tokens; the rest of these "
                "prompts shares nothing with others."}));
}

TEST(Mooncake, CeilingOrFloor) {
  const auto row = [](int length, const std::string& ids) {
    return "{\"timestamp\":0,\"input_length\":" + std::to_string(length) +
           ",\"output_length\":1,\"hash_ids\":[" + ids + "]}\n";
  };
  EXPECT_TRUE(imported(row(513, "1,2") + row(512, "3")).prefix.last_may_be_partial);
  EXPECT_FALSE(imported(row(513, "1") + row(512, "3")).prefix.last_may_be_partial);
  EXPECT_TRUE(imported(row(512, "1")).prefix.last_may_be_partial);
  const Trace mixed = imported(row(513, "1") + row(513, "2,3"));
  EXPECT_EQ(mixed.provenance.warnings,
            std::vector<std::string>{"The partly filled last block has an id in 1 requests and no id in 1."});
  const Trace sparse = imported(row(5130, "1"));
  EXPECT_EQ(sparse.provenance.warnings,
            std::vector<std::string>{"1 of 1 requests have fewer prefix ids than full blocks of 512 tokens; "
                                     "the rest of these prompts shares nothing with others."});
  EXPECT_EQ(import_error(row(100, "1,2,3,4,5,6,7")),
            "t:1: hash_ids: 7 ids for a prompt of 100 tokens; expected at most 1 with blocks of 512 tokens "
            "(--block changes the block size)");
  EXPECT_EQ(
      imported(row(100, "1,2,3,4,5,6,7"), {.format = "", .map = "", .block_tokens = 16}).prefix.block_tokens,
      16);
}

TEST(Mooncake, ErrorsSayWhereAndWhatWasExpected) {
  const std::string good = "{\"timestamp\":0,\"input_length\":5,\"output_length\":1,\"hash_ids\":[1]}\n";
  const auto error = [&](const std::string& row) { return import_error(good + row); };
  EXPECT_EQ(error("{\"timestamp\":-1,\"input_length\":5,\"output_length\":1}"),
            "t:2: timestamp: expected a time of at least 0 in ms within 292 years, found \"-1\"");
  EXPECT_EQ(error("{\"timestamp\":1,\"input_length\":5.5,\"output_length\":1}"),
            "t:2: input_length: expected a whole number from 0 to 2147483647, found \"5.5\"");
  EXPECT_EQ(
      error("{\"timestamp\":1,\"input_length\":[5],\"output_length\":1}"),
      "t:2: input_length: expected a number or a string, found an array or object at byte 30 of the line");
  EXPECT_EQ(error("{\"timestamp\":1,\"input_length\":5}"), "t:2: no value for \"output_length\" (output)");
  EXPECT_EQ(error("{\"timestamp\":1,\"input_length\":5,\"input_tokens\":5,\"output_length\":1}"),
            "t:2: input_tokens: found a second value for the input column");
  EXPECT_EQ(error("{\"timestamp\":1,\"input_length\":5,\"output_length\":1,\"hash_ids\":[1.5]}"),
            "t:2: hash_ids: expected an array of whole numbers from 0 to 2^64 - 1");
  EXPECT_EQ(
      error("{\"timestamp\":1,\"input_length\":5,\"output_length\":1,\"hash_ids\":[18446744073709551616]}"),
      "t:2: hash_ids: expected an array of whole numbers from 0 to 2^64 - 1");
  EXPECT_EQ(error("{\"timestamp\":1,\"input_length\":5,\"output_length\":1,\"hash_ids\":\"x\"}"),
            "t:2: hash_ids: expected an array of whole numbers from 0 to 2^64 - 1");
  EXPECT_EQ(error("{\"timestamp\":1,\"input_len"),
            "t:2: expected one JSON object, found something else at byte 25 of the line: \"\"");
  EXPECT_EQ(error("[]"), "t:2: expected one JSON object, found something else at byte 0 of the line: \"[]\"");
  EXPECT_EQ(error("{\"timestamp\":NaN,\"input_length\":5,\"output_length\":1}"),
            "t:2: expected one JSON object, found something else at byte 13 of the line: "
            "\"NaN,\"input_length\":5,\"output_length\":1}\"");
}

TEST(Map, CsvWithUnitsQuotesAndLists) {
  const Trace trace = imported(
      "when;who;in;out;ids;limit;first;last\n"
      "1.5;\"a;\"\"b\"\"\";20;3;[1, 2];100;0.25;2\n"
      "2.5;;32;3;1 3 4 5;;;\n",
      with_map("csv",
               "arrival=when:ms,input=in,output=out,session=who,hashes=ids,block=8,max_tokens=limit,ttft="
               "first:s,e2e=last"));
  EXPECT_EQ(trace.arrival_ns, (Times{1500000, 2500000}));
  EXPECT_EQ(trace.session_names, std::vector<std::string>{"a;\"b\""});
  EXPECT_EQ(trace.session, (Counts{0, -1}));
  EXPECT_EQ(trace.max_tokens, (Counts{100, -1}));
  EXPECT_EQ(trace.ttft_ns, (Times{250000000, -1}));
  EXPECT_EQ(trace.e2e_ns, (Times{2000000000, -1}));
  EXPECT_EQ(trace.prefix.ids, (std::vector<std::uint32_t>{0, 1, 0, 2, 3, 4}));
  EXPECT_EQ(trace.prefix.block_tokens, 8);
  EXPECT_EQ(trace.provenance.options,
            std::vector<std::string>{
                "map=arrival=when:ms,input=in,output=out,session=who,max_tokens=limit,hashes=ids,"
                "ttft=first:s,e2e=last:s,block=8"});
}

TEST(Map, PrioritiesAreWholeNumbers) {
  const ImportOptions map = with_map("csv", "arrival=t,input=i,output=o,priority=p");
  EXPECT_EQ(imported("t,i,o,p\n1,2,3,\n2,3,4,7\n3,4,5,0\n", map).priority, (Counts{-1, 7, 0}));
  EXPECT_EQ(import_error("t,i,o,p\n1,2,3,-4\n", map),
            "t:2: p: expected a whole number from 0 to 2147483647, found \"-4\"");
  EXPECT_EQ(
      imported("{\"arrival_ns\": 5, \"input_tokens\": 2, \"output_tokens\": 1, \"priority\": 3}\n").priority,
      Counts{3});
}

TEST(Map, QuotedFieldsMayHoldLineFeeds) {
  const Trace trace = imported("t,text,i,o\n1,\"two\nlines, \"\"quoted\"\"\",3,4\n2,x,5,6\n",
                               with_map("csv", "arrival=t:s,input=i,output=o"));
  EXPECT_EQ(trace.input_tokens, (Counts{3, 5}));
  EXPECT_EQ(import_error("t,i,o\n1,\"3,4\n5,6,7\n", with_map("csv", "arrival=t,input=i,output=o")),
            "t:2: a quoted field has no closing quote");
}

TEST(Map, JsonLines) {
  const Trace trace = imported("{\"ts\": \"1700158546680590\", \"p\": 3, \"c\": 4, \"u\": 17}\n",
                               with_map("jsonl", "arrival=ts:us,input=p,output=c,tenant=u"));
  EXPECT_EQ(trace.arrival_ns, Times{1700158546680590000});
  EXPECT_EQ(trace.tenant_names, std::vector<std::string>{"17"});
}

TEST(Map, WhatIsNoNumberOfJsonIsRefusedBehindRowsThatAreGood) {
  const ImportOptions options = with_map("jsonl", "arrival=t,input=i,output=o");
  const std::string good = "{\"t\": 1, \"i\": 2, \"o\": 3}\n";
  const std::string half = "{\"t\": .5, \"i\": 2, \"o\": 3}\n";
  const std::string expected = "t: expected a number or a string, found something else at byte 6 of the line";
  EXPECT_EQ(import_error(half, options), "t:1: " + expected);
  EXPECT_EQ(import_error(good + good + half, options), "t:3: " + expected);
}

TEST(Map, MistakesInTheMap) {
  const auto error = [](const std::string& map) {
    return import_error("a,b,c\n1,2,3\n", with_map("csv", map));
  };
  EXPECT_EQ(error("arrival=a,input=b"), "--map: output=COLUMN must be given");
  EXPECT_EQ(error("arrival=a:h,input=b,output=c"),
            "--map: arrival: expected COLUMN:UNIT with a unit of s, ms, us, ns, iso, found \"a:h\"");
  EXPECT_EQ(error("arival=a,input=b,output=c").substr(0, 59),
            "--map: unknown role \"arival\"; did you mean \"arrival\"? (know");
  EXPECT_EQ(error("arrival=a,input=b,output=c,input=c"), "--map: input: given twice");
  EXPECT_EQ(error("arrival=a,input=b,output=c,hashes=a"),
            "--map: hashes needs block=N, the number of tokens per id");
  EXPECT_EQ(error("arrival=a,input=b,output=c,block=16"), "--map: block needs hashes=COLUMN");
  EXPECT_EQ(error("arrival=a,input=b,output=c,hashes=a,block=0"),
            "--map: block: expected 1 to 1048576 tokens, found \"0\"");
  EXPECT_EQ(error("arrival"), "--map: expected ROLE=COLUMN, found \"arrival\"");
  EXPECT_EQ(error("arrival=a,input=b,output=d"), "t:1: no column \"d\"; the columns are a, b, c");
  EXPECT_EQ(error("arrival=a,input=b,output=b"), "t:1: b: one column cannot be mapped twice");
  EXPECT_EQ(error(""),
            "--format: needs --map arrival=COLUMN[:s|ms|us|ns|iso],input=COLUMN,output=COLUMN[,...]");
  EXPECT_EQ(import_error("x", with_map("", "arrival=a")),
            "t: --map: needs a table: a CSV file with a header, or JSON lines");
  EXPECT_EQ(import_error("x", with_map("azure", "arrival=a")),
            "--map: option needs --format csv or --format jsonl, found azure");
  EXPECT_EQ(import_error("x", with_map("azur", "")).substr(0, 59),
            "--format: unknown format \"azur\"; did you mean \"azure\"? (kno");
}

TEST(Map, TextOfAMapReadsBackTheSame) {
  const std::string text = "arrival=a:ns,input=b,output=c,session=d,hashes=e,ttft=f:us,block=16";
  const Result<ColumnMap> map = parse_column_map(text);
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(to_text(map.value()), text);
}

TEST(Map, TheContentSaysWhichTableItIs) {
  const std::string map = "arrival=a:s,input=b,output=c";
  EXPECT_EQ(imported("a,b,c\n1,2,3\n", with_map("", map)).provenance.format, "csv");
  EXPECT_EQ(imported("{\"a\":1,\"b\":2,\"c\":3}\n", with_map("", map)).provenance.format, "jsonl");
}

TEST(Map, AUnitInAColumnsNameIsNotPassedOver) {
  const auto error = [](const std::string& map) {
    return import_error("a,b,c\n1,2,3\n", with_map("csv", map + ",input=b,output=c"));
  };
  EXPECT_EQ(error("arrival=ts_ms"),
            "--map: arrival: times without a unit are seconds, but the column name \"ts_ms\" contradicts "
            "that: expected a unit, as in arrival=ts_ms:ms");
  for (const auto& [name, unit] :
       std::vector<std::pair<std::string, std::string>>{{"timestampMs", "ms"},
                                                        {"Arrival (usec)", "us"},
                                                        {"start_time_unix_nano", "ns"},
                                                        {"millis", "ms"},
                                                        {"microsecs", "us"},
                                                        {"time_\xC2\xB5s", "us"},
                                                        {"lat \xCE\xBCs", "us"},
                                                        {"sec_ns", "ns"}})
    EXPECT_NE(error("arrival=" + name).find("as in arrival=" + name + ":" + unit), std::string::npos) << name;
  EXPECT_NE(error("arrival=\"ts, us\"").find("as in arrival=\"ts, us\":us"), std::string::npos);
  EXPECT_NE(error("arrival=a:s,ttft=ttft_ms").find("as in ttft=ttft_ms:ms"), std::string::npos);
  EXPECT_NE(error("arrival=arrival_minutes")
                .find("contradicts that: expected times in s, ms, us or ns, and a unit"),
            std::string::npos);
  const auto arrival = [](const std::string& name, const std::string& unit) {
    return imported(name + ",i,o\n1,2,3\n", with_map("csv", "arrival=" + name + unit + ",input=i,output=o"))
        .arrival_ns;
  };
  EXPECT_EQ(arrival("ts_s", ""), Times{1000000000});
  EXPECT_EQ(arrival("streams", ""), Times{1000000000});  // a word that only ends like a unit
  EXPECT_EQ(arrival("ts_ms", ":ms"), Times{1000000});
  EXPECT_EQ(arrival("ts_ms", ":s"), Times{1000000000});  // an explicit unit overrides the name
}

TEST(Map, NamesInQuotes) {
  const std::string map = "arrival=\"t, \"\"x\"\"\":ms,input=\"user, in\",output=o,session=\"\"";
  const Trace trace = imported("\"t, \"\"x\"\"\",\"user, in\",o,\n5,6,7,me\n", with_map("csv", map));
  EXPECT_EQ(trace.arrival_ns, Times{5000000});
  EXPECT_EQ(trace.input_tokens, Counts{6});
  EXPECT_EQ(trace.session_names, std::vector<std::string>{"me"});
  EXPECT_EQ(trace.provenance.options, std::vector<std::string>{"map=" + map});
  EXPECT_EQ(to_text(parse_column_map(map).value()), map);
  // As in a JSON key: a colon that is not followed by a unit.
  EXPECT_EQ(imported("\"a:b\",i,o\n5,6,7\n", with_map("csv", "arrival=\"a:b\",input=i,output=o")).arrival_ns,
            Times{5000000000});
  const auto error = [](const std::string& text) {
    return import_error("\"a,b\",c,\"d \"\"e\"\"\"\n1,2,3\n", with_map("csv", text));
  };
  EXPECT_EQ(error("arrival=x,input=c,output=c"),
            "t:1: no column \"x\"; the columns are \"a,b\", c, \"d \"\"e\"\"\"");
  EXPECT_EQ(error("arrival=\"a,b"), "--map: expected a quote at the end of the name \"\"a,b\"");
  EXPECT_EQ(error("arrival=\"a,b\"x,input=c"),
            "--map: arrival: expected COLUMN:UNIT with a unit of s, ms, us, ns, iso, found \"\"a,b\"x\"");
  EXPECT_EQ(error("input=\"a,b\"x,arrival=c"),
            "--map: input: expected a comma after the quoted name, found \"x\"");
}

TEST(Map, ValuesInsideObjectsAreNotRead) {
  const std::string row = "{\"ts_s\": 1, \"usage\": {\"in\": 5}, \"out_tokens\": 6}\n";
  EXPECT_EQ(import_error(row, with_map("jsonl", "arrival=ts_s,input=usage.in,output=out_tokens")),
            "t:1: no value for \"usage.in\" (input); nested objects are not read");
  EXPECT_EQ(import_error(row),
            "t: no known format has these columns: ts_s, usage, out_tokens; map them to roles, as in --map "
            "arrival=ts_s:s,input=COLUMN,output=out_tokens; nested objects are not read");
}

TEST(Azure, DatesThatDoNotFitSayTheRange) {
  const auto error = [](const std::string& time) {
    return import_error("TIMESTAMP,ContextTokens,GeneratedTokens\n" + time + ",5,5\n");
  };
  for (const char* time : {"9999-12-31 23:59:59", "1677-01-01 00:00:00", "2262-01-01 00:00:00"})
    EXPECT_EQ(error(time), "t:2: TIMESTAMP: expected a time of the years 1678 to 2261, found \"" +
                               std::string(time) + "\"");
  EXPECT_NE(error("9999-02-30 00:00:00").find("expected a time such as"), std::string::npos);  // no date
  EXPECT_NE(error("2023-12-31").find("expected a time such as"), std::string::npos);
}

TEST(Catalogue, SortedWithWholeDescriptors) {
  std::string_view before;
  for (const Importer* importer : importers()) {
    EXPECT_LT(before, importer->name);
    before = importer->name;
    EXPECT_FALSE(importer->summary.empty());
    EXPECT_FALSE(importer->source.empty());
    EXPECT_NE(importer->recognises, nullptr);
    EXPECT_NE(importer->open, nullptr);
  }
}

TEST(SeveralFiles, FollowEachOther) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.file("1"),
                      "{\"timestamp\":0,\"input_length\":9,\"output_length\":1,\"hash_ids\":[7]}\n");
  testing::write_file(folder.file("2"),
                      "{\"timestamp\":5,\"input_length\":9,\"output_length\":1,\"hash_ids\":[7]}\nx\n");
  const auto read = [&](const std::vector<std::string>& names) -> Result<Trace> {
    KVPLAN_TRY(const std::unique_ptr<TraceStream> stream, open_stream(names, {}));
    return collect(*stream);
  };
  const Result<Trace> broken = read({folder.file("1"), folder.file("2")});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().to_string(), folder.file("2") +
                                            ":2: expected one JSON object, found something else at byte 0 "
                                            "of the line: \"x\"");
  const Result<Trace> twice = read({folder.file("1"), folder.file("1")});
  ASSERT_TRUE(twice.ok());
  EXPECT_EQ(twice.value().size(), 2);
  EXPECT_EQ(twice.value().prefix.distinct, 1);
}

}  // namespace
}  // namespace kvplan::traces
