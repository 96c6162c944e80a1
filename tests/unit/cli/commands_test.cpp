// Words that are commands, and words that are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

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

/// Help shows required parameters as they are typed.
TEST(Commands, HelpWritesParametersAsTheyAreTyped) {
  std::string help = run_kvplan("evict --help").out;
  std::replace(help.begin(), help.end(), '\n', ' ');
  for (const char* written : {" window:window ", " streaming-llm:sink,recent ", " h2o:hh,recent ",
                              " snapkv:capacity ", " pyramidkv:capacity ", " ada-kv:capacity ",
                              " critical-kv:capacity ", " seed-proportional:budget ", " keyformer "})
    EXPECT_NE(help.find(written), std::string::npos) << written;
}

TEST(Commands, UnknownOnesSayWhatThereIs) {
  EXPECT_EQ(run_kvplan("rnu t.csv").err,
            "kvplan: unknown command \"rnu\"; did you mean \"run\"? (known: bytes, cache, run, scenario, "
            "plan, compare, check, "
            "sweep, merge, report, convert, list, "
            "explain, pool, trace, evict, budget, format, frontier, attention, calibration, latency) (see "
            "--help)\n");
  const Outcome nested = run_kvplan("trace inof t.csv");
  EXPECT_EQ(nested.exit_code, 2);
  EXPECT_NE(nested.err.find("unknown command \"inof\"; did you mean \"info\"?"), std::string::npos)
      << nested.err;
  EXPECT_EQ(run_kvplan("help rnu").exit_code, 2);
}

/// A former error: the value of an unknown option was reported as a surplus argument; and of several surplus arguments,
/// the last was named first.
TEST(Commands, ArgumentsThatNothingTakesAreNamedInOrder) {
  const auto said = [](const std::string& arguments) {
    const Outcome ended = run_kvplan(arguments);
    EXPECT_EQ(ended.exit_code, 2) << arguments;
    return ended.err;
  };
  const std::string begin = "kvplan: The following arguments were not expected: ";
  EXPECT_EQ(said("trace sample T -o o.kvt --count 5"), begin + "--count 5 (see --help)\n");
  EXPECT_EQ(said("trace sample T U V -o o.kvt"), begin + "U V (see --help)\n");
  EXPECT_EQ(said("run T --one --two=3 --json - --four"), begin + "--one --two=3 --four (see --help)\n");
  EXPECT_EQ(said("run T --jsn -"), begin + "--jsn -; did you mean --json? (see --help)\n");
  EXPECT_EQ(said("run T -x"), "kvplan: The following argument was not expected: -x (see --help)\n");
  // A value may look like an option; after --, it is a value.
  EXPECT_EQ(said("run --json --one -- --two").find("not expected"), std::string::npos);
}

TEST(Commands, OptionsWithoutAValueAndGivenTwice) {
  EXPECT_EQ(run_kvplan("run T --json").err, "kvplan: --json: expected a value, found nothing (see --help)\n");
  EXPECT_EQ(run_kvplan("run T --json a --json b").err,
            "kvplan: --json: expected it once, found it 2 times (see --help)\n");
  EXPECT_EQ(run_kvplan("run T --threads 1 --threads 2 --threads 3").err,
            "kvplan: --threads: expected it once, found it 3 times (see --help)\n");
}

/// A former error: a file beside the config that could not be read counted as none.
TEST(Commands, TheQuantisationBesideAConfigIsReadOrAnError) {
  const traces::testing::TemporaryFolder folder;
  const std::string config = folder.file("config.json"), beside = folder.file("hf_quant_config.json");
  traces::testing::write_file(config,
                              R"({"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 8})");
  const auto said = [&] { return run_kvplan("bytes --tokens 5 --model '" + config + "'").err; };
  EXPECT_EQ(said(), "");
  traces::testing::write_file(beside, std::string((std::size_t{16} << 20) + 1, ' '));
  EXPECT_EQ(said(), "kvplan: " + beside + ": expected a file of at most 16 MiB\n");
  std::filesystem::remove(beside);
  std::filesystem::create_directory(beside);
  EXPECT_EQ(said(), "kvplan: " + beside + ": expected a file, found a folder\n");
}

/// An error that names only the surplus word would not say what is wrong.
TEST(Commands, AValueStandsRightBehindItsEqualsSign) {
  const auto said = [](const std::string& arguments) {
    const Outcome ended = run_kvplan(arguments);
    EXPECT_EQ(ended.exit_code, 2) << arguments;
    return ended.err;
  };
  const std::string surplus = "kvplan: The following argument was not expected: ";
  const std::string why = "; --threads= has no value: write --threads=2, without a space (see --help)\n";
  EXPECT_EQ(said("compare T --vary seed=1 --threads= 2"), surplus + "2" + why);
  EXPECT_EQ(said("compare --threads= 2 T --vary seed=1"), surplus + "T" + why);
  EXPECT_EQ(said("compare T --threads 3 --vary seed=1 2"), surplus + "2 (see --help)\n");
  EXPECT_EQ(said("compare T --vary seed=1 --threads=").find("kvplan: --threads: expected a whole number"),
            0U);
}

TEST(Commands, ErrorsAreJsonForProgramsThatAskForIt) {
  const traces::testing::TemporaryFolder folder;
  const std::string file = folder.file("a: \"b\".json");
  traces::testing::write_file(file, "{\"model\": \"llama-3-8b\",\n \"seed\": \"x\"}");
  const auto said = [&](const std::string& arguments) {
    ::setenv("KVPLAN_ERRORS", "json", 1);
    const Outcome ended = run_kvplan(arguments);
    ::unsetenv("KVPLAN_ERRORS");
    EXPECT_EQ(ended.exit_code, 2);
    EXPECT_TRUE(ended.out.empty());
    return ended.err;
  };
  const std::string of_file = said("run '" + file + "'");
  EXPECT_NE(of_file.find(R"("error":"expected a whole number)"), std::string::npos) << of_file;
  EXPECT_NE(of_file.find(R"("file":")" + folder.path() +
                         R"(/a: \"b\".json","line":2,"byte":null,"field":"seed","exit_code":2})"),
            std::string::npos)
      << of_file;
  EXPECT_EQ(std::count(of_file.begin(), of_file.end(), '\n'), 1);
  const std::string no_place = R"("line":null,"byte":null,"field":null,"exit_code":2})";
  EXPECT_EQ(said("run nowhere"),
            R"({"error":"cannot open: No such file or directory","file":"nowhere",)" + no_place + "\n");
  EXPECT_EQ(said("run --nope x"),
            R"({"error":"The following argument was not expected: --nope","file":null,)" + no_place + "\n");
  ::setenv("KVPLAN_ERRORS", "words", 1);
  EXPECT_EQ(run_kvplan("run nowhere").err, "kvplan: nowhere: cannot open: No such file or directory\n");
  ::unsetenv("KVPLAN_ERRORS");
}

}  // namespace
}  // namespace kvplan::cli
