#include "gui/app/options.h"

#include <array>
#include <vector>

#include "gui/viewmodel/formatting.h"
#include "gui/views/registry.h"
#include "simulator/base/suggest.h"

namespace kvplan::gui {
namespace {

constexpr std::array<std::string_view, 6> kFlags{"--screenshot", "-o",        "--theme",
                                                 "--lang",       "--version", "--help"};
constexpr std::array<std::string_view, 3> kThemes{"dark", "light", "system"};
constexpr std::array<std::string_view, 2> kLanguages{"en", "zh"};

/// `value` if it is one of `known`.
Status expect_one_of(std::string_view what, std::string_view value, std::span<const std::string_view> known) {
  for (const std::string_view name : known)
    if (name == value) return Done{};
  return bad_input(unknown_name(what, value, known));
}

std::vector<std::string_view> view_ids() {
  std::vector<std::string_view> ids;
  for (const ViewEntry& entry : view_entries()) ids.emplace_back(entry.id);
  return ids;
}

}  // namespace

std::string usage() {
  std::string views;
  for (const std::string_view id : view_ids()) views.append(views.empty() ? "" : " ").append(id);
  return "Usage: kvplan-gui [FILE...]\n       kvplan-gui --screenshot VIEW FILE... -o PNG [--theme "
         "dark|light] [--lang en|zh]\n\nShows how the KV memory of a trace is used, and simulates again "
         "while you change the scenario.\nFILE is a trace (.kvt or any importable file), a scenario, or one "
         "of each; or the report of a\nfinished run (.kvr), which is shown without simulating.\n\n  "
         "--screenshot VIEW  write a picture of the window and exit; needs no display (views:\n              "
         "       " +
         views +
         ")\n  "
         "-o PNG             file for the picture\n  --theme THEME      dark, light or system\n  --lang "
         "LANGUAGE    en or zh; default: the choice in the View menu, at first the system's language\n  "
         "--version          print the version and exit\n  --help             print this help and exit\n";
}

Result<Options> parse_options(std::span<const char* const> arguments) {
  Options options;
  bool only_files = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (only_files || argument.empty() || argument.front() != '-') {
      options.files.emplace_back(argument);
      continue;
    }
    if (argument == "--") {
      only_files = true;
      continue;
    }
    if (argument == "--help" || argument == "-h" || argument == "--version") {
      options.task = argument == "--version" ? Task::kVersion : Task::kHelp;
      return options;
    }
    const std::size_t equals = argument.find('=');
    const std::string_view flag = argument.substr(0, equals);
    KVPLAN_TRY_DO(expect_one_of("option", flag, kFlags));
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return bad_input("expected a value after this option").at_field(flag);
    }
    if (flag == "--screenshot") {
      KVPLAN_TRY_DO(expect_one_of("view", value, view_ids()));
      options.view = value;
      options.task = Task::kScreenshot;
    } else if (flag == "-o") {
      options.picture = value;
    } else if (flag == "--lang") {
      KVPLAN_TRY_DO(expect_one_of("language", value, kLanguages));
      options.language = language_by_name(to_qstring(value));
    } else {
      KVPLAN_TRY_DO(expect_one_of("theme", value, kThemes));
      options.theme = theme_by_name(to_qstring(value));
    }
  }
  if (options.task == Task::kScreenshot && options.picture.empty())
    return bad_input("needs -o PNG").at_field("--screenshot");
  if (options.task == Task::kScreenshot && options.files.empty())
    return bad_input("expected a trace or a scenario").at_field("--screenshot");
  if (options.task != Task::kScreenshot && !options.picture.empty())
    return bad_input("expected --screenshot, which this option belongs to").at_field("-o");
  return options;
}

}  // namespace kvplan::gui
