// Every mistake in a scenario is one line with its position, through the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "simulator/scenario/scenario.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

using testing::kMicroTrace;
using traces::testing::Outcome;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// The error line of a scenario without its beginning "kvplan: FILE".
std::string error_of(const std::string& scenario, const std::string& more = "") {
  const TemporaryFolder folder;
  const std::string path = folder.file("s.json");
  write_file(path, scenario);
  const Outcome outcome = run_kvplan("run '" + path + "' --json '" + folder.file("r.json") + "'" + more);
  EXPECT_EQ(outcome.exit_code, 2) << scenario << outcome.out.substr(0, 100);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(folder.listing(), "s.json") << "nothing half-written";
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << "one line: " << outcome.err;
  const std::string begin = "kvplan: " + path;
  EXPECT_EQ(outcome.err.substr(0, begin.size()), begin) << outcome.err;
  return outcome.err.substr(std::min(begin.size(), outcome.err.size()),
                            outcome.err.size() - begin.size() - 1);
}

void expect_error(const std::string& scenario, const std::string& beginning) {
  EXPECT_EQ(error_of(scenario).substr(0, beginning.size()), beginning) << scenario;
}

TEST(ScenarioErrors, UnknownNamesSayWhereAndWhatWasMeant) {
  expect_error("{\"model\": \"llama-3-8b\",\n \"engin\": \"vllm-v1\"}",
               ":2: unknown scenario path \"engin\"; did you mean \"engine\"?");
  expect_error("{\"memory\": {\n\"alocator\": \"paged\"}}",
               ":2: unknown scenario path \"memory.alocator\"; did you mean \"memory.allocator\"?");
  expect_error("{\n\"memory\": {\n\"allocator\": \"pagd\"}}",
               ":3: memory.allocator: pagd: unknown allocator \"pagd\"; did you mean \"paged\"?");
  expect_error("{\"engine\": {\"name\": \"vllm-v1\",\n \"max_seq\": 3}}", ":");
  expect_error("{\n\"model\": \"lama-3-8b\"}",
               ":2: model: unknown model \"lama-3-8b\"; did you mean \"llama-3-8b\"?");
  expect_error("{\n\"eviction\": \"h2o\"}", ":2: eviction: ");
}

TEST(ScenarioErrors, WrongTypesAndValues) {
  expect_error("{\"seed\": \"many\"}", ":1: seed: expected a whole number");
  expect_error("{\"seed\": 1.5}", ":1: seed: expected a whole number");
  expect_error("{\"seed\": true}", ":1: seed: expected a whole number");
  expect_error("{\"seed\": -1}", ":1: seed: expected a whole number");
  expect_error("{\"seed\": 99999999999999999999}", ":1: seed: ");
  expect_error("{\"memory\": {\"pool_bytes\": 1e400}}", ":1: memory.pool_bytes: ");
  expect_error("{\"memory\": {\"pool_blocks\": 0}}",
               ":1: memory.pool_blocks: expected a whole number from 1");
  expect_error("{\"memory\": \"paged\"}", ":1: unknown scenario path \"memory\"");
  expect_error("{\"model\": {\"name\": \"x\"}}",
               ":1: model: expected a string, a number or true/false, found an object");
  expect_error("{\"engine\": {\"max_seqs\": 3}}", ":1: engine: expected \"name\" in the component");
  expect_error("{\"targets\": {\"ttft_s\": 0}}", ":1: targets.ttft_s: expected a positive number of seconds");
  expect_error("{\"workload\": {\"rate_scale\": \"1/0\"}}", ":1: workload.rate_scale: ");
  expect_error("{\"memory\": {\"pool_tokens\": 10,\n \"pool_blocks\": 10}}",
               ":2: memory: expected one pool size, found memory.pool_tokens and memory.pool_blocks");
}

/// A pool size on the command line replaces that of the file, whatever its unit; two on the command line are an error.
TEST(ScenarioErrors, APoolOfTheCommandLineReplacesTheFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.file("s.json");
  write_file(path, R"({"workload": {"trace": ")" + std::string(kMicroTrace) +
                       R"("}, "memory": {"pool_tokens": 4096}})");
  const auto report = [&](const std::string& command) {
    const Outcome ran = run_kvplan("run " + command + " --json -");
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out;
  };
  const std::string trace = "'" + std::string(kMicroTrace) + "'";
  const std::string file = "'" + path + "'";
  for (const std::string size : {"pool_blocks=100", "pool_tokens=1600", "pool_bytes=209715200"}) {
    const std::string set = " --set memory." + size;
    EXPECT_EQ(testing::without_sources(report(file + set)), testing::without_sources(report(trace + set)))
        << size;
  }
  const Outcome two =
      run_kvplan("run " + file + " --set memory.pool_blocks=100 --set memory.pool_bytes=209715200");
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_NE(two.err.find("expected one pool size, found memory.pool_bytes and memory.pool_blocks"),
            std::string::npos)
      << two.err;
}

