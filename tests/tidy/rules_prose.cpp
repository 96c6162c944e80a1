// Rules about texts for readers: links, headings, and the two commands of README.md.
#include <filesystem>
#include <regex>
#include <set>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {
namespace {

/// Files, and the folders above them.
std::set<std::string> places_of(const Tree& tree) {
  std::set<std::string> places{"."};
  for (const auto& file : tree) {
    for (std::filesystem::path path = file.path; !path.empty(); path = path.parent_path())
      places.insert(path);
  }
  return places;
}

const File* find(const Tree& tree, std::string_view path) {
  for (const auto& file : tree) {
    if (file.path == path) return &file;
  }
  return nullptr;
}

struct Block {
  int line;  // its first line
  std::vector<std::string> lines;
};

std::vector<Block> shell_blocks(const File& file) {
  std::vector<Block> blocks;
  bool inside = false;
  each_line(file.text, [&](int number, std::string_view line) {
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().lines.emplace_back(line);
    } else if (line == "```sh") {
      inside = true;
      blocks.push_back({number, {}});
    }
  });
  return blocks;
}

std::string last_line(const std::string& text) {
  std::string last;
  each_line(text, [&](int, std::string_view line) { last = line; });
  return last;
}

}  // namespace

Findings check_prose(const Tree& tree) {
  static const std::regex kLink(R"re(\]\(([^)#\s]+)(#[^)]*)?\))re");
  // A file in code marks, with its folder. Names of other projects have folders that do not exist here.
  static const std::regex kFile(
      R"re(`([a-z0-9_]+)(/[a-z0-9_./]+\.(h|cpp|md|sh|py|txt|proto|json|csv|ts))`)re");
  const auto places = places_of(tree);
  Findings findings;
  for (const auto& file : tree) {
    if (!file.path.ends_with(".md")) continue;
    const auto folder = std::filesystem::path(file.path).parent_path();
    bool code = false;
    each_line(file.text, [&](int number, std::string_view line) {
      if (line.starts_with("```")) code = !code;
      const std::size_t marks = line.find_first_not_of('#');
      if (!code && marks != 0 && marks != std::string_view::npos && line[marks] != ' ')
        findings.push_back({file.path, number, "a heading's marks are followed by a space"});
      using Matches = std::regex_iterator<std::string_view::const_iterator>;
      for (Matches match(line.begin(), line.end(), kLink), end; match != end; ++match) {
        const std::string target = (*match)[1];
        if (target.find("://") != std::string::npos) continue;
        std::string path = (folder / target).lexically_normal();
        while (path.ends_with('/')) path.pop_back();
        if (!places.contains(path)) findings.push_back({file.path, number, target + " is not in the tree"});
      }
      for (Matches match(line.begin(), line.end(), kFile), end; match != end; ++match) {
        bool folder_is_here = false, file_is_here = false;
        for (const auto& root : {std::filesystem::path(), std::filesystem::path("simulator"), folder}) {
          const std::string first = (*match)[1], rest = (*match)[2];
          folder_is_here = folder_is_here || places.contains((root / first).lexically_normal());
          file_is_here = file_is_here || places.contains((root / (first + rest)).lexically_normal());
        }
        if (folder_is_here && !file_is_here)
          findings.push_back({file.path, number, std::string((*match)[0]) + " is not in the tree"});
      }
    });
  }
  return findings;
}

Findings check_readme(const Tree& tree) {
  const File* readme = find(tree, "README.md");
  const File* gate = find(tree, ".ci/run");
  if (readme == nullptr || gate == nullptr) return {{"README.md", 0, "it and .ci/run are wanted"}};
  const auto blocks = shell_blocks(*readme);
  if (blocks.size() < 2) return {{"README.md", 0, "two `sh` blocks are wanted"}};

  Findings findings;
  const auto want = [&](const Block& block, bool good, const std::string& message) {
    if (!good) findings.push_back({"README.md", block.line, message});
  };
  const auto places = places_of(tree);
  static const std::regex kPath(R"re((^|[\s=])((?:simulator|traces|validator|gui|proto|tests|\.ci)/\S*))re");
  for (std::size_t i = 0; i < 2; ++i) {
    want(blocks[i], blocks[i].lines.size() == 1, "one line is wanted");
    const std::string command = blocks[i].lines.empty() ? "" : blocks[i].lines.front();
    for (std::sregex_iterator match(command.begin(), command.end(), kPath), end; match != end; ++match) {
      want(blocks[i], places.contains((*match)[2]), (*match)[2].str() + " is not in the tree");
    }
    if (i == 0) {
      want(blocks[i], command.starts_with(".ci/setup kvplan && "), "it begins with .ci/setup kvplan");
      want(blocks[i], command.find("&& build/bin/kvplan ") != std::string::npos, "it runs build/bin/kvplan");
    } else {
      want(blocks[i], command.starts_with(".ci/setup all && "), "it begins with .ci/setup all");
      want(blocks[i], command.ends_with("&& " + last_line(gate->text)),
           "it ends in the last line of .ci/run");
    }
  }
  return findings;
}

}  // namespace kvplan::tidy
