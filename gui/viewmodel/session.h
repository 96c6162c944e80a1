// Sessions: a scenario file that `kvplan run` accepts, with the window's view under the key "view", which a run
// ignores.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/viewmodel/timeline_data.h"
#include "simulator/base/result.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::gui {

/// How a result is viewed. Times are ticks since the first arrival; a file has whole nanoseconds.
struct SessionView {
  std::optional<TimeRange> range;  ///< none: everything
  std::optional<std::int64_t> cursor;
  std::optional<TimeRange> marked;
  bool table{false};
  std::string view{};                     ///< id of the current view; empty: the timeline
  std::optional<std::int64_t> request{};  ///< position in the trace
  std::optional<std::int64_t> block{};
  std::vector<std::vector<runs::Setting>> kept{};  ///< scenarios beside the edited one, to compare
};

/// The text of a session in the file `path`. Files named by settings (trace, recordings, model, calibration) are
/// relative to its folder if they lie in it or below, otherwise absolute, so that all can be moved together.
std::string session_text(const std::vector<runs::Setting>& settings, const SessionView& view,
                         const std::string& path);

/// The view in a scenario's text; nothing if it has none. Errors: a member that is not a whole number (for "table":
/// not true or false, for "shown": not a text), or a range that ends before it begins.
Result<std::optional<SessionView>> view_of(std::string_view text, const std::string& path);

}  // namespace kvplan::gui
