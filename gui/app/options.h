// The command line of kvplan-gui. Parsed before there is a QApplication, since it decides whether a display is
// needed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gui/view/language.h"
#include "gui/view/theme.h"
#include "simulator/base/result.h"

namespace kvplan::gui {

enum class Task : std::uint8_t { kWindow, kScreenshot, kHelp, kVersion };

struct Options {
  Task task{Task::kWindow};
  std::vector<std::string> files;
  std::string view;     ///< id of the view that a screenshot shows
  std::string picture;  ///< file of the screenshot
  std::optional<Theme> theme;
  std::optional<Language> language;
};

/// `arguments` without the program's name. Errors: one line, with the names that exist.
Result<Options> parse_options(std::span<const char* const> arguments);

/// Text of --help.
std::string usage();

}  // namespace kvplan::gui
