// Measurements for when a device is available for some minutes: stages in order of importance. Each leaves a finished
// file in a folder, or none. A stage is skipped if its file exists, so that an interrupted run continues with the next
// stage.
//
//   correctness  every case of every kernel against its reference      correctness.json
//   coarse       a calibration grid, cold                              coarse.json, a calibration, and coarse.csv
//   unseen       cases outside the coarse grid: predicted from it      unseen.json
//                (prediction.h), then measured
//   memory       device memory that allocations take                   memory.json
//   fine         the other points of the grid                          fine.json, a calibration
//   tune         decode attention by every built rule                  tune.json
//   sanitize     a few small cases, for compute-sanitizer              sanitize.json
//
// `tune` and `sanitize` run only on request. Time is shared: a stage that finds less time than it needs writes what
// it has measured and how many rows it left out (`rows_left`); correctness is never cut short. Files state the
// device, driver, toolkit and build of the kernels, clocks before and after, and the drift of one case that is timed
// repeatedly.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "validator/kernels/machine.h"

namespace kvplan::validator {

enum class Stage : std::uint8_t { kCorrectness, kCoarse, kUnseen, kMemory, kFine, kTune, kSanitize };

/// Errors: no stage has that name.
Result<Stage> find_stage(std::string_view name);
std::string_view name_of(Stage stage);

struct StageOptions {
  std::string folder;         ///< must exist
  double seconds{480};        ///< for all stages together
  std::vector<Stage> stages;  ///< empty: all but the last two, in their order
  std::string kernel;         ///< only this kernel; empty: all kernels
  std::string when;           ///< as utc_text gives it
  bool quick{false};          ///< fewer samples: to try out the stages
};

/// Calls `say` with a line for every stage and every problem. True if no result was wrong. Errors: the machine's, a
/// file that cannot be written, the user asked to stop; files finished before stay.
Result<bool> run_stages(Machine& machine, const StageOptions& options,
                        const std::function<void(const std::string&)>& say);

}  // namespace kvplan::validator
