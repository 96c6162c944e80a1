// Sessions: a scenario file that `kvplan run` takes as it is, with what the window showed of it under the key
// "view", which a run does not read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/viewmodel/timeline_data.h"
#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::gui {

/// What is seen of a result. Times are ticks since the first arrival; a file has them in whole nanoseconds.
struct SessionView {
  std::optional<TimeRange> range;  ///< none: everything
  std::optional<std::int64_t> cursor;
  std::optional<TimeRange> marked;
  bool table{false};
};

/// The text of a session in the file `path`. Files that settings name (trace, recordings, model, calibration) are named
/// relative to its folder where they lie in it or below, otherwise from the root, so that all can be moved together.
std::string session_text(const std::vector<plan::Setting>& settings, const SessionView& view,
                         const std::string& path);

/// The view in a scenario's text; nothing where it has none. Errors: a member that is no whole number (or,
/// for "table", no truth value), or a range that ends before it begins.
Result<std::optional<SessionView>> view_of(std::string_view text, const std::string& path);

}  // namespace kvplan::gui
