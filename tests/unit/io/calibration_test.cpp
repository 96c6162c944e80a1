// Calibrations: the page's example is read and written again, keys are those of the schema, every kind of mistake has
// its line.
#include "simulator/io/calibration.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <set>

#include "proto/calibration.pb.h"
#include "tests/unit/traces/support.h"

namespace kvplan::io {
namespace {

namespace dom = simdjson::dom;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

std::string page() {
  return read_file(KVPLAN_SOURCE_DIR "/simulator/io/CALIBRATION_FORMAT.md");
}

/// The JSON that the page shows.
std::string example() {
  const std::string text = page();
  const std::size_t begin = text.find("```json\n") + 8;
  return text.substr(begin, text.find("```\n", begin) - begin);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

std::string error_of(const std::string& text) {
  const auto read = parse_calibration(text, "c.json");
  return read.ok() ? "no error" : read.error().to_string();
}

TEST(Calibration, TheExampleOfThePageIsReadAsItStands) {
  const auto read = parse_calibration(example(), "c.json");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  const Calibration& c = read.value();
  EXPECT_EQ(c.made_by, "measure-steps 1.0");
  EXPECT_EQ(c.device.name, "Made-up 1");
  EXPECT_EQ(c.device.visible_bytes, 1073741824);
  EXPECT_EQ(c.software.kernel_build, "00ff");
  EXPECT_TRUE(c.method.cold && c.method.graph);
  ASSERT_EQ(c.tables.size(), 2U);
  EXPECT_EQ(c.tables[0].column("create")->numbers, (std::vector<double>{29000, 116000, 464000.5}));
  EXPECT_EQ(c.tables[1].column("moment")->texts, (std::vector<std::string>{"before", "context", "launch"}));
  EXPECT_EQ(c.tables[1].column("nothing"), nullptr);
  ASSERT_EQ(c.fits.size(), 1U);
  EXPECT_EQ(c.fits[0].parameters[1].value, 29000);
  EXPECT_EQ(c.fits[0].held_out_rows, 1);
}

/// Checks that the values are equal, whatever the spaces are.
void expect_same(const dom::element a, const dom::element b, const std::string& path) {
  dom::object object;
  dom::array array;
  if (a.get(object) == simdjson::SUCCESS) {
    for (const auto [key, value] : object) {
      dom::element other;
      ASSERT_EQ(b[key].get(other), simdjson::SUCCESS) << path << "." << key;
      expect_same(value, other, path + "." + std::string(key));
    }
  } else if (a.get(array) == simdjson::SUCCESS) {
    dom::array others;
    ASSERT_EQ(b.get(others), simdjson::SUCCESS);
    ASSERT_EQ(array.size(), others.size()) << path;
    for (std::size_t i = 0; i < array.size(); ++i) expect_same(array.at(i), others.at(i), path + "[]");
  } else if (a.is_number()) {
    EXPECT_EQ(double(a), double(b)) << path;
  } else {
    EXPECT_EQ(simdjson::minify(a), simdjson::minify(b)) << path;
  }
}

TEST(Calibration, WhatIsWrittenIsWhatWasRead) {
  const std::string json = calibration_json(parse_calibration(example(), "c.json").value());
  dom::parser one, two;
  expect_same(one.parse(example()), two.parse(json), "");
  expect_same(two.parse(json), one.parse(example()), "");
  const auto again = parse_calibration(json, "c.json");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(calibration_json(again.value()), json);
}

/// Checks that the keys of the JSON are the fields of the message, in order, and that every field is there.
void expect_fields(const dom::element value, const Descriptor& type) {
  dom::object object;
  ASSERT_EQ(value.get(object), simdjson::SUCCESS) << type.name();
  int at = 0;
  for (const auto [key, member] : object) {
    ASSERT_LT(at, type.field_count()) << key;
    const FieldDescriptor& field = *type.field(at++);
    EXPECT_EQ(key, field.name()) << type.name();
    dom::array array;
    EXPECT_EQ(member.get(array) == simdjson::SUCCESS, field.is_repeated()) << key;
    if (field.message_type() == nullptr) continue;
    if (!field.is_repeated()) {
      expect_fields(member, *field.message_type());
      continue;
    }
    EXPECT_GT(array.size(), 0U) << key;
    for (const dom::element each : array) expect_fields(each, *field.message_type());
  }
  EXPECT_EQ(at, type.field_count()) << type.name();
}

TEST(Calibration, KeysAreTheFieldsOfTheSchema) {
  dom::parser parser;
  const std::string json = calibration_json(parse_calibration(example(), "c.json").value());
  expect_fields(parser.parse(json), *v1::Calibration::descriptor());
}

TEST(Calibration, MistakesAreOneLineWithTheirPlace) {
  const std::string good = example();
  const std::vector<std::array<std::string, 3>> cases{
      {"\"kvplan-calibration-1\"", "\"kvplan-calibration-2\"",
       "c.json:2: schema: expected \"kvplan-calibration-1\", found \"kvplan-calibration-2\""},
      {"2026-11-22T04:05:06Z", "yesterday", "c.json:4: when: expected a time such as 2026-11-22T04:05:06Z"},
      {"\"sm_count\": 4", "\"sm_count\": -4",
       "c.json:5: device.sm_count: expected a whole number of at least 0"},
      {"\"sm_count\": 4, ", "", "c.json:5: device: expected \"sm_count\""},
      {"\"kernel_build\": \"00ff\"", "\"kernel_build\": \"\"",
       "c.json:6: software.kernel_build: expected a name, found an empty string"},
      {"\"cold\": true", "\"cold\": 1", "c.json:7: method.cold: expected true or false"},
      {"\"cold\": true", "\"clod\": true",
       "c.json:7: method.clod: unknown key \"clod\"; did you mean \"cold\"? (known: cold, graph, "
       "least_samples, stop_rule)"},
      {"\"cold\": true", "\"cold\": true, \"cold\": true",
       "c.json:7: method.cold: expected one value, found a second"},
      {"\"handles\", \"unit\": \"count\"", "\"handles\", \"unit\": \"counts\"",
       "c.json:10: tables[0].columns[0].unit: unknown unit \"counts\"; did you mean \"count\"? (known: "
       "bytes, ns, tokens, count, ratio, text)"},
      {"[1, 4, 16]", "[1, 4.5, 16]",
       "c.json:10: tables[0].columns[0].numbers[1]: expected a whole number of count up to 2^53"},
      {"[1, 4, 16]", "[1, \"4\", 16]", "c.json:10: tables[0].columns[0].numbers[1]: expected a number"},
      {"[1, 4, 16]", "[1, 4]",
       "c.json:11: tables[0].columns[1]: expected 2 rows as in the first column, found 3"},
      {"29000, 116000", "-29000, 116000",
       "c.json:12: tables[0].columns[2].numbers[0]: expected a number of at least 0"},
      {"\"create\"", "\"make\"",
       "c.json:16: tables[0]: expected a column \"create\" in ns in the table \"vmm\""},
      {"\"create\"", "\"handles\"",
       "c.json:12: tables[0].columns[2]: expected each column once, found \"handles\" again"},
      {"\"name\": \"context\"", "\"name\": \"vmm\"",
       "c.json:20: tables[1]: expected each table once, found \"vmm\" again"},
      {"\"before\", \"context\"", "\"before\", 7",
       "c.json:18: tables[1].columns[0].texts[1]: expected a string"},
      {"\"ns/count\"", "\"ns/text\"",
       "c.json:24: fits[0].parameters[1].unit: expected a unit, or two units with a slash between, found "
       "\"ns/text\""},
      {"\"table\": \"vmm\"", "\"table\": \"swap\"",
       "c.json: fits: expected the name of a table in this file, found \"swap\""},
      {"\"held_out_error\": 0.001", "\"held_out_error\": -1",
       "c.json:25: fits[0].held_out_error: expected an error of at least 0"},
  };
  for (const auto& [what, with, message] : cases) EXPECT_EQ(error_of(replaced(good, what, with)), message);
  for (const std::string text : {"", "[]", "{", "{\"schema\"", "\"a\"", "{} {}", "\xff"}) {
    const std::string error = error_of(text);
    EXPECT_EQ(error.find("c.json:1: "), 0U) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(Calibration, QuantilesAreInOrder) {
  const std::string table = R"({"name": "own", "columns": [)"
                            R"({"name": "p10", "unit": "ns", "numbers": [1, 5], "texts": []},)"
                            R"({"name": "median", "unit": "ns", "numbers": [2, 4], "texts": []},)"
                            R"({"name": "p90", "unit": "ns", "numbers": [3, 6], "texts": []}]})";
  const std::string text =
      replaced(example(), "{\"name\": \"context\"", table + ",\n    {\"name\": \"context\"");
  EXPECT_EQ(error_of(text), "c.json:17: tables[1]: expected p10 <= median <= p90 in row 1");
  EXPECT_EQ(error_of(replaced(text, "[1, 5]", "[1, 4]")), "no error") << "a table of another name is kept";
}

TEST(Calibration, MergingJoinsRowsOfOneDevice) {
  Calibration base = parse_calibration(example(), "c.json").value();
  Calibration more = base;
  more.when = "2026-11-21T00:00:00Z";
  more.device.sm_clock_mhz = 900;
  EXPECT_NE(merge_calibration(base, more).error().message.find("each fit once"), std::string::npos);
  base = parse_calibration(example(), "c.json").value();
  more.fits.clear();
  more.tables.push_back({"granularity", {{"minimum", "bytes", {1}, {}}, {"recommended", "bytes", {2}, {}}}});
  ASSERT_TRUE(merge_calibration(base, more).ok());
  EXPECT_EQ(base.when, more.when);
  ASSERT_EQ(base.tables.size(), 3U);
  EXPECT_EQ(base.tables[0].column("handles")->numbers, (std::vector<double>{1, 4, 16, 1, 4, 16}));
  EXPECT_EQ(base.tables[1].rows(), 6U);
  EXPECT_EQ(base.device.sm_clock_mhz, 1000);
  const auto refused = [&](auto change) {
    Calibration other = more;
    change(other);
    Calibration into = base;
    const Status status = merge_calibration(into, other);
    return status.ok() ? std::string("no error") : status.error().to_string();
  };
  EXPECT_EQ(refused([](Calibration& c) { c.device.l2_bytes = 1; }),
            "device: expected the same device in both calibrations");
  EXPECT_EQ(refused([](Calibration& c) { c.software.kernel_build = "x"; }).find("software: "), 0U);
  EXPECT_EQ(refused([](Calibration& c) { c.method.cold = false; }).find("method: "), 0U);
  EXPECT_EQ(refused([](Calibration& c) { c.tables[0].columns.pop_back(); }),
            "table \"vmm\": expected the same columns in both calibrations");
}

TEST(Calibration, ThePageHasEveryTableAndColumn) {
  const std::string text = page();
  for (const KnownTable& table : known_tables()) {
    const std::size_t begin = text.find("### " + std::string(table.name) + "\n");
    ASSERT_NE(begin, std::string::npos) << table.name;
    const std::string part = text.substr(begin, text.find("\n#", begin + 4) - begin);
    for (const KnownColumn& column : table.columns)
      EXPECT_NE(part.find("| `" + std::string(column.name) + "` | " + std::string(column.unit) + " | " +
                          std::string(column.help) + " |\n"),
                std::string::npos)
          << table.name << " " << column.name;
    EXPECT_EQ(std::count(part.begin(), part.end(), '\n'),
              static_cast<std::ptrdiff_t>(table.columns.size()) + 6)
        << table.name;
  }
}

TEST(CalibrationCommand, ShowsChecksAndJoins) {
  const TemporaryFolder folder;
  const std::string file = folder.file("c.json");
  write_file(file, example());
  const Outcome info = run_kvplan("calibration info " + file);
  EXPECT_EQ(info.exit_code, 0) << info.err;
  for (const char* part :
       {"Made-up 1\n", "vmm: times of mapping memory by handles, 3 rows", "29.0 µs to 464 µs", "1 to 16 ",
        "before, context, launch", "Fit of vmm: create = a + b * handles, held-out error 0.10 %",
        "Not measured: granularity, malloc,"})
    EXPECT_NE(info.out.find(part), std::string::npos) << part << "\n" << info.out;
  const std::string json = calibration_json(parse_calibration(example(), "c.json").value());
  EXPECT_EQ(run_kvplan("calibration info " + file + " --json -").out, json);
  EXPECT_EQ(run_kvplan("calibration merge " + file + " -o -").out, json);
  const std::string other = folder.file("d.json");
  write_file(other, replaced(example(), "\"00ff\"", "\"11ff\""));
  const std::string before = folder.listing();
  const Outcome refused =
      run_kvplan("calibration merge " + file + " " + other + " -o " + folder.file("e.json"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err,
            "kvplan: " + other +
                ": software: expected the same driver, toolkit, engine and kernels in both calibrations\n");
  EXPECT_EQ(run_kvplan("calibration merge " + file + " -o " + file).exit_code, 2)
      << "it would replace what it reads";
  write_file(other, "{\n\"schema\": 3}");
  EXPECT_EQ(run_kvplan("calibration info " + other).err,
            "kvplan: " + other + ":2: schema: expected a string\n");
  EXPECT_EQ(folder.listing(), before);
}

}  // namespace
}  // namespace kvplan::io
