// Logs of SGLang's engine.
#pragma once

#include <string>

#include "tests/validator/run_log.h"

namespace kvplan::test {

/// log_of_run for cases with parameters of SGLang.
std::string log_of_sglang_run(const traces::Trace& trace, const LogCase& c, Stepping stepping);

}  // namespace kvplan::test
