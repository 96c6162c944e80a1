// Opens recordings of attention for commands.
#pragma once

#include <memory>
#include <string>

#include "simulator/attention/recording.h"

namespace kvplan::cli {

/// Like io::open_attention. If the recording broke off, a warning says where, and how much is complete.
Result<std::shared_ptr<const attention::Recording>> open_recording(const std::string& path);

}  // namespace kvplan::cli
