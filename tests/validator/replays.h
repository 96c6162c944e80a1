// Replays of whole logs.
#pragma once

#include "tests/validator/run_log.h"
#include "validator/replay/replay.h"

namespace kvplan::test {

/// The report; an error of the backend becomes its first problem.
validator::Report replay(const WholeLog& log, validator::Backend& backend, std::int64_t full_scan_every = 1);
/// The same for logs of several replicas; `make_backend` makes the memory of each.
validator::Report replay(const WholeLog& log, const validator::BackendMaker& make_backend,
                         std::int64_t full_scan_every = 1);
/// On the host, for one replica or several.
validator::Report replay(const WholeLog& log, std::int64_t full_scan_every = 1);

/// Does the reader accept the log? A number out of range never reaches the replay.
bool readable(const WholeLog& log);

}  // namespace kvplan::test
