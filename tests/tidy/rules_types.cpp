// Types of one name in one namespace: the linker merges what is made of them (members of std::vector, say), and a
// program that has both reads one as the other.
#include <algorithm>
#include <map>
#include <regex>
#include <utility>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {

Findings check_types(const Tree& tree) {
  static const std::regex kNamespace(R"(^namespace ([\w:]+ )?\{$)");
  static const std::regex kType(
      R"(^(?:struct|class|enum class|enum) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?: : .*)? \{)");
  std::map<std::string, std::pair<std::string, int>> seen;  // where a type is defined first
  Findings findings;
  for (const File& file : tree) {
    // Each test program has its own files, and CUDA's sources see no other part of the program.
    if (!is_cpp(file.path) || file.path.starts_with("tests/")) continue;
    std::vector<std::string> spaces;  // open namespaces; "" is an anonymous one
    std::size_t depth = 0;            // open braces
    each_line(without_comments(file.text, true), [&](int number, std::string_view text) {
      std::string line(text);
      line.erase(line.find_last_not_of(' ') + 1);
      std::smatch found;
      if (depth == spaces.size() && std::regex_match(line, found, kNamespace)) {
        spaces.push_back(found[1]);
        ++depth;
        return;
      }
      if (depth == spaces.size() && std::regex_search(line, found, kType) &&
          std::find(spaces.begin(), spaces.end(), "") == spaces.end()) {
        std::string name;
        for (const std::string& space : spaces) name += space.substr(0, space.find(' ')) + "::";
        name += found[1];
        const auto [at, first] = seen.try_emplace(name, file.path, number);
        if (!first && at->second.first != file.path)
          findings.push_back({file.path, number, name + " is defined in " + at->second.first + ", too"});
      }
      for (const char c : line) {
        if (c == '{') ++depth;
        if (c == '}' && depth > 0) --depth;
      }
      if (spaces.size() > depth) spaces.resize(depth);
    });
  }
  return findings;
}

}  // namespace kvplan::tidy
