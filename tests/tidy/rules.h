// The rules that the source tree keeps, as functions of its text: each returns what is wrong, nothing if all
// is well. tidy_test.cpp applies them to the tree; rules_test.cpp shows each of them a sample that breaks it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace kvplan::tidy {

/// A file: path from the root with '/' between, and all of its text (nothing where it is no text of ours).
struct File {
  std::string path, text;
};
using Tree = std::vector<File>;

/// `line` is counted from 1; 0 speaks of the file as a whole.
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
/// What replays an event log reaches, through any number of headers, nothing but simulator/base and the log's
/// reader.
Findings check_replay_is_apart(const Tree& tree);
/// A naive engine (naive_* below simulator/scheduling) reaches of its engine's folder nothing but naive files, settings
/// and the header that makes replicas, and nothing of what the fast ones take memory from.
Findings check_naive_is_apart(const Tree& tree);
/// Protobuf, Boost.Graph, CUDA, Qt and the command-line parser stay where they belong; the model opens no
/// file.
Findings check_libraries(const Tree& tree);
/// Outside tests nothing asks the wall clock, and no chance comes from anything but simulator/base/random.h.
Findings check_calls(const Tree& tree);
/// What engines take is known to simulator/scheduling alone: others ask their traits.
Findings check_engines(const Tree& tree);
/// What a member of any family is called is known to its family's room alone, but for the scenario's defaults: others
/// ask its traits.
Findings check_members(const Tree& tree);
/// Lines up to 120 characters, no tabs, no trailing space, one newline at the end.
Findings check_lines(const Tree& tree);
/// No marks of unfinished work.
Findings check_marks(const Tree& tree);
/// No source file beyond 500 lines.
Findings check_sizes(const Tree& tree);
/// Headers are guarded and open no namespace to the files that include them.
Findings check_headers(const Tree& tree);
/// Relative links in Markdown lead to a file or folder of the tree, and files named in code marks with a folder that is
/// there (from the root, from simulator or from the page) are there.
Findings check_prose(const Tree& tree);
/// README's first two `sh` blocks are one line each: install, build and run the sample; install, build and
/// test. The second ends in the command in which .ci/run ends, and what they name in the tree is there.
Findings check_readme(const Tree& tree);

/// No name of simulator/base is defined again in an anonymous namespace: a unity build compiles several files as one,
/// and would show it to the others without an error.
Findings check_hidden_names(const Tree& tree);

/// No word of people for a request, a block or a part of the program: comments, texts and pages name what they mean.
/// rules_words.cpp has the words, and the lines that do speak of people.
Findings check_words(const Tree& tree);

/// C++ and CUDA sources and headers.
bool is_cpp(std::string_view path);
/// The text with comments, and if asked string and character literals too, turned to spaces. Lines stay where
/// they are.
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
