// Cases other than all combinations, as commands: drawn at random, and listed in a file. Threads, shards and
// interruptions do not change their results either.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/unit/traces/support.h"

namespace kvplan::sweep {
namespace {

using traces::testing::Outcome;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

const std::string kScenario = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt --set workload.limit=60";

std::string csv_of(const std::string& database) {
  const Outcome outcome = run_kvplan("report " + database + " --csv -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return outcome.out;
}

std::string sweep_csv(const TemporaryFolder& folder, const std::string& name, const std::string& options) {
  const Outcome outcome = run_kvplan("sweep " + kScenario + " --out " + folder.file(name) + " " + options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return csv_of(folder.file(name));
}

std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(csv);
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

/// The name of a file matters as little as its folder, even if the sweep's other values look the same.
TEST(SweepCases, AreTheSameWhateverTheTraceIsCalled) {
  const TemporaryFolder folder;
  const std::string sample = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
  const auto sweep = [&](const std::string& trace, const std::string& more) {
    return traces::testing::run_program(
        "/usr/bin/env", "-C '" + folder.file("") + "' " KVPLAN_PROGRAM_DIR "/kvplan sweep '" + trace +
                            "' --set workload.limit=20 --vary 'seed=1;11' --out db " + more);
  };
  std::filesystem::copy_file(sample, folder.file("1"));
  const Outcome first = sweep("1", "");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  for (const std::string& name : {std::string("./1"), sample}) {
    const Outcome again = sweep(name, "--resume");
    EXPECT_EQ(again.exit_code, 0) << name << ": " << again.err;
  }
}

const std::string kDrawn =
    "--vary memory.pool_tokens=8000..50000:log --vary 'memory.allocator=paged;contiguous:reserve=pow2'"
    " --vary workload.rate_scale=0.50..2 --random 20 ";

TEST(SweepCases, DrawnOnesAreASweepLikeAnyOther) {
  const TemporaryFolder folder;
  const std::string one = sweep_csv(folder, "one", kDrawn + "--seed 5");
  const auto rows = cells_of(one);
  ASSERT_EQ(rows.size(), 21U);
  std::set<std::string> pools;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i][0], std::to_string(i - 1));
    EXPECT_EQ(rows[i][1], "done");
    const std::int64_t pool = std::stoll(rows[i][3]);
    EXPECT_TRUE(8000 <= pool && pool <= 50000) << pool;
    const double rate = std::stod(rows[i][5]);
    EXPECT_TRUE(0.5 <= rate && rate <= 2) << rate;
    pools.insert(rows[i][3]);
  }
  EXPECT_GT(pools.size(), 15U);
  EXPECT_EQ(sweep_csv(folder, "threads", kDrawn + "--seed 5 --threads 3"), one);
  EXPECT_NE(sweep_csv(folder, "other", kDrawn + "--seed 6"), one);
  std::string parts;
  for (const char* k : {"2", "3", "1"}) {
    sweep_csv(folder, k, kDrawn + "--seed 5 --shard " + k + "/3");
    parts += " " + folder.file(k);
  }
  ASSERT_EQ(run_kvplan("merge" + parts + " --out " + folder.file("all")).exit_code, 0);
  EXPECT_EQ(csv_of(folder.file("all")), one);
  ASSERT_EQ(run_kvplan("merge " + folder.file("2") + " --out " + folder.file("some")).exit_code, 0);
  EXPECT_EQ(sweep_csv(folder, "some", kDrawn + "--seed 5 --resume"), one);
  EXPECT_NE(run_kvplan("report " + folder.file("some")).out.find("drawn with seed 5"), std::string::npos);
  const Outcome other =
      run_kvplan("sweep " + kScenario + " " + kDrawn + "--seed 6 --resume --out " + folder.file("one"));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.err.find("database belongs to another sweep: the varied paths or values differ"),
            std::string::npos);
}

