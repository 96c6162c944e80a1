// How the files that a run names are read: functions that the caller gives, since the model opens no file itself
// (simulator/io/openers.h has those of the disk). And what is worked out of files once for several runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/trajectory.h"
#include "simulator/deployment/prices.h"
#include "simulator/latency/step_table.h"
#include "simulator/retention/token_plan.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/run_format.h"

namespace kvplan::plan {

/// Durations of whole steps as they were measured.
struct MeasuredSteps {
  latency::StepTable table;
  std::vector<std::string> assumptions;  ///< whole sentences: by whom, when, what was measured
};
/// Reads the steps of a model from a calibration by its path; called from any thread.
using StepsOpener = std::function<Result<MeasuredSteps>(const std::string& path, std::string_view model)>;

/// Each is needed where a scenario names such a file.
struct Openers {
  RecordingOpener open_recording{};  ///< workload.attention, where the policy is replayed
  ModelOpener open_model{};          ///< `model`, where it is a path
  StepsOpener open_steps{};          ///< the calibration that `latency` names
  PricesOpener open_prices{};        ///< `prices`
  ScoresOpener open_scores{};        ///< numbers of heads that `budget` or `eviction` names
  SetsOpener open_sets{};            ///< retained sets that `eviction` names
  SideOpener open_side{};            ///< side files that `format` names
  /// What policies do to recordings, worked out once for all runs that have it; null: for each run by itself.
  std::shared_ptr<attention::TrajectoryStore> trajectories{};
};

}  // namespace kvplan::plan
