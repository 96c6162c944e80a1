// A start-up log as a scenario: what the server said of itself, under the paths of a scenario, with the pool as it was
// reported.
#pragma once

#include <string>
#include <vector>

#include "simulator/model/model_shape.h"
#include "simulator/scenario/scenario.h"
#include "simulator/startup/startup_log.h"

namespace kvplan::io {

/// What a log does not say, or says in other words than kvplan.
struct StartupChoices {
  std::string model;                        ///< as in scenarios; empty: not known, and left out
  const model::ModelShape* shape{nullptr};  ///< of that model; null: not known
  std::string device;                       ///< as in scenarios; empty: not known, and left out
};

/// Settings of that scenario, without a trace. The pool counts in blocks where the log has blocks and the model is known
/// (vLLM divides the blocks of a model with windows among groups of layers), else in tokens.
std::vector<plan::Setting> startup_settings(const startup::StartupLog& log, const StartupChoices& choices);

/// The same settings without the pool's size, so that kvplan derives it; of a device that is known.
std::vector<plan::Setting> predicted_settings(const startup::StartupLog& log, const StartupChoices& choices);

/// A scenario file with these settings. Paths of at most two parts.
std::string settings_json(const std::vector<plan::Setting>& settings);

/// Devices whose visible memory holds this total, by name: 79.19 GiB are of an H100 or an A100.
std::vector<std::string> devices_of_total(double total_gib);

}  // namespace kvplan::io
