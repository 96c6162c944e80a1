// The results of `kvplan trace` as JSON and as text. The keys are stable.
#pragma once

#include <cstdint>
#include <string>

#include "traces/record/statistics.h"
#include "traces/record/trace.h"

namespace kvplan::cli {

std::string info_json(const traces::Trace& trace, const traces::Statistics& statistics);
std::string info_text(const std::string& path, const traces::Trace& trace,
                      const traces::Statistics& statistics);

/// The first `rows` requests of a part of a trace.
std::string head_json(const traces::Trace& piece, std::int64_t rows);
std::string head_text(const traces::Trace& piece, std::int64_t rows);

}  // namespace kvplan::cli
