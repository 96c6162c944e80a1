// The views of the window, in the order of their tabs.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "gui/views/view.h"

namespace kvplan::gui {

struct ViewEntry {
  const char* id;     ///< as in `kvplan-gui --screenshot ID`
  const char* title;  ///< English, marked for translation in the context "Views"
  View* (*make)();
  /// Reads the view's own kind of file; null if the view shows only runs.
  std::optional<Result<DocumentPtr>> (*read)(std::string_view head, const std::string& path);
};

std::span<const ViewEntry> view_entries();
QString view_title(const ViewEntry& entry);
/// A DocumentReader that tries all views.
std::optional<Result<DocumentPtr>> read_document(std::string_view head, const std::string& path);

}  // namespace kvplan::gui
