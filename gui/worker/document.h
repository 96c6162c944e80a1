// The content of a file that a view reads, other than traces, scenarios and reports: a sweep, a plan, a validation, a
// recording.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "simulator/base/result.h"

namespace kvplan::gui {

struct Document {
  virtual ~Document() = default;
  std::string path;
  std::string view;  ///< id of the view that shows it
};
using DocumentPtr = std::shared_ptr<const Document>;

/// Reads the file if a view can show it; returns nothing if none can. `head`: the file's first bytes.
using DocumentReader =
    std::function<std::optional<Result<DocumentPtr>>(std::string_view head, const std::string& path)>;

}  // namespace kvplan::gui
