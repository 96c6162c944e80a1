// Replays of whole logs.
#pragma once

#include "tests/validator/run_log.h"
#include "validator/replay/replay.h"

namespace kvplan::test {

/// The report; an error of the backend is its first problem.
validator::Report replay(const WholeLog& log, validator::Backend& backend, std::int64_t full_scan_every = 1);
/// The same of logs of several replicas, each of which has a memory from there.
validator::Report replay(const WholeLog& log, const validator::BackendMaker& make_backend,
                         std::int64_t full_scan_every = 1);
/// On the host, of one replica or several.
validator::Report replay(const WholeLog& log, std::int64_t full_scan_every = 1);

/// Does the reader take the log? A number out of its range never reaches the replay.
bool readable(const WholeLog& log);

}  // namespace kvplan::test
