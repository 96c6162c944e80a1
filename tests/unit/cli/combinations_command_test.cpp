// kvplan list combinations: the table from which refusals come.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/traces/support.h"

namespace kvplan::cli {
namespace {

using traces::testing::Outcome;
using traces::testing::run_kvplan;
using traces::testing::TemporaryFolder;
using traces::testing::write_file;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The text of a table that is wrapped to the width of a terminal, in one line.
std::string in_one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const char shown = c == '\n' ? ' ' : c;
    if (shown != ' ' || out.empty() || out.back() != ' ') out.push_back(shown);
  }
  return out;
}

TEST(CombinationsCommand, ListsWhatDoesNotWorkTogether) {
  const Outcome text = run_kvplan("list combinations");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const std::string line = in_one_line(text.out);
  EXPECT_NE(line.find("compact + not-paged refused: compaction moves kept tokens together"),
            std::string::npos)
      << text.out;
  EXPECT_NE(line.find("prefix-cache + compact ignored: tokens move out of the blocks"), std::string::npos);
  EXPECT_NE(line.find("Every pair of parts that is not listed works."), std::string::npos);

  const Outcome json = run_kvplan("list combinations --json");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(json.out.find("{\n  \"combinations\": ["), 0U) << json.out.substr(0, 60);
  EXPECT_EQ(
      count_of(json.out, "\"reason\": "),
      count_of(text.out, "refused: ") + count_of(text.out, "ignored: ") + count_of(text.out, "depends: "));
  EXPECT_EQ(count_of(json.out, "\"use\": null"), count_of(json.out, "\"result\": \"ignored\""));
  EXPECT_EQ(run_kvplan("list combinations --markdown x").exit_code, 2) << "it is no family of components";
}

TEST(CombinationsCommand, IsWhereARefusalComesFrom) {
  const TemporaryFolder folder;
  write_file(folder.file("t.csv"), "arrival_ns,input_tokens,output_tokens\n0,100,20\n");
  const Outcome run =
      run_kvplan("run '" + folder.file("t.csv") + "' --set engine=sglang --set eviction=window:window=9");
  EXPECT_EQ(run.exit_code, 2);
  const std::string reason = "the engine supports no token policy";
  EXPECT_EQ(run.err, "kvplan: eviction: eviction=window does not work with engine=sglang: " + reason +
                         ". Use eviction=full, or engine=vllm-v1 with default parameters\n");
  EXPECT_NE(run_kvplan("list combinations --json").out.find("\"reason\": \"" + reason + "\""),
            std::string::npos);
}

}  // namespace
}  // namespace kvplan::cli
