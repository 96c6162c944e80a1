// Applies the rules (rules.h) to the source tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "tests/support/sanitized.h"
#include "tests/tidy/rules.h"

namespace fs = std::filesystem;

namespace kvplan::tidy {

void PrintTo(const Finding& finding, std::ostream* out) {
  *out << finding.path << ':' << finding.line << ": " << finding.message;
}

namespace {

bool is_text_of_ours(const std::string& path) {
  for (const auto* ending :
       {".h", ".cpp", ".cu", ".cuh", ".cmake", ".proto", ".py", ".md", "CMakeLists.txt"}) {
    if (path.ends_with(ending)) return true;
  }
  return path.starts_with(".ci/");
}

Tree read_tree() {
  const fs::path root = KVPLAN_SOURCE_DIR;
  Tree tree;
  const auto add = [&](const fs::path& path) {
    const std::string name = path.lexically_relative(root).generic_string();
    tree.push_back({name, ""});
    if (!is_text_of_ours(name)) return;
    std::ifstream file(path, std::ios::binary);
    tree.back().text.assign(std::istreambuf_iterator<char>(file), {});
  };
  for (const auto* folder : {"simulator", "validator", "traces", "gui", "proto", "tests", ".cmake", ".ci"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) add(entry.path());
    }
  }
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file()) add(entry.path());
  }
  std::sort(tree.begin(), tree.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return tree;
}

struct Rule {
  const char* name;
  Findings (*check)(const Tree&);
};
void PrintTo(const Rule& rule, std::ostream* out) {
  *out << rule.name;
}
class Tidy : public testing::TestWithParam<Rule> {};

TEST_P(Tidy, HoldsInTheWholeTree) {
  if (KVPLAN_SHADOW_MEMORY != 0)
    GTEST_SKIP() << "the tree is the same with sanitizers; rules are, in TidyRules";
  const Tree tree = read_tree();
  ASSERT_GT(tree.size(), 20U) << "the source tree was not found in " << KVPLAN_SOURCE_DIR;
  EXPECT_EQ(GetParam().check(tree).size(), 0U) << testing::PrintToString(GetParam().check(tree));
}

INSTANTIATE_TEST_SUITE_P(Rules, Tidy,
                         testing::Values(Rule{"layers", check_layers}, Rule{"links", check_links},
                                         Rule{"replay_is_apart", check_replay_is_apart},
                                         Rule{"naive_is_apart", check_naive_is_apart},
                                         Rule{"libraries", check_libraries}, Rule{"calls", check_calls},
                                         Rule{"lines", check_lines}, Rule{"marks", check_marks},
                                         Rule{"sizes", check_sizes}, Rule{"headers", check_headers},
                                         Rule{"engines", check_engines}, Rule{"members", check_members},
                                         Rule{"prose", check_prose}, Rule{"readme", check_readme},
                                         Rule{"types", check_types}, Rule{"words", check_words},
                                         Rule{"hidden_names", check_hidden_names}),
                         [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace kvplan::tidy
