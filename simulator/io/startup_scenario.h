// Makes a scenario from a start-up log: the server's values under the paths of a scenario, with the reported pool.
#pragma once

#include <string>
#include <vector>

#include "simulator/model/model_shape.h"
#include "simulator/scenario/scenario.h"
#include "simulator/startup/startup_log.h"

namespace kvplan::io {

/// Values that a log does not have, or names differently than kvplan.
struct StartupChoices {
  std::string model;                        ///< as in scenarios; empty: unknown, and left out
  const model::ModelShape* shape{nullptr};  ///< shape of that model; null: unknown
  std::string device;                       ///< as in scenarios; empty: unknown, and left out
};

/// Settings of that scenario, without a trace. The pool is given in blocks if the log states blocks and the model is
/// known (vLLM divides the blocks of a model with windows among layer groups), otherwise in tokens.
std::vector<runs::Setting> startup_settings(const startup::StartupLog& log, const StartupChoices& choices);

/// The same settings without the pool's size, so that kvplan derives it. REQUIRES: the device is known.
std::vector<runs::Setting> predicted_settings(const startup::StartupLog& log, const StartupChoices& choices);

/// A scenario file with these settings. Paths of at most two parts.
std::string settings_json(const std::vector<runs::Setting>& settings);

/// Names of devices with this total of visible memory: 79.19 GiB are an H100 or an A100.
std::vector<std::string> devices_of_total(double total_gib);

}  // namespace kvplan::io
