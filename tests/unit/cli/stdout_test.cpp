// Every command that cannot print says so: one line, exit code 2.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::run_program;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

TEST(StandardOutput, EveryCommandSaysThatItIsFull) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const TemporaryFolder folder;
  const std::string trace = "'" + folder.file("t.csv") + "'";
  write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,100,20\n5,7,9\n");
  write_file(folder.file("s.json"), "{\"seed\": 1}");
  const std::string rows = KVPLAN_SOURCE_DIR "/tests/golden/replay/A.kva";
  for (const std::string& command :
       {std::string("--version"),
        std::string("--help"),
        std::string("run --help"),
        std::string("list"),
        std::string("list --json"),
        std::string("explain paged"),
        std::string("explain paged --json"),
        "run " + trace,
        "run " + trace + " --json -",
        "run " + trace + " --requests -",
        "run " + trace + " --timeline -",
        "run " + trace + " --html -",
        "run " + trace + " --report -",
        "run " + trace + " --events -",
        "compare " + trace + " --vary 'seed=1;2'",
        "compare " + trace + " --vary 'seed=1;2' --json -",
        "compare " + trace + " --vary 'seed=1;2' --html -",
        "cache " + trace + " --driver seq --block-tokens 4 --blocks 90 --csv -",
        "cache " + trace + " --driver seqswa --block-tokens 4 --blocks 90 --window 9 --chunk 6 --csv -",
        "cache " + trace + " --driver sched --block-tokens 4 --blocks 90 --csv -",
        "trace info " + trace,
        "trace info --json - " + trace,
        "trace head " + trace,
        "trace head --json - " + trace,
        "evict '" + rows + "' --policy tova:budget=5 --prefill 8",
        "evict '" + rows + "' --policy tova:budget=5 --prefill 8 --json -",
        "attention info '" + rows + "'",
        "attention info '" + rows + "' --json -",
        "convert '" + folder.file("s.json") + "' -"}) {
    const auto outcome = run_program("kvplan", command, 2048, "/dev/full");
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_EQ(outcome.err, "kvplan: standard output: cannot write: No space left on device\n") << command;
  }
  for (const char* command : {"--version", "--help", "replay --help"}) {
    const auto outcome = run_program("kvplan-validate", command, 2048, "/dev/full");
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("standard output"), std::string::npos) << command;
  }
}

TEST(StandardOutput, HelpAndVersionArePrintedThere) {
  EXPECT_EQ(run_program("kvplan", "--version").out, "kvplan " KVPLAN_VERSION "\n");
  EXPECT_EQ(run_program("kvplan-validate", "--version").out, "kvplan-validate " KVPLAN_VERSION "\n");
  const auto help = run_program("kvplan", "run --help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  EXPECT_NE(help.out.find("Usage: kvplan run"), std::string::npos) << help.out;
}

}  // namespace
}  // namespace kvplan::cli
