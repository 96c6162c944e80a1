// The worked example of simulator/examples/sweep: its commands run as written on its page, the page has the output of
// its script, and the front is the one that `kvplan report` finds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/report/number_text.h"
#include "tests/support/sanitized.h"
#include "tests/unit/traces/support.h"

namespace kvplan::sweep {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::run_program;
using traces::testing::TemporaryFolder;

const std::string kFolder = KVPLAN_SOURCE_DIR "/simulator/examples/sweep";

void replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

/// Lines of the page with this beginning, without it.
std::vector<std::string> commands(const std::string& page, const std::string& beginning) {
  std::vector<std::string> out;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(beginning)) out.push_back(line.substr(beginning.size()));
  return out;
}

/// "| 20.00 | 3.50" for each point of the front that `kvplan report` finds, equal ones once.
std::vector<std::string> front_of(const std::string& database) {
  const Outcome csv =
      run_kvplan("report " + database + " --pareto cost_per_hour,slo.goodput_per_s --pareto-csv -");
  EXPECT_EQ(csv.exit_code, 0) << csv.err;
  std::vector<std::string> out;
  std::istringstream in(csv.out);
  std::string line;
  std::getline(in, line);
  EXPECT_TRUE(line.ends_with(",cost_per_hour,slo.goodput_per_s")) << line;
  while (std::getline(in, line)) {
    const std::size_t last = line.rfind(',');
    const std::size_t before = line.rfind(',', last - 1);
    const std::string row = "| " +
                            report::fixed(*parse_decimal(line.substr(before + 1, last - before - 1)), 2) +
                            " | " + report::fixed(*parse_decimal(line.substr(last + 1)), 2);
    if (out.empty() || out.back() != row) out.push_back(row);
  }
  return out;
}

TEST(SweepExample, ThePageIsWhatItsCommandsGive) {
  if (KVPLAN_SHADOW_MEMORY != 0) GTEST_SKIP() << "a page's numbers are the gate's: minutes with sanitizers";
  const std::string trace = traces::testing::shared_traces() + "/azure_llm_2023_conv.csv";
  if (!std::filesystem::exists(trace)) GTEST_SKIP() << "no shared trace " << trace;
  const std::string python = KVPLAN_PYTHON3;
  if (python.empty()) GTEST_SKIP() << "no python3 was found";
  const std::string page = read_file(kFolder + "/README.md");
  const TemporaryFolder folder;
  const auto sweeps = commands(page, "build/bin/kvplan sweep ");
  ASSERT_EQ(sweeps.size(), 2U);
  for (std::string sweep : sweeps) {
    replace(sweep, "simulator/examples/", KVPLAN_SOURCE_DIR "/simulator/examples/");
    replace(sweep, "AzureLLMInferenceTrace_conv.csv", trace);
    replace(sweep, "--out ", "--out " + folder.path() + "/");
    const Outcome swept = run_kvplan("sweep " + sweep);
    ASSERT_EQ(swept.exit_code, 0) << swept.err;
  }
  const auto scripts = commands(page, "python3 simulator/examples/sweep/front.py ");
  ASSERT_EQ(scripts.size(), 1U);
  std::string arguments;
  std::istringstream names(scripts[0]);
  for (std::string name; names >> name;) arguments += " '" + folder.file(name) + "'";
  const Outcome printed = run_program(python, "-B '" + kFolder + "/front.py'" + arguments);
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  EXPECT_NE(page.find(printed.out), std::string::npos) << "the script prints\n" << printed.out;
  std::istringstream lines(printed.out);
  std::vector<std::string> shown, found;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| ") && line.find("USD") == std::string::npos)
      shown.push_back(line.substr(0, line.find(" |", line.find(" |") + 2)));
  std::istringstream again(scripts[0]);
  for (std::string name; again >> name;)
    for (std::string& row : front_of(folder.file(name))) found.push_back(std::move(row));
  EXPECT_EQ(shown, found);
}

}  // namespace
}  // namespace kvplan::sweep
