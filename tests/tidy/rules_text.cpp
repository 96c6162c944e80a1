// Rules that read one file at a time.
#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {
namespace {

bool any_of_endings(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}
bool is_header(std::string_view path) {
  return any_of_endings(path, {".h", ".cuh"});
}
bool is_code(std::string_view path) {
  return is_cpp(path) || any_of_endings(path, {".cmake", "CMakeLists.txt", ".proto", ".py"}) ||
         path.starts_with(".ci/");
}
bool in_tests(std::string_view path) {
  return path.starts_with("tests/");
}

/// The end (one past it) of the literal or comment that begins at `at`; `at` if none begins there.
struct Span {
  std::size_t end;
  bool comment;
};

std::size_t quoted_end(const std::string& text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return at + 1;
}

/// 1'000'000: a quote inside a number does not begin a character literal.
bool separates_digits(const std::string& text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 &&
         (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '\''))
    --begin;
  return begin < at && std::isdigit(static_cast<unsigned char>(text[begin])) != 0;
}

Span span_at(const std::string& text, std::size_t at) {
  const auto starts = [&](std::string_view with) { return text.compare(at, with.size(), with) == 0; };
  const auto past = [&](std::string_view what, std::size_t from) {
    const std::size_t found = text.find(what, from);
    return found == std::string::npos ? text.size() : found + what.size();
  };
  if (starts("//")) return {std::min(text.find('\n', at), text.size()), true};
  if (starts("/*")) return {past("*/", at + 2), true};
  if (starts("R\"")) {
    const std::size_t open = text.find('(', at);
    if (open != std::string::npos)
      return {past(")" + text.substr(at + 2, open - at - 2) + "\"", open), false};
  }
  if (text[at] == '"' || (text[at] == '\'' && !separates_digits(text, at)))
    return {quoted_end(text, at), false};
  return {at, false};
}

/// Adds a finding for each line of a file that matches.
void find_lines(const File& file, const std::string& text, const std::regex& pattern,
                const std::string& message, Findings& findings) {
  each_line(text, [&](int number, std::string_view line) {
    if (std::regex_search(line.begin(), line.end(), pattern))
      findings.push_back({file.path, number, message});
  });
}

}  // namespace

bool is_cpp(std::string_view path) {
  return any_of_endings(path, {".h", ".cpp", ".cu", ".cuh"});
}

std::string without_comments(const std::string& text, bool literals_too) {
  std::string result = text;
  for (std::size_t at = 0; at < text.size();) {
    const Span span = span_at(text, at);
    if (span.end == at) {
      ++at;
      continue;
    }
    for (; at < span.end; ++at) {
      if ((span.comment || literals_too) && text[at] != '\n') result[at] = ' ';
    }
  }
  return result;
}

Findings check_libraries(const Tree& tree) {
  struct Rule {
    std::regex include;
    std::vector<std::string_view> folders;  // beginnings of paths; empty: all files
    bool only_cpp;
    std::string message;
  };
  static const std::vector<Rule> kRules = [] {
    const auto include = [](const std::string& what) {
      return std::regex(R"(^\s*#\s*include\s*[<"])" + what);
    };
    return std::vector<Rule>{
        {include(R"([^>"]*\.pb\.h|^\s*#\s*include\s*<google/)"),
         {"traces/io/", "simulator/io/", "validator/run/"},
         false,
         "Protobuf stays in traces/io, simulator/io and validator/run"},
        {include("boost/"),
         {"simulator/", "traces/", "gui/"},
         true,
         "Boost is for .cpp files, and not the validator's"},
        {include("(cuda|cub/|thrust/|cooperative_groups|nvml)"),
         {"validator/"},
         false,
         "CUDA stays in validator/"},
        {include("Q[A-Z]"), {"gui/"}, false, "Qt stays in gui/"},
        {include("(librsvg/|cairo|glib)"),
         {"simulator/picture/"},
         true,
         "librsvg stays in simulator/picture"},
        {include("CLI/"),
         {"simulator/cli/options.", "validator/main."},
         true,
         "CLI11 stays in simulator/cli/options.cpp and validator/main.cpp"},
        {include("(simdjson|zstd|zlib|sqlite)"), {}, true, "a heavy header: only for .cpp files"},
    };
  }();
  static const std::regex kFiles(R"(^\s*#\s*include\s*<(fstream|filesystem)>)");
  Findings findings;
  for (const auto& file : tree) {
    if (!is_cpp(file.path) || in_tests(file.path)) continue;
    const std::string text = without_comments(file.text, false);
    const auto below = [&](std::string_view folder) { return file.path.starts_with(folder); };
    for (const auto& rule : kRules) {
      const bool here = rule.folders.empty() || std::any_of(rule.folders.begin(), rule.folders.end(), below);
      if (here && !(rule.only_cpp && is_header(file.path))) continue;
      find_lines(file, text, rule.include, rule.message, findings);
    }
    static constexpr std::array<std::string_view, 13> kNoFiles{
        "simulator/base/",       "simulator/model/",   "simulator/modelfile/", "simulator/core/",
        "traces/record/",        "simulator/latency/", "simulator/attention/", "simulator/memory/",
        "simulator/scheduling/", "simulator/routing/", "simulator/workload/",  "simulator/observe/",
        "simulator/prefix/"};
    if (std::any_of(kNoFiles.begin(), kNoFiles.end(), below)) {
      find_lines(file, text, kFiles, "the model opens no file: that is traces/io and simulator/io", findings);
    }
  }
  return findings;
}

