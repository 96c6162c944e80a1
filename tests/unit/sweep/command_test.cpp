// kvplan sweep, merge and report as commands: the CSV does not depend on threads, shards, kills or interruptions, its
// figures are those of the reports, and errors are one line.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "simulator/base/random.h"
#include "simulator/sweep/sql.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/sweep/command_support.h"
#include "tests/unit/traces/support.h"

namespace kvplan::sweep {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// The cells of a line without quotes.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

std::string sweep_csv(const TemporaryFolder& folder, const std::string& name, const std::string& options) {
  const Outcome outcome = run_kvplan("sweep " + kCases + " --out " + folder.file(name) + " " + options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return csv_of(folder.file(name));
}

TEST(SweepCommand, TheSameBytesForThreadsAndShards) {
  const TemporaryFolder folder;
  const std::string one = sweep_csv(folder, "one", "");
  const auto lines = lines_of(one);
  ASSERT_EQ(lines.size(), 25U);
  EXPECT_EQ(lines[0].find("case,status,error,memory.pool_tokens,memory.allocator,engine.max_seqs,"), 0U);
  EXPECT_EQ(lines[1].find("0,done,,20000,paged,8,1500,200,"), 0U) << lines[1];
  EXPECT_EQ(lines[3].find("2,failed,\"memory.allocator: block_tokens: expected a divisor"), 0U) << lines[3];
  EXPECT_EQ(lines[24].find("23,done,,50000,contiguous:reserve=pow2,64,"), 0U);
  for (const char* threads : {"2", "5"})
    EXPECT_EQ(sweep_csv(folder, threads, std::string("--threads ") + threads), one);
  std::string parts;
  std::size_t cases = 0;
  for (const char* k : {"4", "1", "5", "3", "2"}) {
    const std::string name = std::string("part") + k;
    const auto part = lines_of(sweep_csv(folder, name, std::string("--threads 2 --shard ") + k + "/5"));
    EXPECT_LE(part.size(), 6U);  // 24 cases, and the header
    EXPECT_GE(part.size(), 5U);
    cases += part.size() - 1;
    parts += " " + folder.file(name);
  }
  EXPECT_EQ(cases, 24U);
  ASSERT_EQ(run_kvplan("merge" + parts + " --out " + folder.file("all")).exit_code, 0);
  EXPECT_EQ(csv_of(folder.file("all")), one);
  // A merge of some databases can be continued.
  const std::string some = folder.file("part2") + " " + folder.file("part4") + " " + folder.file("part2");
  ASSERT_EQ(run_kvplan("merge " + some + " --out " + folder.file("some")).exit_code, 0);
  const Outcome some_csv = run_kvplan("report " + folder.file("some") + " --csv -");
  EXPECT_EQ(lines_of(some_csv.out).size(), 11U);
  EXPECT_NE(some_csv.err.find("14 of 24 cases of the sweep are missing in "), std::string::npos)
      << some_csv.err;
  EXPECT_EQ(sweep_csv(folder, "some", "--resume"), one);
  EXPECT_EQ(folder.listing(), "2 5 all one part1 part2 part3 part4 part5 some");
}

TEST(SweepCommand, FiguresAreThoseOfTheReport) {
  const TemporaryFolder folder;
  const auto lines = lines_of(sweep_csv(folder, "db", ""));
  const auto cells = [&](std::size_t line) {
    std::vector<std::string> out;
    std::istringstream in(lines[line]);
    for (std::string cell; std::getline(in, cell, ',');) out.push_back(cell);
    return out;
  };
  const Outcome run = run_kvplan("run " + kTrace +
                                 " --set workload.limit=200 --set memory.pool_tokens=30000 --set "
                                 "engine.max_seqs=64 --json -");
  simdjson::dom::parser parser;
  const auto report = parser.parse(run.out);
  const auto names = cells(0);
  const auto values = cells(8);                // case 7
  ASSERT_EQ(values.size(), names.size() - 1);  // the last is empty, without targets
  ASSERT_EQ(values[0] + values[3] + values[5], "73000064");
  int checked = 0;
  for (std::size_t i = 6; i < values.size(); ++i) {
    auto element = report.at_pointer("");
    std::istringstream path(names[i]);
    for (std::string key; std::getline(path, key, '.');) {
      if (element.error() || element.is_null()) break;
      element = element.at_key(key);
    }
    ASSERT_FALSE(element.error()) << names[i];
    if (values[i].empty()) {
      EXPECT_TRUE(element.is_null()) << names[i];
    } else {
      const double told =
          element.is_bool() ? static_cast<double>(element.get_bool().value()) : element.get_double().value();
      EXPECT_EQ(told, std::stod(values[i])) << names[i];
      ++checked;
    }
  }
  EXPECT_GT(checked, 90);
}

TEST(SweepCommand, ThePageSaysWhatIsBestAndWhatFailed) {
  const TemporaryFolder folder;
  const auto lines = lines_of(sweep_csv(folder, "db", ""));
  const Outcome made = run_kvplan("report " + folder.file("db") + " --html " + folder.file("page") +
                                  " --csv " + folder.file("csv"));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(lines_of(read_file(folder.file("csv"))), lines);
  const std::string page = read_file(folder.file("page"));
  const std::string text = report::testing::parse_xml(page).all_text();
  const auto has = [&](const std::string& words) { return text.find(words) != std::string::npos; };
  EXPECT_TRUE(has("A sweep of 24 cases"));
  EXPECT_TRUE(has("24 are done, 8 of them failed."));
  EXPECT_TRUE(has("20000, 30000, 40000, 50000"));
  EXPECT_TRUE(has("8 cases: memory.allocator: block_tokens: expected a divisor"));
  // Cases by value, failed ones and the rest: half of all have 8 seats, and a third of these failed.
  EXPECT_NE(page.find("<th scope=\"row\">8</th><td>12</td><td>4</td>"), std::string::npos);
  // The shortest wait for a first token, and the first case that has it.
  const auto names = cells_of(lines[0]);
  const auto column =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), "latency_s.ttft.p99") - names.begin());
  ASSERT_LT(column, names.size());
  std::vector<std::string> first;
  for (const std::string& line : lines) {
    const auto row = cells_of(line);
    if (row[1] != "done") continue;  // skips the header and failed cases, which have quotes
    if (first.empty() || std::stod(row[column]) < std::stod(first[column])) first = row;
  }
  const std::size_t best = page.find("<th scope=\"row\">latency_s.ttft.p99</th>");
  ASSERT_NE(best, std::string::npos);
  const std::string row = page.substr(best, page.find("</tr>", best) - best);
  const std::string wanted =
      "<td>" + first[0] + "</td><td>" + first[3] + "</td><td>" + first[4] + "</td><td>" + first[5] + "</td>";
  EXPECT_NE(row.find(wanted), std::string::npos) << row;
}