TEST(ScenarioErrors, AReportIsCalledAReport) {
  expect_error("{\n\"scenario\": {\"model\": \"llama-3-8b\"},\n\"warnings\": []}",
               ":2: expected a scenario, found a report");
  const TemporaryFolder folder;
  const std::string report = folder.file("r.kvr");
  ASSERT_EQ(run_kvplan("run '" + std::string(kMicroTrace) + "' --report '" + report + "'").exit_code, 0);
  const Outcome outcome = run_kvplan("run '" + report + "'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "kvplan: " + report +
                ": expected a scenario or a trace, found a report; `kvplan convert` shows what it "
                "ran\n");
}

TEST(ScenarioErrors, KeysThatComeTwice) {
  expect_error("{\"seed\": 1,\n\"seed\": 2}", ":2: seed: ");
  expect_error("{\"memory\": {\"pool_blocks\": 5},\n\"memory\": {\"pool_blocks\": 6}}",
               ":2: memory: expected one value, found a second; the first is in line 1");
  expect_error("{\"workload\": {\"limit\": 5},\n\"workload\": {\"seed\": 6}}",
               ":2: workload: expected one value");
  expect_error("{\"seed\": null,\n\"seed\": 2}", ":2: seed: expected one value");
  expect_error("{\"memory.pool_blocks\": 5,\n\"memory\": {\"pool_blocks\": 6}}", ":2: memory.pool_blocks: ");
  expect_error("{\"engine\": {\"name\": \"vllm-v1\",\n\"max_seqs\": 2,\n\"max_seqs\": 3}}", ":");
}

/// A former error: libraries that take C strings would read only the beginning, "age" in the first case.
TEST(ScenarioErrors, NulInTexts) {
  const std::string why = " expected a text without the character NUL, found ";
  for (const char* path : {"eviction", "workload.trace", "model"})
    expect_error("{\"" + std::string(path) + "\": \"expr:score=age\\u0000+1,budget=9\"}",
                 ":1: " + std::string(path) + ":" + why);
  expect_error("{\"eviction\": {\"name\": \"expr\", \"score\": \"age\\u0000+1\", \"budget\": 9}}",
               ":1: eviction:" + why);
  EXPECT_EQ(error_of("{\"se\\u0000ed\": 1}").find(":1: unknown scenario path"), 0U);
}

