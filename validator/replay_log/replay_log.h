// Replays a whole event log, of one replica or several, on a named backend.
#pragma once

#include <string>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"
#include "validator/replay/replay.h"

namespace kvplan::validator {

struct ReplayedLog {
  event_log::Header header;
  Report report;
  std::string device;
};

/// `backend`: host, fake or cuda. Errors: the log cannot be read; there is no memory or device; the user asked to stop.
/// Errors in the content of the log are in the report.
Result<ReplayedLog> replay_log(const std::string& path, const std::string& backend,
                               const ReplayOptions& options = {});

/// "equal", or what differs, in words.
std::string verdict_of(const Report& report);

}  // namespace kvplan::validator