TEST(SweepCommand, TheReportAnswersWhatIsAsked) {
  const TemporaryFolder folder;
  sweep_csv(folder, "db", "");
  const std::string asked = "report " + folder.file("db") +
                            " --pareto memory.pool_tokens:lower,latency_s.ttft.p99 --heat "
                            "preemptions,memory.pool_tokens,engine.max_seqs"
                            " --effects latency_s.ttft.p99,preemptions";
  const Outcome text = run_kvplan(asked);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* words :
       {"The Pareto front: ", " of 8 cases, of lower memory.pool_tokens, lower latency_s.ttft.p99",
        "Mean preemptions by memory.pool_tokens (horizontal) and engine.max_seqs (vertical)",
        "latency_s.ttft.p99 by memory.allocator: ", "preemptions by engine.max_seqs: "})
    EXPECT_NE(text.out.find(words), std::string::npos) << words << text.out;
  const Outcome files =
      run_kvplan(asked + " --csv " + folder.file("csv") + " --html " + folder.file("page") +
                 " --pareto-csv " + folder.file("front") + " --heat-csv " + folder.file("heat") +
                 " --heat-svg " + folder.file("svg") + " --effects-csv -");
  ASSERT_EQ(files.exit_code, 0) << files.err;
  EXPECT_EQ(read_file(folder.file("csv")), csv_of(folder.file("db")));  // the same as before
  // Saturated cases have no meaningful latency.
  const std::vector<std::string> cases = lines_of(csv_of(folder.file("db")));
  const auto column_of = [&](const std::string& name) {
    const auto names = cells_of(cases[0]);
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  std::int64_t steady = 0;
  for (const std::string& line : cases) {
    const auto row = cells_of(line);
    if (row[1] == "done" && row[column_of("memory.pool_tokens")] == "20000" &&
        row[column_of("saturation.saturated")] != "1")
      ++steady;
  }
  ASSERT_LT(steady, 4);
  EXPECT_EQ(
      files.out.find("figure,path,value,cases,mean,difference\nlatency_s.ttft.p99,memory.pool_tokens,20000," +
                     std::to_string(steady) + ","),
      0U)
      << files.out;
  EXPECT_EQ(lines_of(files.out).size(), 1U + 2 * (4 + 3 + 2));
  EXPECT_EQ(lines_of(read_file(folder.file("heat"))).size(), 9U);
  EXPECT_EQ(lines_of(read_file(folder.file("front")))[0],
            "case,memory.pool_tokens,memory.allocator,engine.max_seqs,latency_s.ttft.p99");
  const auto svg = report::testing::parse_xml(read_file(folder.file("svg")));
  EXPECT_EQ(svg.with("stroke-width", "1").size() + svg.with("stroke-width", "2.5").size(), 8U);
  const std::string page = report::testing::parse_xml(read_file(folder.file("page"))).all_text();
  for (const char* words :
       {"The Pareto front: ", "Mean preemptions by memory.pool_tokens and engine.max_seqs",
        "preemptions by memory.allocator: ", "Cases: all combinations."})
    EXPECT_NE(page.find(words), std::string::npos) << words;
  const auto error = [&](const std::string& options) {
    const Outcome outcome = run_kvplan("report " + folder.file("db") + options);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err;
  };
  EXPECT_EQ(error(" --pareto preemptions"), "kvplan: --pareto: expected two figures or more\n");
  EXPECT_EQ(error(" --heat preemptions,memory.pool_tokens"),
            "kvplan: --heat: expected FIGURE,PATH,PATH, found \"preemptions,memory.pool_tokens\"\n");
  EXPECT_EQ(error(" --effects preemption.p99"),
            "kvplan: --effects: expected a figure or a varied path (latency_s.ttft.p99, latency_s.tpot.p99, "
            "latency_s.e2e.p99, latency_s.queue.p99), found \"preemption.p99\"\n");
  EXPECT_NE(error(" --pareto-csv " + folder.file("x")).find("--pareto"), std::string::npos);
  EXPECT_EQ(error(" --csv - --html -"), "kvplan: expected at most one output on standard output\n");
  EXPECT_EQ(folder.listing(), "csv db front heat page svg");
}

