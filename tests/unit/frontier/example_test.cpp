// The worked example of simulator/examples/formats: some lines of its table are computed again and must be on its page.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/sanitized.h"
#include "tests/unit/traces/support.h"

namespace kvplan {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_program;

TEST(FormatsExample, ThePageHasWhatTheScriptPrints) {
  if (KVPLAN_SHADOW_MEMORY != 0) GTEST_SKIP() << "a page's numbers are the gate's: minutes with sanitizers";
  const std::string python = KVPLAN_PYTHON3;
  if (python.empty()) GTEST_SKIP() << "no python3 was found";
  const std::string folder = KVPLAN_SOURCE_DIR "/simulator/examples/formats";
  const std::string page = read_file(folder + "/README.md");
  const std::string table = "-B '" + folder + "/table.py' '" KVPLAN_PROGRAM_DIR "/kvplan' ";
  // One policy that drops in place, one replayed and compacted with a width of tokens, one encoded after the prompt.
  const Outcome printed = run_program(python, table + "window 'H2O + INT8' 'SnapKV + KIVI'");
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  std::istringstream lines(printed.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_NE(page.find(line + "\n"), std::string::npos) << line;
  EXPECT_EQ(count, 5) << "two of a heading, three of the table";
  EXPECT_NE(run_program(python, table + "nothing").exit_code, 0);
}

}  // namespace
}  // namespace kvplan
