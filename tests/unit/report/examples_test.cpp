// The scenarios that come with the program run as their page says.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "simulator/report/number_text.h"
#include "simulator/report/overview.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;

const std::string kFolder = KVPLAN_SOURCE_DIR "/simulator/examples";

Outcome run_example(const std::string& name, const std::string& more = "") {
  return run_kvplan("run '" + kFolder + "/" + name + "' --set 'workload.trace=" + testing::kMicroTrace + "'" +
                    more);
}

TEST(Examples, EachRunsAndIsOnThePage) {
  const std::string page = read_file(kFolder + "/README.md");
  int scenarios = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".json" || entry.path().filename() == "prices.json") continue;
    ++scenarios;
    const std::string name = entry.path().filename();
    const Outcome outcome = run_example(name);
    EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    EXPECT_NE(outcome.out.find("3,000 requests on llama-3-"), std::string::npos);
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
  }
  EXPECT_GE(scenarios, 4);
}

TEST(Examples, EachShowsWhatItIsFor) {
  EXPECT_NE(run_example("contiguous.json").out.find("\n  internal "), std::string::npos);
  EXPECT_NE(run_example("window.json").out.find("\nAlso\n  token policy  "), std::string::npos);
  const std::string targets = run_example("targets.json").out;
  EXPECT_NE(targets.find("of the requests met all targets"), std::string::npos);
  EXPECT_NE(targets.find("replica 1"), std::string::npos);
}

TEST(Examples, EachRunsOnTheBundledSample) {
  const std::string sample = KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt";
  for (const char* name : {"azure_conv.json", "contiguous.json", "window.json", "targets.json"}) {
    const Outcome outcome =
        run_kvplan("run '" + kFolder + "/" + name + "' --set 'workload.trace=" + sample + "'");
    EXPECT_EQ(outcome.exit_code, 0) << name << ": " << outcome.err;
    EXPECT_NE(outcome.out.find("1,500 requests on llama-3-8b"), std::string::npos) << name;
  }
}

/// The length of a run's output, over devices, ranks, fleets, policies and targets.
TEST(Examples, WhatARunPrintsIsAScreenAndAHalf) {
  const std::string sample = " --set 'workload.trace=" KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt'";
  const std::string bare = "run '" KVPLAN_SOURCE_DIR "/traces/samples/chat.kvt'";
  std::vector<std::string> runs{
      bare,
      bare + " --set memory.pool_tokens=40000",
      bare +
          " --set deployment.device=H100 --set deployment.tp=2 --set model=Llama-3.1-70B --set "
          "deployment.weight_bits=8",
      bare +
          " --set model=deepseek-v3 --set deployment.device=h200-sxm --set deployment.tp=8 --set "
          "deployment.weight_bits=8",
      bare +
          " --set model=gemma-3-27b --set memory.allocator=grouped --set fleet.replicas=8 --set "
          "targets.ttft_s=1",
      bare +
          " --set memory.pool_tokens=20000 --set memory.allocator=growing --set "
          "targets.percentiles_s=ttft.p99=2",
      bare + " --set eviction=h2o:hh=512,recent=512,placement=compact --set memory.pool_tokens=20000",
      bare + " --set engine=sglang --set memory.pool_tokens=40000",
      bare + " --set deployment.device=h100-sxm --set engine.max_model_len=32768 --prices " + kFolder +
          "/prices.json",
      "run '" + kFolder + "/replay/h2o.json'"};
  for (const char* name : {"azure_conv.json", "contiguous.json", "window.json", "targets.json"})
    runs.push_back("run '" + kFolder + "/" + name + "'" + sample);
  for (const std::string& run : runs) {
    const Outcome outcome = run_kvplan(run);
    EXPECT_EQ(outcome.exit_code, 0) << run << outcome.err;
    EXPECT_LE(lines_of(outcome.out), kOverviewLines) << run << "\n" << outcome.out;
    std::istringstream in(outcome.out);
    for (std::string line; std::getline(in, line);) EXPECT_LE(characters(line), 100U) << line;
  }
}

TEST(Examples, AReplayRunsFromItsOwnFolder) {
  const std::string scenario = kFolder + "/replay/h2o.json";
  const Outcome outcome = run_kvplan("run '" + scenario + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("40 requests on recording"), std::string::npos);
  const std::size_t row = outcome.out.find("recordings that drove requests");
  ASSERT_NE(row, std::string::npos);
  EXPECT_NE(outcome.out.substr(row, outcome.out.find('\n', row) - row).find("1 of 1"), std::string::npos);
  const Outcome sides = run_kvplan(
      "compare '" + scenario + "' --vary 'eviction=none;h2o:hh=16,recent=16,placement=reuse;tova:budget=32'");
  EXPECT_EQ(sides.exit_code, 0) << sides.err;
  EXPECT_NE(sides.out.find("metadata"), std::string::npos);
}

TEST(Examples, ARelativeTraceIsBesideTheScenario) {
  const traces::testing::TemporaryFolder folder;
  traces::testing::write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,10,3\n");
  traces::testing::write_file(folder.file("s.json"), R"({"workload": {"trace": "t.csv"}})");
  const Outcome outcome = run_kvplan("run '" + folder.file("s.json") + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, 37), "1 request on llama-3-8b, one replica\n");
}

}  // namespace
}  // namespace kvplan::report
