// The page simulator/docs/claims.md: each of its commands gives the figure on the page.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <sstream>

#include "tests/unit/traces/support.h"

namespace kvplan {
namespace {

using traces::testing::read_file;
using traces::testing::run_kvplan;

TEST(ClaimsPage, CommandsGiveWhatThePageSays) {
  std::istringstream page(read_file(KVPLAN_SOURCE_DIR "/simulator/docs/claims.md"));
  const std::string program = "build/bin/kvplan ";
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(program)) continue;
    SCOPED_TRACE(line);
    ++commands;
    const std::size_t comment = line.find('#');
    ASSERT_NE(comment, std::string::npos);
    std::istringstream said(line.substr(comment + 1));
    std::string key;
    std::int64_t figure = -1;
    ASSERT_TRUE(said >> key >> figure);
    const auto ran = run_kvplan(line.substr(program.size(), comment - program.size()) + " --json -");
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    simdjson::dom::parser parser;
    EXPECT_EQ(std::int64_t(parser.parse(ran.out)[key]), figure);
  }
  EXPECT_GE(commands, 26) << "a line that no longer begins as a command is not run";
}

}  // namespace
}  // namespace kvplan