/// What the schema page allows to add is ignored; a view in place of a table is not read.
TEST(SweepCommand, TablesMayHaveMore) {
  const TemporaryFolder folder;
  const std::string sweep = "sweep " + kTrace + " --set workload.limit=20 --vary 'seed=1;2;3' --out ";
  const std::string db = folder.file("db");
  ASSERT_EQ(run_kvplan(sweep + db).exit_code, 0);
  const auto change = [](const std::string& file, const std::string& text) {
    const auto status = Sql::open(file, Sql::Mode::kCreate).value()->run(text);
    ASSERT_TRUE(status.ok()) << status.error().to_string();
  };
  const std::string csv = csv_of(db);
  change(db,
         "ALTER TABLE cases ADD COLUMN mine REAL DEFAULT 5; CREATE TABLE notes (text TEXT);"
         "CREATE TRIGGER t AFTER INSERT ON cases BEGIN DELETE FROM cases; END");
  EXPECT_EQ(csv_of(db), csv);
  ASSERT_EQ(run_kvplan("merge " + db + " --out " + folder.file("all")).exit_code, 0);
  EXPECT_EQ(csv_of(folder.file("all")), csv);
  change(db, "DELETE FROM cases WHERE \"case\" = 1");
  ASSERT_EQ(run_kvplan(sweep + db + " --resume").exit_code, 0);
  EXPECT_EQ(csv_of(db), csv);
  const auto error = [](const std::string& file) {
    const Outcome outcome = run_kvplan("report " + file + " --csv -");
    EXPECT_EQ(outcome.exit_code, 2);
    return outcome.err;
  };
  const std::string damaged = "kvplan: " + db + ": the database is damaged: expected a ";
  change(db, "ALTER TABLE cases RENAME COLUMN preemptions TO others");
  EXPECT_EQ(error(db), damaged + "column preemptions in cases\n");
  change(db,
         "DROP TABLE inputs; CREATE VIEW inputs (position, path, digest) AS WITH RECURSIVE n(i) AS (SELECT 1 "
         "UNION "
         "ALL SELECT i + 1 FROM n) SELECT i, 'a', 'b' FROM n");
  EXPECT_EQ(error(db), damaged + "table inputs, found a view\n");
  change(db, "DROP VIEW inputs");
  EXPECT_EQ(error(db), damaged + "table inputs, found none\n");
}

