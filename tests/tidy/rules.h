// The rules for the source tree, as functions of its text: each returns what is wrong, or nothing if all is right.
// tidy_test.cpp applies them to the tree; rules_test.cpp shows for each rule an example that breaks it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan::tidy {

/// A file: its path from the root with '/' between folders, and its text (empty if it is not a text of this project).
struct File {
  std::string path, text;
};
using Tree = std::vector<File>;

/// `line` is counted from 1; 0 stands for the whole file.
struct Finding {
  std::string path;
  int line = 0;
  std::string message;
};
using Findings = std::vector<Finding>;

/// Own headers are included from the root, and only from folders that the layer table (rules_layers.cpp)
/// allows.
Findings check_layers(const Tree& tree);
/// CMake's kvplan_library and kvplan_program lines link only what the layer table allows.
Findings check_links(const Tree& tree);
/// The code that replays an event log includes, directly or through other headers, nothing but simulator/base and the
/// log's reader.
Findings check_replay_is_apart(const Tree& tree);
/// A naive engine (naive_* below simulator/scheduling) includes, of its engine's folder, only naive files, settings and
/// the header that makes replicas, and nothing from which the fast engines take memory.
Findings check_naive_is_apart(const Tree& tree);
/// Protobuf, Boost.Graph, CUDA, Qt and the command-line parser are used only in their rooms; the model opens no
/// file.
Findings check_libraries(const Tree& tree);
/// Outside tests, no code reads the wall clock, and all random numbers come from simulator/base/random.h.
Findings check_calls(const Tree& tree);
/// Only simulator/scheduling knows the names of engines' parameters; all other code asks for traits.
Findings check_engines(const Tree& tree);
/// Only a family's own room knows the names of its members, except for the scenario's defaults; all other code asks for
/// traits.
Findings check_members(const Tree& tree);
/// Lines up to 120 characters, no tabs, no trailing space, one newline at the end.
Findings check_lines(const Tree& tree);
/// No marks of unfinished work.
Findings check_marks(const Tree& tree);
/// No source file beyond 500 lines.
Findings check_sizes(const Tree& tree);
/// Headers are guarded, and do not open a namespace in the files that include them.
Findings check_headers(const Tree& tree);
/// Relative links in Markdown lead to a file or folder of the tree. Files that are named in code marks exist, if their
/// folder does (from the root, from simulator or from the page).
Findings check_prose(const Tree& tree);
/// README's first two `sh` blocks are one line each: install, build and run the sample; install, build and test. The
/// second ends in the command with which .ci/run ends. All paths that they name exist.
Findings check_readme(const Tree& tree);

/// No name of simulator/base is defined again in an anonymous namespace: a unity build compiles several files as one,
/// and would show the new definition to the other files without an error.
Findings check_hidden_names(const Tree& tree);

/// No namespace has two types of one name: the linker takes what is made of one for what is made of the other.
Findings check_types(const Tree& tree);

/// No word for a person names a request, a block or a part of the program: comments, texts and pages use the thing's
/// name. rules_words.cpp has the words, and the lines that really are about people.
Findings check_words(const Tree& tree);

/// C++ and CUDA sources and headers.
bool is_cpp(std::string_view path);
/// The text with comments replaced by spaces, and string and character literals too if asked. Lines keep their
/// positions.
std::string without_comments(const std::string& text, bool literals_too);
/// Calls `visit(line_number, line)` for each line, numbered from 1.
template <class Visit>
void each_line(std::string_view text, Visit&& visit) {
  int number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    visit(number, text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace kvplan::tidy
