// Names of files in the settings of a scenario: the trace, recordings, a model's config, parameters of components.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::runs {

/// Converts a file name to the name of the same file as seen from another folder.
using FileMove = std::function<std::string(const std::string& file)>;

/// The text of a setting with `move` applied to every file name in it. Text that is not a valid value of `path` is
/// returned unchanged; `resolve` will report it.
std::string with_files_moved(std::string_view path, const std::string& text, const FileMove& move);

/// All files that a scenario names, in the order of scenario_fields().
std::vector<std::string> files_of(const Scenario& scenario);

}  // namespace kvplan::runs