/// Names of files are printed without characters that would move a terminal's cursor, and stored so that other programs
/// can read them: a text that is not UTF-8 is a blob.
TEST(SweepCommand, FilesOfAnyName) {
  const TemporaryFolder folder;
  const std::string rows = "arrival_ns,input_tokens,output_tokens\n0,100,20\n5,7,9\n";
  const std::string odd = folder.file("t\x1b[31m\xff.csv"), db = folder.file("d\x1b[31mb");
  write_file(odd, rows);
  write_file(folder.file("u.csv"), rows);
  const Outcome outcome = run_kvplan("sweep '" + odd + "' --vary 'workload.trace=" + odd + ";" +
                                     folder.file("u.csv") + "' --out '" + db + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("d\\x1B[31mb: 2 of 2 cases"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("t\\x1B[31m\\xFF.csv"), std::string::npos) << outcome.out;
  EXPECT_EQ(run_kvplan("report '" + db + "'").out, outcome.out);
  EXPECT_NE(csv_of("'" + db + "'").find(odd), std::string::npos) << "as it is: other programs read it";
  auto sql = Sql::open(db, Sql::Mode::kRead);
  ASSERT_TRUE(sql.ok());
  EXPECT_EQ(sql.value()->value("SELECT group_concat(DISTINCT typeof(path)) FROM inputs").value(),
            Cell(std::string("blob,text")));
}

TEST(SweepCommand, WhatMayNotBeReadOrWrittenSaysSo) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read and write everything";
  const TemporaryFolder folder;
  const std::string sweep = "sweep " + kTrace + " --set workload.limit=20 --vary 'seed=1;2;3' --out ";
  const std::string db = folder.file("db");
  ASSERT_EQ(run_kvplan(sweep + db).exit_code, 0);
  ASSERT_EQ(::chmod(db.c_str(), 0), 0);
  EXPECT_EQ(run_kvplan("report " + db).err, "kvplan: " + db + ": cannot open: Permission denied\n");
  EXPECT_EQ(run_kvplan(sweep + db + " --resume").err, "kvplan: " + db + ": cannot open: Permission denied\n");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(run_kvplan(sweep + folder.file("new")).err,
            "kvplan: " + folder.file("new") + ": cannot open: Permission denied\n");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
}

/// A former error: wrong values in files were reported without file and line.
TEST(SweepCommand, WrongValuesOfAFileHaveItsLine) {
  const TemporaryFolder folder;
  const std::string cases = folder.file("cases.csv"), values = folder.file("values");
  write_file(cases, "seed,engine.max_seqs\n1,4\n\n2,many\n");
  EXPECT_EQ(run_kvplan("sweep " + kTrace + " --cases " + cases + " --out " + folder.file("db")).err,
            "kvplan: " + cases +
                ":4: engine.max_seqs: vllm-v1:max_seqs: expected a whole number from 1 to 16777216 "
                "(requests), found "
                "\"many\"\n");
  write_file(cases, "seed,nonsense\n1,4\n");
  EXPECT_EQ(run_kvplan("sweep " + kTrace + " --cases " + cases + " --out " + folder.file("db"))
                .err.find("kvplan: " + cases + ":2: nonsense: unknown scenario path \"nonsense\""),
            0U);
  write_file(values, "1\n2\n1e9x\n");
  for (const std::string& command : {"sweep " + kTrace + " --out " + folder.file("db"), "compare " + kTrace})
    EXPECT_EQ(
        run_kvplan(command + " --vary seed=@" + values).err.find("kvplan: " + values + ":3: seed: expected"),
        0U);
  write_file(values, "1;2\n\n2\n");
  EXPECT_EQ(run_kvplan("compare " + kTrace + " --vary seed=@" + values).err,
            "kvplan: " + values + ":3: --vary seed: expected each value once, found \"2\" again\n");
  EXPECT_EQ(folder.listing(), "cases.csv values");
}

