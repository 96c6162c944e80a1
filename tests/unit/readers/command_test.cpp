// kvplan attention read: outputs that agree with each other, the bundled recording, and what is refused.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "tests/unit/traces/support.h"

namespace kvplan::readers {
namespace {

namespace dom = simdjson::dom;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

const std::string kSample = KVPLAN_SOURCE_DIR "/traces/samples/tiny_llama.kva";
const std::string kTensors = KVPLAN_SOURCE_DIR "/tests/golden/formats/inputs/A.json";
const std::string kRows = KVPLAN_SOURCE_DIR "/tests/golden/policies/inputs/A.json";

/// Fields of a line of CSV without the quotes.
std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

using Row = std::map<std::string, std::string>;
std::vector<Row> rows_of(const std::string& csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const auto names = fields_of(line);
  std::vector<Row> out;
  while (std::getline(lines, line)) {
    const auto values = fields_of(line);
    EXPECT_EQ(values.size(), names.size()) << line;
    Row row;
    for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) row[names[i]] = values[i];
    out.push_back(std::move(row));
  }
  return out;
}

double mean_of(const std::vector<Row>& rows, const std::string& column) {
  double sum = 0;
  for (const Row& row : rows) sum += std::stod(row.at(column));
  return sum / static_cast<double>(rows.size());
}

double per_step(const std::vector<Row>& rows, const std::string& column, std::int64_t steps) {
  return mean_of(rows, column) * static_cast<double>(rows.size()) / static_cast<double>(steps);
}

TEST(ReadCommand, LayersHeadsStepsAndLinesAddUpToTheSummary) {
  const TemporaryFolder folder;
  const std::string csv = folder.file("read.csv");
  const Outcome ran =
      run_kvplan("attention read " + kTensors +
                 " --reader 'quest:page=4,dense_layers=0;clusterkv:sinks=4,dense_layers=0;"
                 "infinigen:dense_layers=0;oracle;full' --budgets 16,32 --prefill 100 --json - "
                 "--csv " +
                 csv);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  dom::parser parser;
  const dom::element root = parser.parse(ran.out);
  const auto all = rows_of(read_file(csv));
  const dom::array readers = root["readers"];
  ASSERT_EQ(readers.size(), 9U) << "full takes no budget";
  EXPECT_EQ(std::int64_t(root["steps"]), 60);
  EXPECT_EQ(std::int64_t(root["tokens"]), 160);
  ASSERT_EQ(all.size(), 9U * 60 * 2);
  std::size_t begin = 0;
  for (const dom::element reader : readers) {
    const std::vector<Row> rows(all.begin() + static_cast<std::ptrdiff_t>(begin),
                                all.begin() + static_cast<std::ptrdiff_t>(begin + 120));
    begin += 120;
    const dom::element summary = reader["summary"];
    SCOPED_TRACE(std::string(std::string_view(reader["reader"])));
    EXPECT_EQ(rows[0].at("reader"), std::string(std::string_view(reader["reader"])));
    EXPECT_EQ(rows[0].at("budget"),
              reader["budget"].is_null() ? "" : std::to_string(std::int64_t(reader["budget"])));
    EXPECT_NEAR(double(summary["mass_mean"]), mean_of(rows, "mass"), 1e-12);
    EXPECT_NEAR(double(summary["oracle_mass_mean"]), mean_of(rows, "oracle_mass"), 1e-12);
    EXPECT_NEAR(double(summary["output_error_mean"]), mean_of(rows, "output_error"), 1e-12);
    EXPECT_NEAR(double(summary["overlap_mean"]), mean_of(rows, "overlap"), 1e-12);
    EXPECT_NEAR(double(summary["tokens_read_mean"]), mean_of(rows, "tokens_read"), 1e-9);
    EXPECT_NEAR(double(summary["bytes_read_per_step"]), per_step(rows, "bytes_read", 60), 1e-6);
    EXPECT_NEAR(double(summary["bytes_read_by_query_heads_per_step"]),
                per_step(rows, "bytes_read_by_query_heads", 60), 1e-6);
    EXPECT_NEAR(double(summary["metadata_bytes_read_per_step"]), per_step(rows, "metadata_bytes_read", 60),
                1e-6);
    EXPECT_DOUBLE_EQ(double(summary["read_fraction"]),
                     mean_of(rows, "bytes_read") / mean_of(rows, "full_bytes"));
    EXPECT_DOUBLE_EQ(
        double(summary["kept_bytes_per_token"]) - double(summary["kept_metadata_bytes_per_token"]),
        2 * (32 + 32) * 2);
    const dom::element layer = reader["layers"].at(0);
    EXPECT_EQ(double(layer["mass_mean"]), double(summary["mass_mean"])) << "there is one layer";
    double heads = 0;
    for (const dom::element head : dom::array(layer["heads"])) heads += double(head["bytes_read_per_step"]);
    EXPECT_NEAR(heads, double(summary["bytes_read_per_step"]), 1e-6);
    double steps = 0;
    for (const dom::element step : dom::array(reader["steps"])) steps += double(step["mass_mean"]);
    EXPECT_NEAR(steps / 60, double(summary["mass_mean"]), 1e-12);
  }
}

TEST(ReadCommand, TheOracleHasTheMassOfTheFrontiersLine) {
  const Outcome read =
      run_kvplan("attention read " + kTensors + " --reader oracle --budgets 8,24 --prefill 100 --json -");
  const Outcome frontier =
      run_kvplan("frontier " + kTensors + " --policies window --budgets 8,24 --prefill 100 --json -");
  ASSERT_EQ(read.exit_code, 0) << read.err;
  ASSERT_EQ(frontier.exit_code, 0) << frontier.err;
  dom::parser a;
  dom::parser b;
  const dom::array readers = a.parse(read.out)["readers"];
  int found = 0;
  for (const dom::element point : dom::array(b.parse(frontier.out)["oracle"]))
    for (const dom::element reader : readers) {
      if (std::int64_t(point["entries"]) != std::int64_t(reader["budget"])) continue;
      EXPECT_NEAR(double(point["mass_mean"]), double(reader["summary"]["mass_mean"]), 1e-12);
      EXPECT_EQ(double(reader["summary"]["overlap_mean"]), 1);
      ++found;
    }
  EXPECT_EQ(found, 2);
}

/// A policy that keeps everything and lets each query read its largest weights equals the oracle.
TEST(ReadCommand, TheOracleHasTheErrorOfTheOraclePolicy) {
  const Outcome read =
      run_kvplan("attention read " + kTensors + " --reader oracle:budget=12 --prefill 100 --json -");
  const Outcome evict =
      run_kvplan("evict " + kTensors + " --policy oracle-topk:k=12,group=1 --prefill 100 --json -");
  ASSERT_EQ(read.exit_code, 0) << read.err;
  ASSERT_EQ(evict.exit_code, 0) << evict.err;
  dom::parser a;
  dom::parser b;
  const dom::element summary = a.parse(read.out)["readers"].at(0)["summary"];
  const dom::element wanted = b.parse(evict.out)["summary"];
  EXPECT_NEAR(double(summary["output_error_mean"]), double(wanted["output_error"]["mean"]), 1e-12);
  EXPECT_NEAR(double(summary["mass_min"]), double(wanted["min_attended_mass"]), 1e-12);
}

TEST(ReadCommand, ReadsTheBundledRecordingAndAnyNumberOfThreadsAlike) {
  const std::string command =
      "attention read " + kSample +
      " --sequence 3 --reader 'full;quest;infinigen;clusterkv;oracle' --budgets 32 --json - ";
  const Outcome one = run_kvplan(command + "--threads 1");
  const Outcome three = run_kvplan(command + "--threads 3");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(one.out, three.out);
  EXPECT_EQ(one.err, "");
  dom::parser parser;
  const dom::element root = parser.parse(one.out);
  EXPECT_EQ(std::int64_t(root["sequences"]), 1);
  EXPECT_EQ(std::int64_t(root["steps"]), 95);
  for (const dom::element reader : dom::array(root["readers"])) {
    const dom::array layers = reader["layers"];
    ASSERT_EQ(layers.size(), 6U);
    const std::string_view name = reader["reader"];
    const std::size_t dense = name == "quest" || name == "clusterkv" ? 2 : name == "infinigen" ? 1 : 0;
    for (std::size_t l = 0; l < 6; ++l) {
      EXPECT_EQ(bool(layers.at(l)["dense"]), l < dense) << name;
      const double mass = double(layers.at(l)["mass_mean"]);
      EXPECT_LE(mass, double(layers.at(l)["oracle_mass_mean"]) + 1e-12);
      if (l < dense || name == "full") {
        EXPECT_NEAR(mass, 1, 1e-12) << name;
      }
    }
  }
}

TEST(ReadCommand, ShowsATable) {
  const Outcome ran = run_kvplan("attention read " + kTensors +
                                 " --reader 'quest:page=4,dense_layers=0;oracle' --budgets 16 --prefill 100");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* part : {"What sparse attention reads at a decode step", "  quest:page=4,dense_layers=0",
                           "  oracle", "Means over 60 decode steps of 1 sequence,"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << "\n" << ran.out;
}

TEST(ReadCommand, TablesOfHeadsAreReadFromTextAndFiles) {
  const TemporaryFolder folder;
  write_file(folder.file("gates.json"), "[[0.9, 0.1]]");
  const std::string begin = "attention read " + kTensors + " --prefill 100 --json - --reader '";
  const std::string rest = ",sink=2,recent=10'";
  const Outcome text = run_kvplan(begin + "retrieval-heads:gates=[[0.9,0.1]]" + rest);
  const Outcome file = run_kvplan(begin + "retrieval-heads:gates=" + folder.file("gates.json") + rest);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  ASSERT_EQ(file.exit_code, 0) << file.err;
  dom::parser a;
  dom::parser b;
  const dom::element heads = a.parse(text.out)["readers"].at(0)["layers"].at(0)["heads"];
  EXPECT_EQ(double(heads.at(0)["tokens_read_mean"]), 130.5) << "101 to 160";
  EXPECT_EQ(double(heads.at(1)["tokens_read_mean"]), 12);
  EXPECT_EQ(double(b.parse(file.out)["readers"].at(0)["summary"]["mass_mean"]),
            double(a.parse(text.out)["readers"].at(0)["summary"]["mass_mean"]));
}

void expect_refused(const std::string& arguments, const std::vector<std::string>& parts) {
  const Outcome ran = run_kvplan("attention read " + arguments);
  EXPECT_EQ(ran.exit_code, 2) << arguments;
  EXPECT_EQ(ran.out, "") << arguments;
  EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  for (const std::string& part : parts)
    EXPECT_NE(ran.err.find(part), std::string::npos) << part << "\n" << ran.err;
}

TEST(ReadCommand, RefusesWhatCannotBeRead) {
  expect_refused(kRows + " --reader full", {kRows, "layer 0 holds no queries and keys"});
  expect_refused(kTensors + " --reader quist:budget=3", {"--reader", "quist", "quest"});
  expect_refused(kTensors + " --reader quest", {"--reader", "quest:budget"});
  expect_refused(kTensors + " --reader quest:budget=64 --budgets 32", {"--reader", "budget"});
  expect_refused(kTensors + " --reader 'quest;;full' --budgets 32", {"--reader", "found nothing"});
  expect_refused(kTensors + " --reader quest --budgets 32,32", {"--budgets", "given twice"});
  expect_refused(kTensors + " --reader 'full;full'", {"--reader", "full is given twice"});
  expect_refused(kTensors + " --reader full --budgets 32",
                 {"--budgets", "sparse attention method that takes a budget"});
  expect_refused(kTensors + " --reader quest --budgets 0", {"--budgets"});
  expect_refused(kTensors + " --reader full --prefill 161", {"--prefill", "160"});
  expect_refused(kTensors + " --reader full --prefill 160 --layer 1", {"--layer", "0 to 0"});
  expect_refused(kTensors + " --reader full --sequence 1", {"--sequence", "0 to 0"});
  expect_refused(kTensors + " --reader clusterkv:budget=16,dense_layers=0",
                 {"clusterkv:budget", "more than the 16"});
  expect_refused(kTensors + " --reader retrieval-heads:gates=[[1]]", {"retrieval-heads:gates", "2 KV heads"});
  expect_refused(kTensors + " --reader retrieval-heads:gates=none.json",
                 {"retrieval-heads:gates", "cannot open"});
  expect_refused(kTensors + " --reader full --json - --csv -", {"at most one output"});
  expect_refused("none.kva --reader full", {"none.kva"});
}

/// Tensors with a value that is not a number.
TEST(ReadCommand, RefusesWhatIsNoNumber) {
  const TemporaryFolder folder;
  const std::string golden = KVPLAN_SOURCE_DIR "/tests/golden/formats/inputs/";
  std::string json = read_file(golden + "A.json");
  for (const char* side : {"q", "k", "v"}) {
    std::string bytes = read_file(golden + "A." + side + ".f32");
    if (*side == 'k') {
      const float none = std::nanf("");
      std::memcpy(bytes.data() + 400, &none, sizeof(none));
    }
    write_file(folder.file(std::string("A.") + side + ".f32"), bytes);
  }
  // Without the digests, which would detect the change first.
  const std::size_t begin = json.find("\"fnv\"");
  json.erase(begin, json.find("},", begin) + 2 - begin);
  write_file(folder.file("A.json"), json);
  expect_refused(folder.file("A.json") + " --reader full --prefill 100", {"A.k.f32", "finite"});
}

TEST(ReadCommand, APromptOfAllTokensHasNoSteps) {
  const Outcome ran =
      run_kvplan("attention read " + kTensors + " --reader 'quest;full' --budgets 32 --prefill 160 --json -");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  dom::parser parser;
  const dom::element summary = parser.parse(ran.out)["readers"].at(0)["summary"];
  EXPECT_TRUE(summary["mass_mean"].is_null());
  EXPECT_TRUE(summary["bytes_read_per_step"].is_null());
  EXPECT_TRUE(summary["read_fraction"].is_null());
}

}  // namespace
}  // namespace kvplan::readers
