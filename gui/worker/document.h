// What a view reads from a file of its own, beside traces, scenarios and reports: a sweep, a plan, a validation, a
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

/// Reads the file if some view can show it; nothing if none can. `head`: its first bytes.
using DocumentReader =
    std::function<std::optional<Result<DocumentPtr>>(std::string_view head, const std::string& path)>;

}  // namespace kvplan::gui
