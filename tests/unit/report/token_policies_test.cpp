// The worked example of simulator/examples/token_policies: its command runs as it stands on its page, and every
// number of its table is the one that the command gives.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>

#include "simulator/report/number_text.h"
#include "tests/unit/traces/support.h"

namespace kvplan::report {
namespace {

namespace dom = simdjson::dom;
using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

TEST(TokenPoliciesExample, NumbersAreTheCommands) {
  const std::string trace = traces::testing::shared_traces() + "/azure_llm_2023_conv.csv";
  if (!std::filesystem::exists(trace)) GTEST_SKIP() << "no shared trace " << trace;
  const std::string page = read_file(KVPLAN_SOURCE_DIR "/simulator/examples/token_policies/README.md");
  const std::string begin = "\nbuild/bin/kvplan ";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  std::string command = page.substr(at + begin.size(), page.find('\n', at + 1) - at - begin.size());
  replace(command, "simulator/examples/", KVPLAN_SOURCE_DIR "/simulator/examples/");
  replace(command, "AzureLLMInferenceTrace_conv.csv", trace);
  const TemporaryFolder folder;
  const Outcome compared = run_kvplan(command + " --json " + folder.file("r.json"));
  ASSERT_EQ(compared.exit_code, 0) << compared.err;
  dom::parser parser;
  dom::element report;
  ASSERT_EQ(parser.load(folder.file("r.json")).get(report), simdjson::SUCCESS);
  std::string rows;
  for (const dom::element v : report["variants"]) {
    const dom::element eviction = v["scenario"]["eviction"];
    std::string_view placement = "-";
    std::string_view table = "all";
    if (eviction["name"].get_string().value() != "full") placement = eviction["placement"];
    if (v["scenario"]["memory"]["allocator"]["table"].get(table) != simdjson::SUCCESS) table = "all";
    const auto number = [&](const char* pointer) { return double(v.at_pointer(pointer)); };
    rows += "| `" + std::string(eviction["name"].get_string().value()) + "` | " + std::string(placement) +
            " | " + std::string(table);
    for (const std::string& cell :
         {fixed(number("/batch/mean_running"), 0), fixed(number("/batch/max_running"), 0),
          fixed(number("/preemptions"), 0), fixed(number("/slo/goodput_per_s"), 2),
          fixed(number("/latency_s/ttft/p99"), 1), fixed(number("/latency_s/tpot/p50"), 3),
          fixed(100 * number("/memory/mean_fraction/live"), 1),
          fixed(100 * number("/memory/mean_fraction/hole"), 1),
          fixed(number("/evictions/compaction_bytes") / 1e9, 1)})
      rows += " | " + cell;
    rows += " |\n";
  }
  const std::size_t first = page.find("| `full`");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(page.substr(first, page.find("\n\n", first) + 1 - first), rows);
}

}  // namespace
}  // namespace kvplan::report
