// Names of files in the settings of a scenario: the trace, recordings, a model's config, parameters of components.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/scenario/scenario.h"

namespace kvplan::plan {

/// What a file is called from somewhere else.
using FileMove = std::function<std::string(const std::string& file)>;

/// The text of a setting with `move` of every name of a file in it. What cannot be read as a value of `path` stays as
/// it is, for `resolve` to refuse.
std::string with_files_moved(std::string_view path, const std::string& text, const FileMove& move);

/// All files that a scenario names, in the order of scenario_fields().
std::vector<std::string> files_of(const Scenario& scenario);

}  // namespace kvplan::plan
