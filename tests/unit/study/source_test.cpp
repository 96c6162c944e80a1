// Every value of a report states its source: file and line, option, default, derived.
#include <gtest/gtest.h>

#include "simulator/io/scenario_json.h"
#include "simulator/report/content.h"
#include "simulator/results/report.h"
#include "tests/unit/report/cases.h"
#include "tests/unit/traces/support.h"

namespace kvplan::runs {
namespace {

using report::testing::kMicroTrace;
using report::testing::scenario_of;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

/// "PATH=SOURCE" of all values that are not defaults, in order.
std::string sources_of(const Scenario& scenario) {
  std::string out;
  each_source(scenario, [&](std::string_view path, const Source& source) {
    if (source.from == Source::From::kDefault) return;
    out.append(out.empty() ? "" : " ").append(path).append("=").append(source_text(source));
  });
  return out;
}

std::vector<Setting> parsed(const std::string& text) {
  auto settings = io::parse_scenario(text, "hours/s.json");
  EXPECT_TRUE(settings.ok()) << settings.error().to_string();
  return std::move(settings).value();
}

TEST(Source, LinesOfFilesAndOfParametersOnLinesOfTheirOwn) {
  EXPECT_EQ(sources_of(scenario_of(parsed("{\"seed\": 3,\n\n\"memory\": {\n\"pool_tokens\": 64,\n"
                                          "\"allocator\": {\"name\": \"paged\",\n\"block_tokens\": 8}},\n"
                                          "\"engine\": \"vllm-v1:max_seqs=2\"}"))),
            "seed=s.json:1 memory.pool_tokens=s.json:4 memory.allocator=s.json:5 "
            "memory.allocator.block_tokens=s.json:6 engine=s.json:7 engine.max_seqs=s.json:7");
}

TEST(Source, WhatIsSetLaterLeavesThePlaceOfTheRest) {
  std::vector<Setting> settings = parsed(
      "{\"memory\": {\"pool_tokens\": 64},\n"
      "\"engine\": \"vllm-v1:max_seqs=2,token_budget=64\"}");
  settings.push_back(parse_setting("engine.max_seqs=5").value());
  settings.push_back(parse_setting("latency.overhead_ns=7").value());
  settings.push_back({"fleet", "replicas=2", "f.json", 9});
  EXPECT_EQ(sources_of(scenario_of(settings)),
            "memory.pool_tokens=s.json:1 engine=s.json:2 engine.token_budget=s.json:2 engine.max_seqs=--set "
            "latency=--set latency.overhead_ns=--set fleet.replicas=f.json:9");
  // If the whole component is given again, its parameters are replaced too.
  settings.push_back(parse_setting("engine=vllm-v1:token_budget=128").value());
  EXPECT_NE(sources_of(scenario_of(settings)).find(" engine=--set engine.token_budget=--set latency"),
            std::string::npos);
}

TEST(Source, WhatFollowsFromOtherValuesIsDerived) {
  std::vector<Setting> settings{parse_setting("deployment.device=h100-sxm").value(),
                                parse_setting("model=llama-3-8b").value()};
  EXPECT_EQ(sources_of(scenario_of(settings)),
            "model=--set deployment.device=--set engine.token_budget=derived engine.max_seqs=derived "
            "engine.max_model_len=derived latency=derived");
  settings.push_back(parse_setting("latency=roofline").value());
  EXPECT_EQ(sources_of(scenario_of(settings)),
            "model=--set deployment.device=--set engine.token_budget=derived engine.max_seqs=derived "
            "engine.max_model_len=derived latency=--set latency.flops=derived latency.bandwidth=derived");
  settings.push_back(parse_setting("latency.flops=1e15").value());
  EXPECT_NE(sources_of(scenario_of(settings)).find("latency.flops=--set latency.bandwidth=derived"),
            std::string::npos);
  EXPECT_EQ(sources_of(scenario_of({parse_setting("workload.attention=a.kva").value(),
                                    parse_setting("memory.pool_tokens=64").value()}))
                .substr(0, 40),
            "workload.attention=--set model=derived m");
}

TEST(Source, IsNotToldOfAValueThatHasNone) {
  Scenario scenario = scenario_of({parse_setting("memory.pool_tokens=64").value()});
  const Source file{Source::From::kFile, "a.json", 3};
  EXPECT_TRUE(set_source(scenario, "memory.pool_tokens", file));
  EXPECT_EQ(sources_of(scenario), "memory.pool_tokens=a.json:3");
  EXPECT_FALSE(set_source(scenario, "seed", file)) << "a default that would be given";
  EXPECT_FALSE(set_source(scenario, "memory.pool_tokens", {})) << "given, and would be a default";
  EXPECT_FALSE(set_source(scenario, "memory.pool_blocks", file)) << "has no value";
  EXPECT_FALSE(set_source(scenario, "engine.no_such", {Source::From::kDerived}));
  EXPECT_FALSE(set_source(scenario, "no.such", file));
  EXPECT_EQ(sources_of(scenario), "memory.pool_tokens=a.json:3");
}

TEST(Source, NamesAreReadBack) {
  for (const auto from : {Source::From::kDefault, Source::From::kDerived, Source::From::kGiven,
                          Source::From::kFile, Source::From::kOption})
    EXPECT_EQ(from_named(from_name(from)), from);
  EXPECT_EQ(from_named("elsewhere"), std::nullopt);
}

TEST(Source, ReportsHaveThemAndKeepThem) {
  const TemporaryFolder folder;
  write_file(folder.file("s.json"), "{\"memory\":\n{\"pool_tokens\": 2048}, \"workload\": {\"trace\":\n\"" +
                                        std::string(kMicroTrace) + "\"}}");
  const std::string run = "run '" + folder.file("s.json") + "' --set workload.limit=20 --json '" +
                          folder.file("r.json") + "' --report '" + folder.file("r.kvr") + "'";
  const auto outcome = run_kvplan(run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* shown : {"s.json:2", "s.json:3", "--set"})
    EXPECT_NE(outcome.out.find(shown), std::string::npos) << shown << outcome.out;
  const std::string json = read_file(folder.file("r.json"));
  EXPECT_NE(
      json.find("\n      \"path\": \"memory.pool_tokens\",\n      \"from\": \"file\",\n      \"name\": \"" +
                folder.file("s.json") + "\",\n      \"line\": 2\n"),
      std::string::npos)
      << json.substr(0, 6000);
  EXPECT_EQ(run_kvplan("convert '" + folder.file("r.kvr") + "' -").out, json);
}

TEST(Source, AComparisonSaysWhatWasVaried) {
  const auto outcome = run_kvplan("compare '" + std::string(kMicroTrace) +
                                  "' --set workload.limit=20 --vary 'memory.pool_tokens=1024;2048' --json -");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"name\": \"--vary\""), std::string::npos);
}

/// A default with derived parameters is not shown as the default.
TEST(Source, TablesShowWhatIsDerived) {
  const std::string run =
      "run '" + std::string(kMicroTrace) + "' --set workload.limit=5 --set memory.pool_tokens=4096";
  EXPECT_NE(run_kvplan(run + " --verbose").out.find("latency                 default  roofline"),
            std::string::npos);
  EXPECT_NE(run_kvplan(run + " --verbose --set deployment.device=mi300x")
                .out.find("latency                 derived  composed"),
            std::string::npos);
}

}  // namespace
}  // namespace kvplan::runs
