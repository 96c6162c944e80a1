// Functions that read the files which a run names. The caller gives them, since the model opens no file itself
// (simulator/io/openers.h has functions that read the disk). Also results that several runs share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/attention/trajectory.h"
#include "simulator/deployment/prices.h"
#include "simulator/kernels/kernel_table.h"
#include "simulator/latency/step_table.h"
#include "simulator/retention/retention_files.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/run_format.h"

namespace kvplan::runs {

/// Measured durations of whole steps.
struct MeasuredSteps {
  latency::StepTable table;
  std::vector<std::string> assumptions;  ///< whole sentences: source, date, what was measured
};
/// Reads the step durations of a model from a calibration file; called from any thread.
using StepsOpener = std::function<Result<MeasuredSteps>(const std::string& path, std::string_view model)>;

/// Measured times of decode attention, of one device and engine.
struct MeasuredKernels {
  std::vector<kernels::KernelTable> tables;
  std::vector<std::string> assumptions;  ///< as above
};
/// Reads the kernel times of a calibration file; called from any thread.
using KernelsOpener = std::function<Result<MeasuredKernels>(const std::string& path)>;

/// Each function is needed only if a scenario names such a file.
struct Openers {
  RecordingOpener open_recording{};  ///< workload.attention, if the policy is replayed
  ModelOpener open_model{};          ///< `model`, if it is a path
  StepsOpener open_steps{};          ///< the calibration that `latency` names
  KernelsOpener open_kernels{};      ///< the same, for times of kernels
  PricesOpener open_prices{};        ///< `prices`
  ScoresOpener open_scores{};        ///< head scores that `budget` or `eviction` names
  SetsOpener open_sets{};            ///< retained sets that `eviction` names
  SideOpener open_side{};            ///< side files that `format` names
  /// Results of policies on recordings, computed once and shared by all runs; null: each run computes its own.
  std::shared_ptr<attention::TrajectoryStore> trajectories{};
};

}  // namespace kvplan::runs
