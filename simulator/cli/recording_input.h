// Recordings of attention as commands open them.
#pragma once

#include <memory>
#include <string>

#include "simulator/attention/recording.h"

namespace kvplan::cli {

/// As io::open_attention. Of a recording that broke off a warning says where, and how much of it is whole.
Result<std::shared_ptr<const attention::Recording>> open_recording(const std::string& path);

}  // namespace kvplan::cli