/// A former error: for each key, lines were counted from the beginning, so that 60,000 keys took 37 s.
TEST(ScenarioErrors, ManyKeysTakeTheTimeOfReadingThem) {
  std::string unknown = "{", component = "{\n\"engine\": {\"name\": \"vllm-v1\"";
  for (int i = 0; i < 60'000; ++i) {
    unknown += (i == 0 ? "\n\"k" : ",\n\"k") + std::to_string(i) + "\": 1";
    component += ",\n\"k" + std::to_string(i) + "\": 1";
  }
  const auto begin = std::chrono::steady_clock::now();
  expect_error(unknown + "}", ":2: unknown scenario path \"k0\"");
  expect_error(component + "}}", ":2: engine: vllm-v1: unknown parameter \"k0\"");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

/// A former error: ranks that no engine accepts were refused, if at all, only after half a minute of finding routes.
TEST(ScenarioErrors, RanksAreRefusedBeforeTheWorkBegins) {
  const auto begin = std::chrono::steady_clock::now();
  for (const char* ranks : {"--set deployment.tp=100 --set deployment.pp=32", "--set deployment.tp=4000"}) {
    const Outcome outcome =
        run_kvplan(std::string("run ") + kMicroTrace + " --set deployment.device=H100 " + ranks);
    EXPECT_EQ(outcome.exit_code, 2) << ranks;
    EXPECT_NE(outcome.err.find(": deployment.tp: "), std::string::npos) << outcome.err;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

/// Errors in a file that a value names have the file's name, and a missing file is reported as missing.
TEST(ScenarioErrors, FilesThatValuesNameAreNamed) {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& arguments) {
    const Outcome outcome = run_kvplan("run " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    return outcome.err;
  };
  const std::string far = folder.file("far.csv"), sets = folder.file("sets.json"),
                    trace = folder.file("t.csv");
  write_file(far, "arrival_ns,input_tokens,output_tokens\n0,10,5\n9000000000000000,10,5\n");
  EXPECT_EQ(error(far),
            "kvplan: " + far +
                ": workload: request 1 arrives more than 52 days after the first; a run holds 52 days\n");
  const std::string waits = folder.file("waits.jsonl");
  const auto row = [](const std::string& id, const std::string& more) {
    return R"({"timestamp":0,"input_length":9,"output_length":3,"hash_ids":[1],"request_id":")" + id + "\"" +
           more + "}\n";
  };
  write_file(waits, row("a", R"(,"wait_for":["b"])") + row("b", R"(,"wait_for":["a"])"));
  EXPECT_EQ(error(waits),
            "kvplan: " + waits +
                ": waits: requests wait for each other in a circle: request 0 before 1 before 0\n");
  write_file(trace, "arrival_ns,input_tokens,output_tokens\n0,2,2\n");
  const std::string recorded = trace + " --set eviction=recorded:file=" + sets;
  const std::string field = ": eviction: recorded:file: ";
  EXPECT_EQ(error(recorded), "kvplan: " + sets + field + "cannot open: No such file or directory\n");
  write_file(sets, "{");
  EXPECT_EQ(error(recorded).find("kvplan: " + sets + field + "expected JSON, found "), 0U);
  write_file(sets, R"({"prefill_len":2,"prefill_len":3,"after_prefill":[[0]],"steps":[]})");
  EXPECT_EQ(error(recorded), "kvplan: " + sets + field + "expected each key once, found prefill_len twice\n");
  write_file(sets, R"({"prefill_len":2,"after_prefill":[[0]],"steps":[{"t":2,"retained":[[0]]}]})");
  EXPECT_EQ(
      error(recorded).find("kvplan: " + sets + field + "expected 8 sets at each step, found 1, layer 0"), 0U)
      << error(recorded);
}

/// A byte-order mark before the JSON, as some editors write it.
TEST(ScenarioErrors, AByteOrderMarkIsNoPartOfTheText) {
  expect_error("\xEF\xBB\xBF{\n\"engin\": \"vllm-v1\"}", ":2: unknown scenario path \"engin\"");
  expect_error("\xEF\xBB\xBF[1]", ":1: expected a scenario");
}

TEST(ScenarioErrors, WhatIsNoJson) {
  expect_error("{\"seed\": 1", ":1: ");
  expect_error("{\"seed\": }", ":1: ");
  expect_error("{\"seed\": 1} x", ":1: ");
  expect_error("{\"seed\": 1,}", ":1: ");
  expect_error("{\"seed\": \"\xff\"}", ":");
  expect_error("{\"seed\": [1, [2]]}", ":1: ");
  expect_error(R"({"seed": "\ud800"})", ":1: ");
  std::string deep = "{\"engine\": ";
  for (int i = 0; i < 5000; ++i) deep += "{\"a\":";
  expect_error(deep + "1" + std::string(5001, '}'), ":1: ");
  std::string groups = "{\"workload\": ";
  for (int i = 0; i < 5000; ++i) groups += "{\"a\":";
  expect_error(groups + "1" + std::string(5001, '}'), ":1: ");
  std::string arrays = "{\"workload\": {\"attention\": ";
  arrays += std::string(5000, '[') + std::string(5000, ']') + "}}";
  expect_error(arrays, ":1: ");
}

TEST(ScenarioErrors, BrokenFilesAreSpokenOfAsScenarios) {
  const std::string open = "read as a scenario: expected JSON in which every { and [ is closed";
  // Whatever the keys are, known or not, and wherever the JSON breaks off.
  expect_error("{", ":1: " + open);
  expect_error("{\"sed\": 1,\n \"x\": [1,", ":2: " + open);
  expect_error("{\"a\":\n\n{\"b\"", ":3: " + open);
  expect_error("\n\n {\"memory\": {\"pool",
               ":3: read as a scenario: expected a closing quote for every JSON string");
  expect_error("{\"seed\":\n 1,\n \"model\": \"\xff\"\n}\n", ":3: read as a scenario: expected UTF-8");
  expect_error("[1, 2]", ":1: expected a scenario: a JSON object, which begins with {");
  expect_error("hello", ":1: expected a scenario: a JSON object, which begins with {");
  expect_error("{\"nested\": 1}", ":1: unknown scenario path \"nested\"");
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += "{\"a\":";
  expect_error(deep + "1" + std::string(3000, '}'), ":1: a.a.a.a.a.a.a.a.a: expected at most 8 levels");
  expect_error(deep, ":1: " + open);
  expect_error("", ": the file is empty");
}

TEST(ScenarioErrors, NamesAndFirstBytesSayThatAScenarioIsMeant) {
  const TemporaryFolder folder;
  const auto error_with = [&](const std::string& command, const std::string& name, std::string_view bytes,
                              const std::string& more = "") {
    write_file(folder.file(name), bytes);
    const Outcome outcome = run_kvplan(command + " '" + folder.file(name) + "'" + more);
    EXPECT_EQ(outcome.exit_code, 2) << name;
    return outcome.err.substr(std::min(outcome.err.size(), 9 + folder.file(name).size() - 1));
  };
  const std::string open = "read as a scenario: expected JSON in which every { and [ is closed\n";
  EXPECT_EQ(error_with("run", "s", "{\n\"x\": "), ":2: " + open);
  EXPECT_EQ(error_with("run", "s.txt", "{\n\"x\": "), ":2: " + open);
  EXPECT_EQ(error_with("compare", "s.json", "{\"x\": ", " --vary 'seed=1;2'"), ":1: " + open);
  EXPECT_EQ(error_with("convert", "s.json", "{\"x\": ", " -"), ":1: " + open);
  EXPECT_EQ(error_with("run", "s.kvs", "damaged"), ": byte 0: expected a scenario file (.kvs)\n");
  EXPECT_EQ(error_with("run", "s.kvs", "\x89KVS\r\n"), ": byte 0: expected a scenario file (.kvs)\n");
  EXPECT_EQ(error_with("convert", "r.kvr", "damaged", " -"), ": byte 0: expected a report file (.kvr)\n");
  // A table is not a scenario: lines that are whole objects, and everything that an importer recognises.
  EXPECT_EQ(error_with("run", "t.jsonl", "{\"x\": 1}\n").substr(0, 38),
            ": no known format has these columns: x");
  write_file(folder.file("m.json"),
             R"({"timestamp": 0, "input_length": 9, "output_length": 3, "hash_ids": [0]})");
  EXPECT_EQ(run_kvplan("run '" + folder.file("m.json") + "' --json -").exit_code, 0);
}

TEST(ScenarioErrors, NumbersSayTheirRangeAndAreShortened) {
  expect_error("{\"seed\": 1e400}",
               ":1: seed: expected a whole number from 0 to 9223372036854775807, found \"1e400\"");
  expect_error("{\"seed\": " + std::string(5000, '9') + "}",
               ":1: seed: expected a whole number from 0 to 9223372036854775807, found \"" +
                   std::string(40, '9') + "...\" (5000 bytes)");
  expect_error("{\"targets\": {\"ttft_s\": 1e400}}",
               ":1: targets.ttft_s: expected a positive number of seconds, at most 1e9, found \"1e400\"");
  expect_error("{\"workload\": {\"rate_scale\": 1" + std::string(3000, '0') + "}}",
               ":1: workload.rate_scale: expected a positive number such as 2, 0.5 or 3/4");
  expect_error("{\"engine\": {\"name\": \"vllm-v1\", \"max_seqs\": 1e400}}",
               ":1: engine: vllm-v1:max_seqs: expected a whole number from 1 to 16777216 (requests), found");
  for (const char* number : {"01", "1.", ".5", "-", "1e", "+1", "0x10", "1_0", "NaN"})
    expect_error(std::string("{\"seed\": ") + number + "}", ":1: seed: expected ");
  // For an unknown name an error lists all paths.
  std::size_t most = 150;
  for (const runs::Field& field : runs::scenario_fields()) most += field.path.size() + 2;
  const std::string key(3000, 'k');
  for (const std::string& scenario :
       {"{\"" + key + "\": 1}", "{\"memory\": {\"" + key + "\": 1}}", "{\"model\": \"" + key + "\"}",
        "{\"engine\": \"" + key + "\"}", "{\"engine\": \"vllm-v1:" + key + "=4\"}",
        "{\"engine\": {\"name\": \"vllm-v1\", \"" + key + "\": 4}}",
        "{\"engine\": \"vllm-v1:max_seqs=" + key + "\"}", "{\"" + key + "\": {\"x\": tru}}"})
    EXPECT_LT(error_of(scenario).size(), most) << scenario.substr(0, 40);
}

TEST(ScenarioErrors, SetIsNamed) {
  for (const char* set : {"seed", "=1", "sed=1", "seed=x", "memory.allocator=paged:block_tokens=0",
                          "memory.allocator.blocktokens=3", "eviction=h2o", "fleet=replicas"}) {
    const Outcome outcome = run_kvplan(std::string("run ") + kMicroTrace + " --set '" + set + "'");
    EXPECT_EQ(outcome.exit_code, 2) << set;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

}  // namespace
}  // namespace kvplan::report