Findings check_calls(const Tree& tree) {
  static const std::regex kBanned(
      R"(\b(s?rand|rand_r|drand48)\s*\(|\btime\s*\(\s*(nullptr|NULL|0|&)|\bsystem_clock\b|\brandom_device\b|)"
      R"(\b(gettimeofday|localtime|gmtime)\b|\bmt19937|\bstd::shuffle\b|\b\w+_distribution\b|__DATE__|__TIME__)");
  Findings findings;
  for (const auto& file : tree) {
    if (!is_cpp(file.path) || in_tests(file.path)) continue;
    find_lines(file, without_comments(file.text, true), kBanned,
               "the result must depend on scenario and seed alone: use simulator/base/random.h and the "
               "model's clock",
               findings);
  }
  return findings;
}

Findings check_lines(const Tree& tree) {
  constexpr std::ptrdiff_t kMostCharacters = 120;
  Findings findings;
  for (const auto& file : tree) {
    if (!is_code(file.path)) continue;
    each_line(file.text, [&](int number, std::string_view line) {
      // Bytes that begin a UTF-8 character.
      const auto characters =
          std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
      if (characters > kMostCharacters) findings.push_back({file.path, number, "longer than 120 characters"});
      if (line.find('\t') != std::string_view::npos) findings.push_back({file.path, number, "a tab"});
      if (!line.empty() && (line.back() == ' ' || line.back() == '\r')) {
        findings.push_back({file.path, number, "space at the end"});
      }
    });
    if (!file.text.empty() && (!file.text.ends_with('\n') || file.text.ends_with("\n\n"))) {
      findings.push_back({file.path, 0, "does not end in one newline"});
    }
  }
  return findings;
}

Findings check_marks(const Tree& tree) {
  // The words are put together here, so that this file does not report itself.
  static const std::regex kMarks(std::string(R"(\b(TO)") + "DO|FIX" + "ME|XX" + "X|HA" + R"(CK)\b|\b(not )" +
                                     "implemented|place" + R"(holder)\b)",
                                 std::regex::ECMAScript | std::regex::icase);
  Findings findings;
  for (const auto& file : tree) find_lines(file, file.text, kMarks, "a mark of unfinished work", findings);
  return findings;
}

Findings check_sizes(const Tree& tree) {
  constexpr std::ptrdiff_t kMostLines = 500;
  Findings findings;
  for (const auto& file : tree) {
    if (!is_code(file.path)) continue;
    const auto lines = std::count(file.text.begin(), file.text.end(), '\n');
    if (lines > kMostLines)
      findings.push_back({file.path, 0, std::to_string(lines) + " lines, more than 500"});
  }
  return findings;
}

Findings check_headers(const Tree& tree) {
  static const std::regex kGuard(R"(^#pragma once\s*$)");
  static const std::regex kUsing(R"(^\s*using\s+namespace\b)");
  Findings findings;
  for (const auto& file : tree) {
    if (!is_header(file.path)) continue;
    const std::string text = without_comments(file.text, true);
    Findings guards;
    find_lines(file, text, kGuard, "", guards);
    if (guards.size() != 1) findings.push_back({file.path, 0, "one `#pragma once` is wanted"});
    find_lines(file, text, kUsing, "opens a namespace to the files that include it", findings);
  }
  return findings;
}

}  // namespace kvplan::tidy
