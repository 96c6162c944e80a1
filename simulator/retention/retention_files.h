// Readers of the files that determine which tokens a run keeps: recordings, models, tables of heads, retained sets,
// side files of formats. Each reads one file by its path, and may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "simulator/attention/recording.h"
#include "simulator/model/model_shape.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/run_format.h"

namespace kvplan::attention {
struct RecordedLayers;
}

namespace kvplan::runs {

/// Opens a recording of attention.
using RecordingOpener =
    std::function<Result<std::shared_ptr<const attention::Recording>>(const std::string& path)>;
/// Opens the config of a model.
using ModelOpener = std::function<Result<model::ModelShape>(const std::string& path)>;
/// Opens retained sets.
using SetsOpener =
    std::function<Result<std::shared_ptr<const attention::RecordedLayers>>(const std::string& path)>;

/// Readers of all files that the tokens of a run need.
struct RetentionFiles {
  const RecordingOpener& recording;
  const ModelOpener& model;
  const ScoresOpener& scores;
  const SetsOpener& sets;
  const SideOpener& side;
};

}  // namespace kvplan::runs