TEST(SweepCommand, WhatIsWrongIsOneLine) {
  const TemporaryFolder folder;
  const std::string db = folder.file("db");
  const auto error = [](const std::string& arguments) {
    const Outcome outcome = run_kvplan(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err.substr(0, outcome.err.size() - 1);
  };
  const std::string out = " --out " + db;
  const std::string start = "kvplan: " + db + ": ";
  EXPECT_EQ(error("sweep " + kTrace + " --vary memory.pool_tokens=" + out),
            "kvplan: --vary memory.pool_tokens: expected a value between semicolons");
  EXPECT_EQ(error("sweep " + kTrace + " --vary 'memory.pool_tokens=x;20000'" + out),
            "kvplan: memory.pool_tokens: expected a whole number from 1 to 4611686018427387904, found \"x\"");
  EXPECT_EQ(error("sweep " + kCases + " --shard 3/2" + out),
            "kvplan: --shard: expected K/N with K from 1 to N, found \"3/2\"");
  EXPECT_EQ(error("sweep " + kCases + " --out -"), "kvplan: -: expected a regular file for the database");
  EXPECT_EQ(error("sweep " + kTrace + " --vary seed=0..20000000:1" + out).find("kvplan: --vary seed: "), 0U);
  EXPECT_EQ(error("sweep " + kTrace + " --vary seed=1..4000:1 --vary engine.max_seqs=1..4000:1" + out),
            "kvplan: --vary: expected at most 10000000 variants");
  EXPECT_EQ(error("sweep " + kTrace + " --vary workload.trace=/none" + out),
            "kvplan: /none: cannot open: No such file or directory");
  EXPECT_EQ(folder.listing(), "");

  ASSERT_EQ(run_kvplan("sweep " + kCases + out).exit_code, 0);
  EXPECT_EQ(error("sweep " + kCases + out),
            start + "database exists already: expected --resume to continue it");
  EXPECT_EQ(error("sweep " + kCases + out + " --resume --shard 1/2"), start + "of shard 1/1, not 1/2");
  EXPECT_EQ(error("sweep " + kCases + out + " --resume --set seed=7"),
            start + "database belongs to another sweep: the scenario, or a file that it reads, differs");
  EXPECT_EQ(error("sweep " + kTrace + " --vary seed=1" + out + " --resume"),
            start + "database belongs to another sweep: the varied paths or values differ");
  EXPECT_EQ(error("sweep " + db + " --vary seed=1" + out).find("kvplan: " + db + ": "), 0U);
  EXPECT_EQ(error("merge " + db + out),
            start + "expected a different file: this one is the input and would be overwritten");
  EXPECT_EQ(error("report " + kTrace),
            "kvplan: " + kTrace + ": expected a database of `kvplan sweep`, found another file");
  EXPECT_EQ(error("report " + folder.file("none")),
            "kvplan: " + folder.file("none") + ": cannot open: No such file or directory");

  ASSERT_EQ(run_kvplan("sweep " + kTrace + " --vary seed=1 --out " + folder.file("other")).exit_code, 0);
  EXPECT_EQ(error("merge " + db + " " + folder.file("other") + " --out " + folder.file("m")),
            "kvplan: " + folder.file("other") +
                ": database belongs to another sweep: the varied paths or values differ");
  const auto change = [](const std::string& file, const std::string& text) {
    ASSERT_TRUE(Sql::open(file, Sql::Mode::kRead).value()->run(text).ok());
  };
  std::filesystem::copy_file(db, folder.file("changed"));
  change(folder.file("changed"), "UPDATE cases SET preemptions = 77 WHERE \"case\" = 6");
  EXPECT_EQ(error("merge " + db + " " + folder.file("changed") + " --out " + folder.file("m")),
            "kvplan: " + folder.file("changed") + ": case 6 differs from the same case in another database");
  change(folder.file("changed"), "PRAGMA user_version = 2");
  EXPECT_EQ(error("report " + folder.file("changed")),
            "kvplan: " + folder.file("changed") + ": expected a database of version 1, found version 2");
  EXPECT_EQ(folder.listing(), "changed db other");

  // A shard made by another rule is a different shard; a database without columns that were added later can be read.
  const std::string shard = "sweep " + kCases + " --shard 2/3 --resume --out " + folder.file("shard");
  ASSERT_EQ(run_kvplan(shard).exit_code, 0);
  ASSERT_EQ(run_kvplan(shard).exit_code, 0);
  change(folder.file("shard"), "UPDATE sweep SET value = 'in turn' WHERE name = 'dealt'");
  EXPECT_EQ(error(shard), "kvplan: " + folder.file("shard") +
                              ": database belongs to a shard that another rule assigned (in turn); this is "
                              "every N-th case");
  change(db, "DELETE FROM sweep WHERE name IN ('chosen', 'share', 'dealt')");
  EXPECT_EQ(lines_of(csv_of(db)).size(), 25U);
  EXPECT_EQ(run_kvplan("report " + db).out.find(db + ": 24 of 24 cases, 8 of them failed\n"), 0U);
}

TEST(SweepCommand, ValuesComeFromAFileToo) {
  const TemporaryFolder folder;
  write_file(folder.file("values"), "paged\n\n  contiguous:reserve=pow2 \nbuddy;paged:block_tokens=16\n");
  const std::string start = "sweep " + kTrace + " --set workload.limit=20 --vary memory.allocator=";
  ASSERT_EQ(run_kvplan(start + "@" + folder.file("values") + " --out " + folder.file("a")).exit_code, 0);
  const std::string same = start + "'paged;contiguous:reserve=pow2;buddy;paged:block_tokens=16' --out ";
  ASSERT_EQ(run_kvplan(same + folder.file("b")).exit_code, 0);
  EXPECT_EQ(csv_of(folder.file("a")), csv_of(folder.file("b")));
  write_file(folder.file("none"), "\n  \n");
  EXPECT_EQ(run_kvplan(start + "@" + folder.file("none") + " --out " + folder.file("c")).err,
            "kvplan: " + folder.file("none") + ": expected values, one per line\n");
  EXPECT_EQ(run_kvplan(start + "@" + folder.file("nowhere") + " --out " + folder.file("c")).err,
            "kvplan: " + folder.file("nowhere") + ": cannot open: No such file or directory\n");
}

/// A device in a file may stand wherever a device is said.
TEST(SweepCommand, DevicesComeFromFilesToo) {
  const TemporaryFolder folder;
  const std::string place =
      "name=x,total_bytes=85520809984,bandwidth=3350000000000,bf16_flops=989000000000000";
  // With a byte-order mark, as some editors write it.
  write_file(folder.file("d.json"),
             "\xEF\xBB\xBF"
             R"({"name": "x", "total_bytes": 85520809984, "bandwidth": 3.35e12, "bf16_flops": 989e12})");
  write_file(folder.file("cases.csv"), "deployment.device\n" + folder.file("d.json") + "\nh100-sxm\n");
  write_file(folder.file("none.csv"), "deployment.device\n" + folder.file("none.json") + "\n");
  const std::string start = "sweep " + kTrace + " --set workload.limit=5 ";
  const std::string vary = start + "--vary 'deployment.device=";
  ASSERT_EQ(run_kvplan(vary + place + ";h100-sxm' --out " + folder.file("a")).exit_code, 0);
  for (const std::string& same :
       {start + "--cases " + folder.file("cases.csv"), vary + folder.file("d.json") + ";h100-sxm'"}) {
    const auto outcome = run_kvplan(same + " --out " + folder.file("b"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(csv_of(folder.file("a")), csv_of(folder.file("b")));
    std::filesystem::remove(folder.file("b"));
  }
  EXPECT_EQ(
      run_kvplan(vary + folder.file("d.json") + ";h100-sxm' --random 2 --out " + folder.file("c")).exit_code,
      0);
  EXPECT_EQ(run_kvplan(start + "--cases " + folder.file("none.csv") + " --out " + folder.file("e")).err,
            "kvplan: " + folder.file("none.json") + ": cannot open: No such file or directory\n");
}

TEST(SweepCommand, AnotherContentOfATraceIsAnotherSweep) {
  const TemporaryFolder folder;
  const std::string trace = folder.file("t.csv");
  const std::string command = "sweep " + trace + " --vary 'memory.pool_tokens=100;200' --resume --out ";
  write_file(trace, "arrival_ns,input_tokens,output_tokens\n0,10,10\n5,20,3\n");
  ASSERT_EQ(run_kvplan(command + folder.file("db")).exit_code, 0);
  // The same trace at another place gives the same sweep.
  write_file(folder.file("same.csv"), read_file(trace));
  EXPECT_EQ(run_kvplan("sweep " + folder.file("same.csv") +
                       " --vary 'memory.pool_tokens=100;200' --resume --out " + folder.file("db"))
                .exit_code,
            0);
  write_file(trace, "arrival_ns,input_tokens,output_tokens\n0,10,10\n5,20,4\n");
  const Outcome outcome = run_kvplan(command + folder.file("db"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(
      outcome.err.find(": database belongs to another sweep: " + trace + " has different contents (digest "),
      std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace kvplan::sweep
