// `kvplan convert` and `kvplan run --report` from the user's side.
#include <gtest/gtest.h>

#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::io {
namespace {

using report::testing::kMicroTrace;
using report::testing::without_sources;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

void expect_done(const std::string& arguments, const std::string& err = "") {
  const Outcome outcome = run_kvplan(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << arguments << outcome.err;
  EXPECT_EQ(outcome.err, err) << arguments;
}

TEST(CliConvert, ReportsBesideARun) {
  const TemporaryFolder folder;
  const std::string at = folder.path() + "/";
  expect_done(std::string("run ") + kMicroTrace + " --set workload.limit=200 --json " + at +
              "r.json --report " + at + "r.kvr --timeline " + at + "t.csv --timeline-bins 40");
  expect_done("convert " + at + "r.kvr " + at + "again.json",
              "kvplan: note: " + at +
                  "r.kvr: JSON cannot hold the timeline of this report; write it to a .csv file\n");
  EXPECT_EQ(read_file(at + "again.json"), read_file(at + "r.json"));
  expect_done("convert " + at + "r.kvr " + at + "again.csv");
  EXPECT_EQ(read_file(at + "again.csv"), read_file(at + "t.csv"));
  expect_done("convert " + at + "r.json " + at + "json.kvr.gz");
  EXPECT_EQ(read_file(at + "json.kvr.gz").substr(0, 2), "\x1F\x8B");
  const Outcome out = run_kvplan("convert " + at + "json.kvr.gz -");
  EXPECT_EQ(out.err, "");
  EXPECT_EQ(out.out, read_file(at + "r.json"));
  // The step-by-step engine writes the same bytes.
  expect_done(std::string("run ") + kMicroTrace + " --set workload.limit=200 --step-by-step --report " + at +
              "slow.kvr --timeline " + at + "t.csv --timeline-bins 40");
  EXPECT_EQ(read_file(at + "slow.kvr"), read_file(at + "r.kvr"));
}

TEST(CliConvert, ScenariosRunAlikeInBothForms) {
  const TemporaryFolder folder;
  const std::string at = folder.path() + "/";
  write_file(at + "trace.csv", "arrival_ns,input_tokens,output_tokens\n0,100,20\n5000,300,9\n");
  write_file(at + "s.json", R"({"workload": {"trace": "trace.csv"}, "memory": {"pool_tokens": 1024},
 "engine": "vllm-v1:max_seqs=1", "targets": {"ttft_s": 0.5}})");
  expect_done("convert " + at + "s.json " + at + "s.kvs");
  expect_done("convert " + at + "s.kvs " + at + "back.json");
  expect_done("convert " + at + "back.json " + at + "again.kvs");
  EXPECT_EQ(read_file(at + "again.kvs"), read_file(at + "s.kvs"));
  const Outcome json = run_kvplan("run " + at + "s.json --json -");
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_NE(json.out.find("\"engine\": \"given\""), std::string::npos);
  EXPECT_NE(json.out.find("\"latency\": \"default\""), std::string::npos);
  for (const char* form : {"s.kvs", "back.json"}) {
    const Outcome other = run_kvplan("run " + at + form + " --json -");
    EXPECT_EQ(without_sources(other.out), without_sources(json.out)) << form;
    EXPECT_EQ(other.err, json.err) << form;
  }
  const std::string vary = " --vary 'memory.pool_tokens=512;2048' --json -";
  EXPECT_EQ(without_sources(run_kvplan("compare " + at + "s.kvs" + vary).out),
            without_sources(run_kvplan("compare " + at + "s.json" + vary).out));
  EXPECT_EQ(without_sources(run_kvplan("run " + at + "s.kvs --set seed=7 --json -").out),
            without_sources(run_kvplan("run " + at + "s.json --set seed=7 --json -").out));
}

TEST(CliConvert, RunsThatReplayRecordings) {
  const TemporaryFolder folder;
  const std::string at = folder.path() + "/";
  write_file(at + "a.json", read_file(KVPLAN_SOURCE_DIR "/tests/golden/policies/inputs/A.json"));
  write_file(at + "trace.csv", "arrival_ns,input_tokens,output_tokens\n0,20,20\n5000,30,9\n9000,200,9\n");
  write_file(at + "s.json", R"({"workload": {"trace": "trace.csv", "attention": "a.json,a.json", "limit": 2},
 "eviction": "h2o:hh=4,recent=4"})");
  expect_done("run " + at + "s.json --json " + at + "r.json --report " + at + "r.kvr");
  const std::string json = read_file(at + "r.json");
  EXPECT_NE(json.find("\"driven_requests\": 2"), std::string::npos) << json;
  EXPECT_EQ(run_kvplan("convert " + at + "r.kvr -").out, json);
  expect_done("convert " + at + "s.json " + at + "s.kvs.zst");
  EXPECT_EQ(without_sources(run_kvplan("run " + at + "s.kvs.zst --json -").out), without_sources(json));
}

TEST(CliConvert, ErrorsAreOneLineAndLeaveNothing) {
  const TemporaryFolder folder;
  const std::string at = folder.path() + "/";
  write_file(at + "s.json", R"({"seed": 1})");
  write_file(at + "bad.json", "{\"seed\": 1,\n\"engin\": 2}");
  write_file(at + "other.json", R"({"requests": 1})");
  write_file(at + "cut.kvs", std::string("\x89KVS\r\n\x1A\n", 8) + "HEAD");
  write_file(at + "cut.kvr", std::string("\x89KVR\r\n\x1A\n", 8) + "HEAD");
  const std::string listing = folder.listing();
  const auto expect_error = [&](const std::string& arguments, const std::string& error) {
    const Outcome outcome = run_kvplan("convert " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "kvplan: " + error + "\n");
    EXPECT_EQ(folder.listing(), listing) << arguments;
  };
  expect_error(at + "s.json " + at + "x.kvr",
               at + "s.json: is a scenario; expected an output that ends in .json or .kvs");
  expect_error(
      at + "s.json " + at + "x.txt",
      at + "x.txt: expected a name that ends in .json, .kvs (scenario), .kvr (report) or .csv (timeline)");
  expect_error(at + "cut.kvr " + at + "x.kvs",
               at + "cut.kvr: is a report; expected an output that ends in .json, .kvr or .csv");
  expect_error(at + "other.json " + at + "x.json",
               at + "other.json: expected a scenario (JSON or .kvs) or the report of a run (JSON or .kvr)");
  expect_error(at + "none.json " + at + "x.json", at + "none.json: cannot open: No such file or directory");
  const std::string cut = ": byte 8: the file is truncated: it ends in the middle of a frame";
  expect_error(at + "cut.kvs " + at + "x.json", at + "cut.kvs" + cut);
  for (const char* output : {"x.json", "x.kvr", "x.csv"})
    expect_error(at + "cut.kvr " + at + output, at + "cut.kvr" + cut);
  const Outcome bad = run_kvplan("convert " + at + "bad.json " + at + "x.kvs");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_EQ(bad.err.find(at + "bad.json:2: unknown scenario path \"engin\""), 8U) << bad.err;
  EXPECT_EQ(folder.listing(), listing);
  EXPECT_EQ(run_kvplan("run " + at + "cut.kvs").err, "kvplan: " + at + "cut.kvs" + cut + "\n");
}

}  // namespace
}  // namespace kvplan::io