TEST(SweepCases, LinesOfAFile) {
  const TemporaryFolder folder;
  write_file(folder.file("cases.csv"),
             "engine.max_seqs, memory.allocator ,memory.pool_tokens\r\n"
             "8,\"contiguous:reserve=max,fit=best\",20000\n\n"
             "64,paged,30000\n"
             "8,paged,20000\n"
             "8,paged,20000\n");
  const std::string csv = sweep_csv(folder, "db", "--cases " + folder.file("cases.csv"));
  std::istringstream in(csv);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].find("case,status,error,engine.max_seqs,memory.allocator,memory.pool_tokens,"), 0U);
  EXPECT_EQ(lines[1].find("0,done,,8,\"contiguous:reserve=max,fit=best\",20000,"), 0U) << lines[1];
  EXPECT_EQ(lines[2].find("1,done,,64,paged,30000,"), 0U);
  EXPECT_EQ(lines[3].substr(1), lines[4].substr(1));
  EXPECT_EQ(sweep_csv(folder, "again", "--threads 2 --cases " + folder.file("cases.csv")), csv);
  // A case has the same row as among all combinations.
  const auto rows = cells_of(sweep_csv(folder, "grid",
                                       "--vary engine.max_seqs=64 --vary memory.allocator=paged "
                                       "--vary memory.pool_tokens=30000"));
  EXPECT_EQ(
      lines[2].substr(1),
      csv_of(folder.file("grid")).substr(csv_of(folder.file("grid")).find("\n0,") + 2, lines[2].size() - 1));
  // The order of lines counts, because it is that of the cases.
  write_file(folder.file("turned.csv"), "engine.max_seqs,memory.pool_tokens\n64,30000\n8,20000\n");
  write_file(folder.file("straight.csv"), "engine.max_seqs,memory.pool_tokens\n8,20000\n64,30000\n");
  sweep_csv(folder, "turned", "--cases " + folder.file("turned.csv"));
  const Outcome other = run_kvplan("sweep " + kScenario + " --cases " + folder.file("straight.csv") +
                                   " --resume --out " + folder.file("turned"));
  EXPECT_EQ(other.exit_code, 2);
}

TEST(SweepCases, WhatIsWrongIsOneLine) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& options) {
    const Outcome outcome = run_kvplan("sweep " + kScenario + " --out " + folder.file("db") + " " + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    return outcome.err.substr(0, outcome.err.size() - 1);
  };
  EXPECT_EQ(error(""), "kvplan: expected --vary or --cases");
  EXPECT_EQ(error("--vary seed=1..9"), "kvplan: --vary seed: expected A..B:STEP, found \"1..9\"");
  EXPECT_EQ(error("--vary seed=1..9 --random 10"),
            "kvplan: --random: expected at most 9 different cases, because there are no more; found 10");
  EXPECT_NE(error("--vary seed=1..9 --random 0").find("--random: expected a whole number from 1 to 10000000"),
            std::string::npos);
  EXPECT_NE(error("--random 3"), "");
  EXPECT_NE(error("--vary seed=1 --seed 3").find("--seed"), std::string::npos);
  const std::string file = folder.file("cases.csv");
  const auto file_error = [&](const std::string& text) {
    write_file(file, text);
    const std::string line = error("--cases " + file);
    EXPECT_EQ(line.find("kvplan: " + file), 0U) << line;
    return line.substr(std::min(line.size(), 8 + file.size()));
  };
  EXPECT_EQ(file_error(""), ": expected a header line with paths, then one line per case");
  EXPECT_EQ(file_error("seed\n"), ": expected a header line with paths, then one line per case");
  EXPECT_EQ(file_error("seed,\n1,2\n"), ":1: expected a path as the name of each column");
  EXPECT_EQ(file_error("seed,engine.max_seqs\n\n1\n"), ":3: expected 2 values, found 1");
  EXPECT_EQ(file_error("seed,engine.max_seqs\n1,\n"), ":2: engine.max_seqs: expected a value");
  EXPECT_EQ(file_error("seed\n\"1\n"), ":2: a quoted field has no closing quote");
  EXPECT_EQ(file_error("seed,seed\n1,2\n"), ":1: expected each path once, found seed again");
  write_file(file, "memory.pol_tokens\n1\n");
  EXPECT_NE(error("--cases " + file).find("memory.pol_tokens"), std::string::npos);
  EXPECT_NE(error("--cases " + file + " --vary seed=1").find("--cases"), std::string::npos);
  EXPECT_EQ(folder.listing(), "cases.csv");
}

}  // namespace
}  // namespace kvplan::sweep
