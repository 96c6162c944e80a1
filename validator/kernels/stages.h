// What a device is asked when one is at hand for minutes: stages in order of worth, each of which leaves a finished
// file in a folder, or none. A stage whose file is there is skipped, so that a run that was cut off goes on with the
// next.
//
//   correctness  every case of every kernel against its reference      correctness.json
//   coarse       a grid to calibrate with, cold                        coarse.json, a calibration, and coarse.csv
//   unseen       rows that the coarse grid does not hold: predicted     unseen.json
//                from it (prediction.h), then measured
//   memory       what allocating takes of the device                   memory.json
//   fine         the grid's other rows                                 fine.json, a calibration
//   tune         decode attention by every rule that is built          tune.json
//   sanitize     a few small cases, for compute-sanitizer              sanitize.json
//
// `tune` and `sanitize` run only when they are asked for. Time is shared: a stage that finds less than it needs writes
// what it has measured and how many rows it left out (`rows_left`); correctness is never cut short. Files say device,
// driver, toolkit and build of the kernels, clocks before and after, and by how much one case, timed again and again,
// drifted.
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
  std::string folder;         ///< is there
  double seconds{480};        ///< for all stages together
  std::vector<Stage> stages;  ///< empty: all but the last two, in their order
  std::string kernel;         ///< only this one; empty: all
  std::string when;           ///< as utc_text gives it
  bool quick{false};          ///< fewer samples: to try the stages
};

/// Calls `say` with a line for every stage and every problem. True where no result was wrong. Errors: the machine's, a
/// file that cannot be written, the user asked to stop; what was finished before stays.
Result<bool> run_stages(Machine& machine, const StageOptions& options,
                        const std::function<void(const std::string&)>& say);

}  // namespace kvplan::validator
