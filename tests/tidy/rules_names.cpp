// Names that would be visible in the wrong file of a unity build.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/rules.h"

namespace kvplan::tidy {
namespace {

/// The name that a line without indentation declares or defines at namespace scope; empty: none.
std::string declared(const std::string& line) {
  static const std::regex kType(R"(^(?:struct|class|enum class|enum|using) (?:\[\[\w+\]\] )?(\w+))");
  static const std::regex kConstant(
      R"(^(?:inline |static )*const(?:expr|init)? [\w:<>, *&]+?[ *&](\w+)(?:\{| =|\[))");
  static const std::regex kFunction(
      R"(^(?:\[\[\w+\]\] |inline |static |constexpr )*[\w:<>, *&]+?[ *&](\w+)\()");
  std::smatch found;
  for (const std::regex* each : {&kType, &kConstant, &kFunction})
    if (std::regex_search(line, found, *each)) return found[1];
  return {};
}

/// Calls `visit(line number, name)` for names at namespace scope between a line `open` and the line `close` after it.
/// Enumerators of enums without a scope are such names.
template <class Visit>
void each_name(const File& file, std::string_view open, std::string_view close, const Visit& visit) {
  bool inside = false;
  bool in_enum = false;
  each_line(without_comments(file.text, true), [&](int number, std::string_view text) {
    std::string line(text);
    line.erase(line.find_last_not_of(' ') + 1);
    if (line == open) {
      inside = true;
    } else if (line == close) {
      inside = false;
    } else if (inside && !line.empty()) {
      if (in_enum && line[0] == ' ') {
        static const std::regex kEnumerator(R"(^ +(k\w+))");
        std::smatch found;
        if (std::regex_search(line, found, kEnumerator)) visit(number, found[1].str());
      }
      if (line[0] == ' ' || line[0] == '#' || line[0] == '}') {
        in_enum = in_enum && line[0] == ' ';
        return;
      }
      in_enum = line.starts_with("enum ") && !line.starts_with("enum class ") && line.ends_with('{');
      if (const std::string name = declared(line); !name.empty()) visit(number, name);
    }
  });
}

}  // namespace

Findings check_hidden_names(const Tree& tree) {
  std::set<std::string> shared;
  for (const File& file : tree)
    if (file.path.starts_with("simulator/base/") && file.path.ends_with(".h"))
      each_name(file, "namespace kvplan {", "}",
                [&](int /*number*/, const std::string& name) { shared.insert(name); });
  Findings findings;
  for (const File& file : tree) {
    if (!file.path.ends_with(".cpp") || file.path.starts_with("tests/") || file.path.starts_with("gui/"))
      continue;
    each_name(file, "namespace {", "}", [&](int number, const std::string& name) {
      if (shared.contains(name))
        findings.push_back(
            {file.path, number,
             "\"" + name +
                 "\" is a name of simulator/base: a unity build would show this one to other files"});
    });
  }
  return findings;
}

}  // namespace kvplan::tidy
