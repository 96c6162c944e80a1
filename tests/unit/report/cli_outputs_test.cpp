// Which files `kvplan run` writes, and which it refuses to write.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>

#include "simulator/model/kv_format.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/scenario/scenario.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/report/xml.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

TEST(RunCommand, AFleetWithStepsOfNoTimeIsTheSameStepByStep) {
  const traces::testing::TemporaryFolder folder;
  traces::testing::write_file(folder.file("t.csv"),
                              "arrival_ns,input_tokens,output_tokens\n0,1,3\n0,20,9\n5,7,4\n5,40,2\n");
  for (const std::string allocator : {"paged", "contiguous"}) {
    const std::string run = "run '" + folder.file("t.csv") + "' --set memory.allocator=" + allocator +
                            " --set fleet.replicas=2 --set latency=affine:base_ns=0,token_ns=0,context_ns=0 "
                            "--json -";
    const Outcome fast = run_kvplan(run);
    EXPECT_EQ(fast.exit_code, 0) << fast.err;
    EXPECT_EQ(fast.out, run_kvplan(run + " --step-by-step").out);
  }
}

TEST(RunCommand, AnOutputIsNeverTheInput) {
  const traces::testing::TemporaryFolder folder;
  const std::string text = "arrival_ns,input_tokens,output_tokens\n0,10,3\n";
  traces::testing::write_file(folder.file("t.csv"), text);
  for (const char* option :
       {"--json", "--requests", "--timeline", "--html", "--events", "--report", "--holders-at 0 --holders"}) {
    const Outcome outcome =
        run_kvplan("run '" + folder.file("t.csv") + "' " + option + " '" + folder.file("t.csv") + "'");
    EXPECT_EQ(outcome.exit_code, 2) << option;
    EXPECT_NE(outcome.err.find("expected a different file"), std::string::npos) << outcome.err;
    EXPECT_EQ(traces::testing::read_file(folder.file("t.csv")), text) << option;
  }
}

/// The same for any other file that the run reads: a calibration, a model.
TEST(RunCommand, AnOutputIsNoFileThatTheScenarioNames) {
  const traces::testing::TemporaryFolder folder;
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,10,3\n");
  traces::testing::write_file(folder.file("c.json"), "{}");
  const std::string start = " '" + folder.file("t.csv") + "' ";
  for (const std::string& command :
       {"run" + start + "--set 'latency=calibrated:file=" + folder.file("c.json") + "' --html ",
        "run" + start + "--set 'model=" + folder.file("c.json") + "' --json ",
        "compare" + start + "--vary 'latency=affine;calibrated:file=" + folder.file("c.json") +
            "' --json "}) {
    const Outcome outcome = run_kvplan(command + "'" + folder.file("c.json") + "'");
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("expected a different file"), std::string::npos) << outcome.err;
    EXPECT_EQ(traces::testing::read_file(folder.file("c.json")), "{}");
  }
}

TEST(RunCommand, TheTableOfHoldersIsAskedForWithItsMoment) {
  const traces::testing::TemporaryFolder folder;
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,10,3\n");
  const std::string plain = "run '" + folder.file("t.csv") + "' --set memory.pool_tokens=64";
  const std::string run = plain + " --holders -";
  const Outcome none = run_kvplan(run + " --holders-at 0");
  EXPECT_EQ(none.exit_code, 0) << none.err;
  // 10 tokens in one block of 16; 12 will be written: 131,072 bytes each.
  EXPECT_EQ(none.out,
            "replica,time_ns,kind,group,id,quanta,holders,metadata,live,reserved,hole,tail,padding,internal,"
            "cached,stranded,free\n"
            "0,0,block,,1,1,0,0,0,1572864,0,524288,0,0,0,0,0\n"
            "0,0,idle,,,2,,0,0,0,0,0,0,0,0,0,4194304\n"
            "0,0,padding,,,1,,0,0,0,0,0,2097152,0,0,0,0\n");
  // Another replica without requests; and the event log of the same run, which does not change.
  const Outcome two = run_kvplan(run + " --holders-at 0 --set fleet.replicas=2");
  EXPECT_EQ(two.out, none.out +
                         "1,0,idle,,,3,,0,0,0,0,0,0,0,0,0,6291456\n"
                         "1,0,padding,,,1,,0,0,0,0,0,2097152,0,0,0,0\n");
  const auto log = [&](const std::string& with) {
    EXPECT_EQ(run_kvplan(plain + with + " --events '" + folder.file("e.kve") + "'").exit_code, 0);
    return traces::testing::read_file(folder.file("e.kve"));
  };
  EXPECT_EQ(log(" --holders - --holders-at 0"), log(""));
  for (const char* wrong :
       {"", " --holders-at 1e3", " --holders-at -1", " --holders-at x", " --holders-at 5000000"})
    EXPECT_EQ(run_kvplan(run + wrong).exit_code, 2) << wrong;
}

/// If one of two requests is longer than the recording, the dropped tokens of only the other one would be known.
TEST(RunCommand, ALogKnowsOfAllRequestsWhichTokensGoOrOfNone) {
  const traces::testing::TemporaryFolder folder;
  const auto outcome = [&](const std::string& output) {
    traces::testing::write_file(folder.file("t.csv"),
                                "arrival_ns,input_tokens,output_tokens\n0,60,3\n0,60," + output + "\n");
    return run_kvplan("run " + folder.file("t.csv") +
                      " --set model=recording --set workload.attention=" + KVPLAN_SOURCE_DIR +
                      "/simulator/examples/replay/attention.kva --set memory.pool_tokens=8000 " +
                      "--set eviction=snapkv:window=4,capacity=20,placement=compact --events " +
                      folder.file("l.kve"));
  };
  EXPECT_EQ(outcome("4").exit_code, 0);
  const Outcome longer = outcome("4000");
  EXPECT_EQ(longer.exit_code, 2);
  EXPECT_NE(longer.err.find("--events: an event log records the evicted tokens of all requests or of none"),
            std::string::npos)
      << longer.err;
}

/// Layers with windows drop in place, whatever the policy of other layers does; a log has one placement for all
/// tables.
TEST(RunCommand, ALogHasWindowsBesideAPolicyThatLeavesHoles) {
  const traces::testing::TemporaryFolder folder;
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,200,30\n");
  const auto outcome = [&](const std::string& placement) {
    return run_kvplan("run " + folder.file("t.csv") +
                      " --set model=gpt-oss-20b --set memory.pool_tokens=8000 --set "
                      "memory.allocator=paged:table=layer --set eviction=window:window=64,placement=" +
                      placement + " --events " + folder.file("l.kve"));
  };
  EXPECT_EQ(outcome("holes").exit_code, 0);
  const Outcome moved = outcome("compact");
  EXPECT_EQ(moved.exit_code, 2);
  EXPECT_NE(
      moved.err.find(
          "--events: --events does not work with sliding-window layers with block tables of their own: a "
          "log has one placement for all tables of a request, but sliding-window layers evict without "
          "moving tokens. Use placement=holes"),
      std::string::npos)
      << moved.err;
}

TEST(RunCommand, OneOutputThatCannotBeWrittenLeavesNone) {
  const traces::testing::TemporaryFolder folder;
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,10,3\n");
  const Outcome outcome =
      run_kvplan("run '" + folder.file("t.csv") + "' --json '" + folder.file("o.json") + "' --events '" +
                 folder.file("o.kve") + "' --html '" + folder.file("absent/o.html") + "'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(folder.file("o.json")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("o.kve")));
}

}  // namespace
}  // namespace kvplan::report
