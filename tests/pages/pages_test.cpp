// README.md, the guides and the cookbook: every command runs exactly as written, and the output on a page is the
// command's output. Each page runs in its own folder, with links to the tree.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace kvplan {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::write_file;

/// The lines between two fences of a page.
struct Block {
  std::string page;
  int line{0};  ///< number of the line of the opening fence, from 1
  std::string language;
  std::string text;
};

std::vector<Block> blocks_of(const std::string& page) {
  std::vector<Block> blocks;
  std::istringstream in(read_file(std::string(KVPLAN_SOURCE_DIR "/") + page));
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({page, number, line.substr(3), {}});
    } else if (inside) {
      blocks.back().text += line + "\n";
    }
  }
  EXPECT_FALSE(inside) << page;
  return blocks;
}

/// A folder with those parts of the tree that commands name; it receives the files that commands write.
class Workplace {
 public:
  Workplace() {
    for (const char* name : {"traces", "simulator", "tests"})
      fs::create_directory_symlink(std::string(KVPLAN_SOURCE_DIR "/") + name, folder_.file(name));
    fs::create_directory(folder_.file("build"));
    fs::create_directory_symlink(KVPLAN_PROGRAM_DIR, folder_.file("build/bin"));
  }
  /// The standard output of a script; the test fails if a command of it fails.
  std::string run(const Block& block, const std::string& script) {
    write_file(folder_.file("script"), script);
    const std::string command = "cd '" + folder_.path() +
                                "' && QT_QPA_PLATFORM=offscreen sh -e script > stdout 2> stderr < /dev/null";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << block.page << ":" << block.line << "\n"
                                                               << script << read_file(folder_.file("stderr"));
    return read_file(folder_.file("stdout"));
  }

 private:
  test::TemporaryFolder folder_;
};

bool can_run(const Block& block) {
  return KVPLAN_WITH_GUI != 0 || block.text.find("kvplan-gui") == std::string::npos;
}

/// Runs all blocks in their order; returns their number.
std::size_t run_page(const std::vector<Block>& blocks) {
  Workplace workplace;
  for (const Block& block : blocks)
    if (can_run(block)) workplace.run(block, block.text);
  return blocks.size();
}

class PageOfCommands : public ::testing::TestWithParam<const char*> {};

TEST_P(PageOfCommands, RunsAsItStands) {
  const std::vector<Block> blocks = blocks_of(std::string("simulator/docs/") + GetParam() + ".md");
  for (const Block& block : blocks) {
    EXPECT_EQ(block.language, "sh") << block.page << ":" << block.line;
    std::istringstream in(block.text);
    for (std::string line; std::getline(in, line);)
      EXPECT_LE(line.size(), 110U) << block.page << ": " << line;
  }
  EXPECT_GE(run_page(blocks), 5U);
}

INSTANTIATE_TEST_SUITE_P(Docs, PageOfCommands,
                         ::testing::Values("cookbook", "guide_planner", "guide_engine", "guide_researcher",
                                           "guide_explorer"),
                         [](const auto& page) { return std::string(page.param); });

/// Blocks of README.md after the two that install: one shows a command with its output, one has commands.
std::vector<Block> readme_blocks() {
  std::vector<Block> blocks = blocks_of("README.md");
  EXPECT_GE(blocks.size(), 4U);
  blocks.erase(blocks.begin(), blocks.begin() + 2);
  return blocks;
}

TEST(Readme, ItsOutputIsWhatTheCommandPrints) {
  int shown = 0;
  for (const Block& block : readme_blocks()) {
    if (!block.text.starts_with("$ ")) continue;
    ++shown;
    const std::size_t end = block.text.find('\n');
    Workplace workplace;
    const std::string printed = workplace.run(block, block.text.substr(2, end - 1));
    // A line of three points stands for any number of lines.
    const std::string more = "...\n";
    std::string expected = block.text.substr(end + 1);
    std::size_t at = 0;
    for (bool first = true; !expected.empty(); first = false) {
      const std::size_t points = std::min(expected.find(more), expected.size());
      const std::string part = expected.substr(0, points);
      const std::size_t found = printed.find(part, at);
      ASSERT_NE(found, std::string::npos) << part << "is not printed, but\n" << printed;
      if (first) {
        EXPECT_EQ(found, 0U) << part;
      }
      at = found + part.size();
      expected.erase(0, points + more.size());
    }
    EXPECT_LT(at, printed.size()) << "the page ends in points";
  }
  EXPECT_EQ(shown, 1);
}

TEST(Readme, ItsCommandsRun) {
  std::vector<Block> blocks = readme_blocks();
  std::erase_if(blocks, [](const Block& block) { return block.text.starts_with("$ "); });
  EXPECT_GE(run_page(blocks), 1U);
}

TEST(Readme, FitsIntoNinetyLines) {
  const std::string text = read_file(KVPLAN_SOURCE_DIR "/README.md");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 90);
}

}  // namespace
}  // namespace kvplan
