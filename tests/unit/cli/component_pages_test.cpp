// The pages of simulator/docs/components are those that the program makes from its descriptors.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::Outcome;
using traces::testing::read_file;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;

const std::string kPages = KVPLAN_SOURCE_DIR "/simulator/docs/components";

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return names;
}

TEST(ComponentPages, AreWhatTheProgramMakes) {
  const TemporaryFolder folder;
  const std::string made = folder.file("new/pages");
  const Outcome outcome = run_kvplan("list --markdown '" + made + "'");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(names_in(made), names_in(kPages))
      << "run: build/bin/kvplan list --markdown simulator/docs/components";
  for (const std::string& name : names_in(made))
    EXPECT_EQ(read_file(made + "/" + name), read_file(kPages + "/" + name))
        << name << ": run: build/bin/kvplan list --markdown simulator/docs/components";
}

TEST(ComponentPages, SayWhatExplainSays) {
  const std::string page = read_file(kPages + "/eviction.md");
  std::string words = page.substr(page.find("## h2o\n"));
  words = words.substr(0, words.find("\n## ", 1));
  for (std::size_t at = 0; (at = words.find("\n  ")) != std::string::npos;) words.replace(at, 3, " ");
  for (const char* part :
       {"Keeps the newest tokens and the tokens with the most accumulated attention (heavy hitters)",
        "arXiv 2306.14048",
        "- `hh`: Tokens kept for their accumulated attention (heavy hitters) (whole number,", "must be given",
        "- `score_rows`: ", "(one of renorm, raw; default `renorm`)."})
    EXPECT_NE(words.find(part), std::string::npos) << part;
}

TEST(ComponentPages, OneFamilyIsOnePage) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_kvplan("list router --markdown '" + folder.path() + "'").exit_code, 0);
  EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"router.md"});
  EXPECT_EQ(run_kvplan("list --json --markdown '" + folder.path() + "'").exit_code, 2);
  EXPECT_EQ(run_kvplan("list --markdown '" + folder.path() + "/router.md/x'").exit_code, 2) << "no folder";
}

}  // namespace
}  // namespace kvplan::cli
