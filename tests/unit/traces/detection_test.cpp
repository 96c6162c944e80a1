// The format of a file, recognised from its content.
#include <gtest/gtest.h>
#include <array>

#include "tests/unit/traces/import_support.h"
#include "tests/unit/traces/support.h"

namespace kvplan::traces {
namespace {

using testing::import_error;
using testing::imported;

using Times = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;

TEST(Detection, UnknownTablesGetAProposal) {
  EXPECT_EQ(import_error("arrival_time,prefill_tokens,decode_tokens\n0.5,1,2\n"),
            "t: no known format has these columns: arrival_time, prefill_tokens, decode_tokens; map them to "
            "roles, as in --map arrival=arrival_time:UNIT,input=prefill_tokens,output=decode_tokens with a "
            "UNIT of s, ms, us, ns or iso");
  EXPECT_EQ(import_error("{\"ts_ms\": 1, \"promptTokens\": 5, \"completion_tokens\": 2}\n"),
            "t: no known format has these columns: ts_ms, promptTokens, completion_tokens; map them to "
            "roles, as in --map arrival=ts_ms:ms,input=promptTokens,output=completion_tokens");
  EXPECT_EQ(
      import_error("Timestamp,Agent,Request tokens,Response tokens,Total tokens,Log Type\n1,2,3,4,5,6\n")
          .substr(113),
      "map them to roles, as in --map "
      "'arrival=Timestamp:UNIT,input=Request tokens,output=Response tokens' with a UNIT of s, ms, us, ns or "
      "iso");
  // Names that a map or a shell would not accept unquoted.
  const std::string odd =
      import_error("\"time, in s\",\"prompt \"\"tokens\"\"\",user's output tokens\n1,2,3\n");
  EXPECT_EQ(
      odd.substr(odd.find("map them to roles")),
      "map them to roles, as in --map 'arrival=\"time, in s\":s,input=prompt \"tokens\",output=user'\\''s "
      "output tokens'");
}

TEST(Detection, AProposalThatFitsWorks) {
  const auto proposed = [](const std::string& table) {
    const std::string error = import_error(table);
    const std::string map = error.substr(error.find("--map ") + 6);
    return with_map("csv", map.substr(0, map.find(' ')));
  };
  const std::string table = "arrival_time_ms,prefill_tokens,decode_tokens\n500,1,2\n";
  EXPECT_EQ(imported(table, proposed(table)).arrival_ns, Times{500000000});
  // If the name has no unit, the proposed map is refused unless it is completed.
  const std::string open = "arrival_time,prefill_tokens,decode_tokens\n500,1,2\n";
  EXPECT_EQ(
      import_error(open, proposed(open)),
      "--map: arrival: expected COLUMN:UNIT with a unit of s, ms, us, ns, iso, found \"arrival_time:UNIT\"");
}

TEST(Detection, RowsThatOnlyLookLikeMooncakeAreNotGuessed) {
  // Bailian counts seconds and does not chain its ids; LMBench writes nanoseconds as text; without ids the
  // unit is open.
  EXPECT_EQ(imported("{\"chat_id\":1,\"parent_chat_id\":-1,\"timestamp\":61.1,\"input_length\":5,"
                     "\"output_length\":2,\"type\":\"text\",\"turn\":1,\"hash_ids\":[1]}")
                .provenance.format,
            "bailian");
  for (const char* row :
       {"{\"timestamp\":\"1700000000000000000\",\"input_length\":5,\"output_length\":2,\"hash_ids\":[1]}",
        "{\"timestamp\":1,\"input_length\":5,\"output_length\":2}"})
    EXPECT_NE(import_error(row).find("no known format has these columns"), std::string::npos) << row;
}

TEST(Detection, NearlyMooncakeIsNamedAndNotGuessed) {
  const auto row = [](const std::string& input, const std::string& more) {
    return "{\"timestamp\":1,\"input_length\":" + input + ",\"output_length\":2,\"hash_ids\":[1]" + more +
           "}\n";
  };
  const std::string assumed =
      "; it reads times as milliseconds and ids as chained; map them to roles, as in --map "
      "arrival=timestamp:UNIT,input=input_length,output=output_length with a UNIT of s, ms, us, ns or iso";
  EXPECT_EQ(
      import_error(row("5", ",\"chat_id\":7")),
      "t: no known format has these columns: timestamp, input_length, output_length, hash_ids, chat_id; "
      "--format mooncake could read it but for chat_id" +
          assumed);
  EXPECT_EQ(import_error(row("\"5\"", "")),
            "t: no known format has these columns: timestamp, input_length, output_length, hash_ids; "
            "--format mooncake could read it but the first row has other value types in" +
                assumed);
  for (const std::string& text : {row("5", ",\"chat_id\":7"), row("\"5\"", "")}) {
    const Trace trace = imported(text, {.format = "mooncake", .map = "", .block_tokens = 0});
    EXPECT_EQ(trace.arrival_ns, Times{1000000});
    EXPECT_EQ(trace.input_tokens, Counts{5});
    EXPECT_EQ(trace.prefix.ids.size(), 1U);
  }
  EXPECT_EQ(import_error("{\"timestamp\":1,\"input_length\":5,\"output_length\":2}").find("mooncake"),
            std::string::npos);
}

TEST(Detection, WhatIsNoTable) {
  for (const std::string& text :
       {std::string("just words\n"), std::string("[1,2,3]\n"), std::string("\n\n\n")})
    EXPECT_EQ(import_error(text), "t: is not a trace in any known format (" + testing::known_formats() + ")");
}

TEST(Detection, WhyAFileIsNoTraceIsSaidWhereThatIsKnown) {
  const auto expect_why = [](const std::string& text, const std::string& why) {
    EXPECT_EQ(import_error(text),
              "t: is not a trace in any known format (" + testing::known_formats() + "): " + why);
    EXPECT_EQ(import_error(text, with_map("", "arrival=a,input=b,output=c")),
              "t: --map: needs a table: a CSV file with a header, or JSON lines; " + why);
  };
  const auto wide = [](const std::string& text, bool big) {
    std::string out;
    for (const char c : text) out += big ? std::string(1, '\0') + c : c + std::string(1, '\0');
    return out;
  };
  const std::string csv = "arrival_ns,input_tokens,output_tokens\n1,2,3\n";
  expect_why("\xFF\xFE" + wide(csv, false), "it is UTF-16; expected UTF-8");
  expect_why("\xFE\xFF" + wide(csv, true), "it is UTF-16; expected UTF-8");
  const std::string zeros = "it has zero bytes, as UTF-16 and binary files do; expected UTF-8";
  for (const std::string& text : {wide(csv, false), wide("{\"a\": 1}", false), std::string("\0\1\2\3", 4)})
    expect_why(text, zeros);
  const std::string cut = "its JSON ends with an unclosed { or [";
  for (const char* text : {"{\"a\"", "{\"a\": \"}", "[{\"a\": [1, 2]", "{\n\"a\": {\"b\": 1}\n"})
    expect_why(text, cut);
  const std::string deep = "its JSON is nested deeper than 256 levels";
  expect_why(std::string(100'000, '['), deep);
  expect_why("{\"a\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}\n", deep);
}

TEST(Detection, TheShapeOfAFile) {
  using Shape = Sniff::Shape;
  const auto shape = [](std::string_view text) {
    Result<std::unique_ptr<ByteSource>> source = open_memory(text, "t");
    Input input(std::move(source).value(), "t");
    const Sniff head = sniff(input);
    EXPECT_EQ(input.position(), 0);
    return head.shape;
  };
  EXPECT_EQ(shape("{\"a\": [1]}\n"), Shape::kJsonLines);
  EXPECT_EQ(shape("\n\r\n{\"a\": [1]}\nrest"), Shape::kJsonLines);
  EXPECT_EQ(shape("{\"a\": Infinity, \"b\": NaN}"), Shape::kJsonLines);
  EXPECT_EQ(shape("{\n\"a\": 1}"), Shape::kJsonDocument);
  EXPECT_EQ(shape("\xEF\xBB\xBF {\"a\": 1, \"b\": 2}"), Shape::kJsonDocument);
  EXPECT_EQ(shape("[{\"a\": 1}"), Shape::kJsonArray);
  EXPECT_EQ(shape(" [\n {\"a\":\n 1}, ruin"), Shape::kJsonArray);
  for (const char* unknown : {"{\n\"a\": 1", "{\"a\": 1", "{\"a\" 1}", "[", "[]", "[[{}]]", "[{\"a\"}]",
                              "[1, {}]", "[a,b]\n", "{", "", " "})
    EXPECT_EQ(shape(unknown), Shape::kUnknown) << unknown;
  EXPECT_EQ(shape("a,b\n{"), Shape::kCsv);
  EXPECT_EQ(shape("  a,b\n{"), Shape::kCsv);
  // Longer than the part that is read: the visible keys are used, and broken text in that part is reported.
  const std::string longer(std::size_t{1} << 20, 'x');
  EXPECT_EQ(shape("{\"a\": \"" + longer + "\"}"), Shape::kJsonDocument);
  EXPECT_EQ(shape("[{\"a\": \"" + longer + "\"}]"), Shape::kJsonArray);
  EXPECT_EQ(shape("{\"" + longer + "\": 1}"), Shape::kJsonDocument);
  EXPECT_EQ(shape("{\"a\": \"\n" + longer + "\"}"), Shape::kUnknown);
}

TEST(Detection, DocumentsThatAreNoTraces) {
  for (const char* text :
       {"{\n\"spans\": [], \"x\": 1}", "{\n\"resourceMetrics\": []}", "[{\"id\": 1, \"messages\": []}]",
        "[{\"conversations\": 5}]", "{\n\"conversations\": []}", "{\n\"input_lens\": [], \"ttfts\": []}",
        "[{\"resourceSpans\": []}]", "{\n\"a\": 1}"})
    EXPECT_EQ(import_error(text), "t: is not a trace in any known format (" + testing::known_formats() + ")")
        << text;
}

TEST(Detection, AMapNeedsATable) {
  for (const char* text : {"words\n", "{\n\"a\": 1}", "[{\"a\": 1}]"})
    EXPECT_EQ(import_error(text, with_map("", "arrival=a,input=b,output=c")),
              "t: --map: needs a table: a CSV file with a header, or JSON lines");
}

TEST(Detection, AnAmbiguousFileNamesTheCandidates) {
  static constexpr auto kYes = [](const Sniff&) { return true; };
  static constexpr auto kNo = [](const Sniff&) { return false; };
  const Importer a{
      .name = "a", .summary = "", .source = "", .takes_map = false, .recognises = kYes, .open = nullptr};
  const Importer b{
      .name = "b", .summary = "", .source = "", .takes_map = false, .recognises = kNo, .open = nullptr};
  const Importer c{
      .name = "c", .summary = "", .source = "", .takes_map = false, .recognises = kYes, .open = nullptr};
  const std::array<const Importer*, 3> all{&a, &b, &c};
  const Result<const Importer*> choice = choose_importer(Sniff{}, all, "file");
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().to_string(), "file: could be any of a, c: choose one with --format");
  const std::array<const Importer*, 2> one{&a, &b};
  EXPECT_EQ(choose_importer(Sniff{}, one, "file").value(), &a);
}

}  // namespace
}  // namespace kvplan::traces
