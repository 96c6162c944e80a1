// Members of families (allocators, engines, policies, ...) have names and parameters. All code except the member itself
// must ask for its traits.
#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {
namespace {

bool is_ours(const File& file) {
  return is_cpp(file.path) && !file.path.starts_with("tests/");
}

/// The first two folders: "simulator/memory".
std::string room_of(std::string_view path) {
  const std::size_t first = path.find('/');
  const std::size_t second = first == std::string_view::npos ? first : path.find('/', first + 1);
  return std::string(path.substr(0, second));
}

/// Calls `visit(line_number, match)` for every match in every line.
template <class Visit>
void each_match(std::string_view text, const std::regex& pattern, Visit&& visit) {
  each_line(text, [&](int number, std::string_view line) {
    using Iterator = std::regex_iterator<std::string_view::const_iterator>;
    for (Iterator match(line.begin(), line.end(), pattern), end; match != end; ++match) visit(number, *match);
  });
}

/// The rooms in which a member of this name is defined: descriptors state family and name, one after the other.
std::map<std::string, std::set<std::string>> member_rooms(const Tree& tree) {
  static const std::regex kMember(R"re(\.family = (?:"[^"]+"|\w+),\s*\.name = "([^"]+)")re");
  std::map<std::string, std::set<std::string>> rooms;
  for (const auto& file : tree) {
    if (!is_ours(file) || !file.path.starts_with("simulator/")) continue;
    const std::string code = without_comments(file.text, false);
    for (std::sregex_iterator match(code.begin(), code.end(), kMember), end; match != end; ++match)
      rooms[(*match)[1]].insert(room_of(file.path));
  }
  return rooms;
}

/// Names of members that are words with other meanings, too: of element types, parameters, columns, commands.
constexpr std::array<std::string_view, 34> kWords{
    "auto",   "bf16",   "cla",    "clock",   "closed",  "d2o",    "fifo",     "fp16",    "fp32",
    "fp8",    "full",   "int4",   "int8",    "lfu",     "lru",    "merge",    "mixed",   "mxfp4",
    "native", "none",   "nvfp4",  "open",    "oracle",  "random", "recorded", "session", "shape",
    "sieve",  "sparse", "stated", "uniform", "unknown", "vmm",    "window"};

/// A place where a name means something else, or is data.
struct Exception {
  std::string_view file;  ///< or a folder, ending in '/'
  std::string_view why;
};
constexpr std::array<Exception, 9> kExceptions{{
    {"simulator/scenario/scenario_fields.cpp", "the defaults of a scenario"},
    {"simulator/scenario/combinations.cpp", "examples of choices"},
    {"simulator/kernels/measured_engines.h", "the column `engine` of kernel tables"},
    {"simulator/kernels/time_source.h", "the column `source` of predicted kernel times"},
    {"simulator/report/overview.cpp", "values that a report does not mention"},
    {"simulator/startup/", "engines as their start-up logs name them"},
    {"simulator/io/startup_scenario.cpp", "the same, as a scenario"},
    {"simulator/scheduling/vllm/server_command.cpp", "what its server does, as members of other rooms"},
    {"simulator/scheduling/sglang/server_command.cpp", "the same"},
}};

bool is_exception(std::string_view path) {
  return path.starts_with("simulator/bench/") ||
         std::any_of(kExceptions.begin(), kExceptions.end(),
                     [&](const Exception& exception) { return path.starts_with(exception.file); });
}

/// Parameters of the engines, except for common words: those of one word (`policy`, `reads`).
std::string engine_parameters(const Tree& tree) {
  static const std::regex kName(R"re(\{\.name = "(\w+_\w+)")re");
  std::string names;
  for (const auto& file : tree) {
    if (!file.path.starts_with("simulator/scheduling/") || !file.path.ends_with("/engine.cpp")) continue;
    const std::string code = without_comments(file.text, false);
    for (std::sregex_iterator match(code.begin(), code.end(), kName), end; match != end; ++match)
      names.append(names.empty() ? "" : "|").append((*match)[1]);
  }
  return names;
}

}  // namespace

Findings check_engines(const Tree& tree) {
  static const std::regex kParameter(R"re(\bengine\s*\.\s*(integer|decimal|flag|text)\s*\()re");
  const std::string names = engine_parameters(tree);
  const std::regex told("\"[^\"]*\\b(" + names + ")\\b[^\"]*\"");
  Findings findings;
  for (const auto& file : tree) {
    if (!is_ours(file) || file.path.starts_with("simulator/scheduling/")) continue;
    const std::string code = without_comments(file.text, false);
    each_match(code, kParameter, [&](int line, const auto&) {
      findings.push_back({file.path, line, "parameters of engines are their own: ask EngineTraits"});
    });
    if (names.empty()) continue;
    for (const std::string_view folder :
         {"simulator/core/", "simulator/observe/", "simulator/report/", "gui/"}) {
      if (!file.path.starts_with(folder)) continue;
      each_match(code, told, [&](int line, const auto&) {
        findings.push_back({file.path, line, "parameters of engines have no names here"});
      });
    }
  }
  return findings;
}

Findings check_members(const Tree& tree) {
  static const std::regex kLiteral(R"re("([^"\\]*)")re");
  static const std::regex kCompared(R"re(name\(\)\s*[!=]=\s*"([^"]*)")re");
  const auto rooms = member_rooms(tree);
  Findings findings;
  for (const auto& file : tree) {
    if (!is_ours(file)) continue;
    const std::string code = without_comments(file.text, false);
    // Families of synthetic traces have their own rooms and readers.
    const bool of_traces = file.path.starts_with("traces/");
    each_match(of_traces ? std::string() : code, kCompared, [&](int line, const auto& match) {
      if (code.find(".name = \"" + match[1].str() + "\"") == std::string::npos)
        findings.push_back({file.path, line, "a member is asked for its name: ask for a trait"});
    });
    if (is_exception(file.path)) continue;
    each_match(code, kLiteral, [&](int line, const auto& match) {
      const std::string name = match[1].str();
      const auto found = rooms.find(name);
      if (found == rooms.end() || found->second.contains(room_of(file.path)) ||
          std::find(kWords.begin(), kWords.end(), name) != kWords.end())
        return;
      findings.push_back({file.path, line,
                          "\"" + name + "\" is a member of " + *found->second.begin() + ": ask for a trait"});
    });
  }
  return findings;
}

}  // namespace kvplan::tidy
