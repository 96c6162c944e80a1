// What a recording of attention holds, for people and as JSON: kvplan attention info.
#pragma once

#include <string>

#include "simulator/attention/recording.h"

namespace kvplan::report {

std::string recording_json(const attention::Recording& recording);
std::string recording_text(const attention::Recording& recording);

}  // namespace kvplan::report
