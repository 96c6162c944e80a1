// Replays of whole logs.
#pragma once

#include "tests/validator/run_log.h"
#include "validator/replay/replay.h"

namespace kvplan::test {

/// The report; an error of the backend is its first problem.
validator::Report replay(const WholeLog& log, validator::Backend& backend, std::int64_t full_scan_every = 1);
/// On the host.
validator::Report replay(const WholeLog& log, std::int64_t full_scan_every = 1);

}  // namespace kvplan::test
