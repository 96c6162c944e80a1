// Every numeric option of every command refuses the same texts, in one line with the option and what was
// expected.
#include <gtest/gtest.h>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::Outcome;
using traces::testing::run_program;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

const char* const kBad[]{"",     "99999999999999999999",
                         "x",    "-99999999999999999999",
                         "-5",   "9223372036854775808",
                         "5x",   "1e400",
                         "5 ",   " 5",
                         "+5",   "0x10",
                         "--",   "5,5",
                         "[]",   "[5]",
                         "%%",   "nan",
                         "-0.5", "inf"};

struct NumericOption {
  const char* program;
  const char* command;  ///< with all other required options
  const char* name;
  const char* expected;
};

const NumericOption kOptions[]{
    {"kvplan", "run t.csv", "--timeline-bins", "a whole number from 1 to 1000000"},
    {"kvplan", "compare t.csv --vary 'seed=1;2'", "--threads", "a whole number from 1 to 1024"},
    {"kvplan", "cache t.csv --driver seq --csv - --block-tokens 16", "--blocks",
     "a whole number from 2 to 1099511627776"},
    {"kvplan", "cache t.csv --driver seq --csv - --blocks 16", "--block-tokens",
     "a whole number from 1 to 65536"},
    {"kvplan", "cache t.csv --driver seqswa --csv - --blocks 16 --block-tokens 16", "--window",
     "a whole number from 1 to 2147483648"},
    {"kvplan", "cache t.csv --driver seqswa --csv - --blocks 16 --block-tokens 16", "--chunk",
     "a whole number from 1 to 2147483648"},
    {"kvplan", "cache t.csv --driver sched --csv - --blocks 16 --block-tokens 16", "--quantum-ms",
     "a whole number from 1 to 1000000000"},
    {"kvplan", "cache t.csv --driver sched --csv - --blocks 16 --block-tokens 16", "--token-budget",
     "a whole number from 1 to 1073741824"},
    {"kvplan", "cache t.csv --driver sched --csv - --blocks 16 --block-tokens 16", "--max-seqs",
     "a whole number from 1 to 16777216"},
    {"kvplan", "cache t.csv --driver sched --csv - --blocks 16 --block-tokens 16", "--long-prefill-threshold",
     "a whole number from 0 to 1073741824"},
    {"kvplan", "cache t.csv --driver sched --csv - --blocks 16 --block-tokens 16", "--max-model-len",
     "a whole number from 1 to 1073741824"},
    {"kvplan", "evict a.kva --policy h2o", "--prefill", "a whole number from 1 to 2147483647"},
    {"kvplan", "evict a.kva --policy h2o --prefill 4", "--sequence", "a whole number from 0 to 2147483647"},
    {"kvplan", "evict a.kva --policy h2o --prefill 4", "--layer", "a whole number from 0 to 2147483647"},
    {"kvplan", "trace info t.csv", "--block", "a whole number from 1 to 1048576"},
    {"kvplan", "trace head t.csv", "--requests", "a whole number from 0 to 65536"},
    {"kvplan", "trace head t.csv", "-n", "a whole number from 0 to 65536"},
    {"kvplan", "trace synth -o out.kvt", "--requests", "a whole number from 1 to 2147483647"},
    {"kvplan", "trace synth -o out.kvt", "--seed", "a whole number from 0 to 9223372036854775807"},
    {"kvplan", "trace synth -o out.kvt", "--block", "a whole number from 1 to 1048576"},
    {"kvplan", "trace synth -o out.kvt", "--duration", "a number from 0 to 9e+09"},
    {"kvplan", "trace spread t.csv -o out.kvt", "--seed", "a whole number from 0 to 9223372036854775807"},
    {"kvplan", "attention convert a.json -o out.kva", "--top", "a whole number from 0 to 2147483647"},
    {"kvplan-validate", "replay a.kve", "--full-scan-every", "a whole number from 0 to 1099511627776"},
};

TEST(NumericOptions, RefuseTheSameTextsEverywhere) {
  for (const NumericOption& option : kOptions) {
    const std::string name = std::string(option.name) == "-n" ? "--requests" : option.name;
    for (const std::string text : kBad) {
      const Outcome outcome =
          run_program(option.program, std::string(option.command) + " " + option.name + " '" + text + "'");
      EXPECT_EQ(outcome.exit_code, 2) << option.command << option.name << " '" << text << "'";
      EXPECT_EQ(outcome.out, "");
      EXPECT_EQ(outcome.err, std::string(option.program) + ": " + name + ": expected " + option.expected +
                                 ", found " + (text.empty() ? "nothing" : "\"" + text + "\"") +
                                 " (see --help)\n");
    }
  }
}

TEST(NumericOptions, AnEmptyTextAfterEqualsTakesNoOtherArgument) {
  const Outcome number = run_program("kvplan", "compare t.csv --threads= 2 --vary 'seed=1;2'");
  EXPECT_EQ(number.exit_code, 2);
  EXPECT_EQ(number.err,
            "kvplan: The following argument was not expected: 2; --threads= has no value: write --threads=2, "
            "without "
            "a space (see --help)\n");
  const TemporaryFolder folder;
  for (const char* flag : {"--json=", "--json ''", "--requests=", "--html ''", "--events="}) {
    const Outcome file =
        run_program("kvplan", std::string("run t.csv ") + flag + " --timeline '" + folder.file("t") + "'");
    EXPECT_EQ(file.exit_code, 2) << flag;
    const std::string name(flag, std::string_view(flag).find_first_of("= "));
    EXPECT_EQ(file.err, "kvplan: " + name + ": expected a value, found nothing (see --help)\n");
  }
  EXPECT_EQ(folder.listing(), "");
}

TEST(NumericOptions, ADecimalNumberIsWhatItSays) {
  const TemporaryFolder folder;
  write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,100,20\n5,7,9\n9,1,1\n");
  const std::string head = "trace head '" + folder.file("t.csv") + "' --json - -n ";
  const Outcome two = run_program("kvplan", head + "2");
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(run_program("kvplan", head + "02").out, two.out) << "not octal";
  EXPECT_NE(run_program("kvplan", head + "3").out, two.out);
}

}  // namespace
}  // namespace kvplan::cli
