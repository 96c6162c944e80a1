// Words for people: a request, a block or a part of the program is not a person.
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {
namespace {

constexpr std::array<std::string_view, 7> kOfPeople{"who",      "whom",    "whose",  "nobody",
                                                    "somebody", "whoever", "anybody"};

/// A place where such a word is right: about users, authors and other people, or as an example of input.
struct Meant {
  std::string_view path;  ///< of the file, or of its folder with '/' at the end
  std::string_view line;  ///< a part of the line
};
constexpr std::array kMeant{
    Meant{"tests/gui/support.cpp", "the person who"},
    Meant{"tests/tidy/rules_words.cpp", ""},            // the words themselves
    Meant{"tests/tidy/rules_test.cpp", ""},             // examples that break the rule
    Meant{"tests/unit/traces/import_test.cpp", "who"},  // the name of a column
};

bool of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The first such word in the line, in any case; empty: none.
std::string word_in(std::string_view line) {
  for (std::size_t begin = 0; begin < line.size();) {
    std::size_t end = begin;
    std::string word;
    for (; end < line.size() && of_word(line[end]); ++end)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(line[end])));
    for (const std::string_view bad : kOfPeople) {
      if (word == bad) return word;
    }
    begin = end + 1;
  }
  return {};
}

bool is_meant(const std::string& path, std::string_view line) {
  for (const Meant& meant : kMeant) {
    const bool here = meant.path.ends_with('/') ? path.starts_with(meant.path) : path == meant.path;
    if (here && line.find(meant.line) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Findings check_words(const Tree& tree) {
  Findings findings;
  for (const auto& file : tree) {
    each_line(file.text, [&](int number, std::string_view line) {
      const std::string word = word_in(line);
      if (word.empty() || is_meant(file.path, line)) return;
      findings.push_back(
          {file.path, number, "\"" + word + "\" speaks of people; name the request, block or part"});
    });
  }
  return findings;
}

}  // namespace kvplan::tidy
