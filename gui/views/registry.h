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
  /// The view's own kind of file; null if it shows runs only.
  std::optional<Result<DocumentPtr>> (*read)(std::string_view head, const std::string& path);
};

std::span<const ViewEntry> view_entries();
QString view_title(const ViewEntry& entry);
/// A DocumentReader over all views.
std::optional<Result<DocumentPtr>> read_document(std::string_view head, const std::string& path);

}  // namespace kvplan::gui
