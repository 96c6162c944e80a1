// Words that are commands, and words that are none.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::Outcome;
using traces::testing::run_kvplan;

TEST(Commands, HelpIsWhatTheOptionPrints) {
  for (const char* command : {"", "run", "trace", "trace import", "compare"}) {
    const Outcome word = run_kvplan(std::string("help ") + command);
    const Outcome option = run_kvplan(std::string(command) + " --help");
    EXPECT_EQ(word.exit_code, 0) << command;
    EXPECT_EQ(word.out, option.out) << command;
    EXPECT_FALSE(word.out.empty()) << command;
  }
}

TEST(Commands, UnknownOnesSayWhatThereIs) {
  EXPECT_EQ(run_kvplan("rnu t.csv").err,
            "kvplan: unknown command \"rnu\"; did you mean \"run\"? (known: bytes, cache, run, compare, "
            "sweep, merge, report, convert, list, "
            "explain, pool, trace, evict, budget, format, frontier, attention, calibration, latency) (see "
            "--help)\n");
  const Outcome nested = run_kvplan("trace inof t.csv");
  EXPECT_EQ(nested.exit_code, 2);
  EXPECT_NE(nested.err.find("unknown command \"inof\"; did you mean \"info\"?"), std::string::npos)
      << nested.err;
  EXPECT_EQ(run_kvplan("help rnu").exit_code, 2);
}

}  // namespace
}  // namespace kvplan::cli
