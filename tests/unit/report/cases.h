// Small results that the report tests print.
#pragma once

#include <string>
#include <vector>

#include "simulator/run/run.h"
#include "simulator/study/inputs.h"

namespace kvplan::report::testing {

/// Requests as lines "arrival_ns,input_tokens,output_tokens".
traces::Trace small_trace();
/// Readers that return the small trace whatever name is given; other files cannot be read.
runs::InputReaders small_inputs();
/// Settings under which small_trace has every kind of event: a batch, preemptions, a rejected request.
std::vector<runs::Setting> small_settings();
runs::Scenario scenario_of(const std::vector<runs::Setting>& settings);
runs::RunResult result_of(const std::vector<runs::Setting>& settings, const traces::Trace& trace,
                          std::int64_t timeline_bins);

/// A report, or several, without the sources of values: for scenarios that are equal but in different files.
std::string without_sources(std::string json);

/// The golden engines' trace, which is part of the tree.
extern const char* const kMicroTrace;

}  // namespace kvplan::report::testing
