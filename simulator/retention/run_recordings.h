// The recordings of a run, opened and compared with the model that they drive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/recording.h"
#include "simulator/model/model_shape.h"
#include "simulator/retention/rank_tracks.h"
#include "simulator/retention/retention_files.h"

namespace kvplan::runs {

/// One sequence of a recording file.
struct Recorded {
  std::shared_ptr<const attention::Recording> recording;
  std::int32_t sequence{0};
  std::int64_t tokens{0};  ///< tokens that were recorded for every layer
  std::string name;        ///< path, and the sequence's number if there are several
};

/// Opens all sequences of these files, in order; for FILE@N only sequence N. Errors: a recording that cannot be opened
/// or lacks heads of a layer; no recording that has all layers. Warns about what recordings lack, and about recordings
/// of different models.
Result<std::vector<Recorded>> open_recordings(const std::vector<std::string>& paths,
                                              const RecordingOpener& open,
                                              std::vector<std::string>& warnings);

/// The shape of the model that was recorded. Values that the recording does not have are assumed; only step times
/// depend on them.
Result<model::ModelShape> model_of(const attention::RecordingInfo& recorded, std::int64_t kv_heads,
                                   std::vector<std::string>& assumptions);

/// Layers and KV heads of recordings that are used for a model of another shape. Empty: all recordings have the model's
/// own shape. Errors: recordings of different shapes.
Result<std::optional<TrackShape>> standing_shape(const std::vector<Recorded>& recordings,
                                                 const model::ModelShape& model,
                                                 const attention::PolicyChoice& policy);

/// Checks that the recording has all data that the policy needs. `for_rows`: attention rows decide.
Status check_whole(const Recorded& recorded, bool for_rows);
/// As check_whole, and checks that the recording has the model's shape. Bytes per element may differ, because they do
/// not change which tokens are kept.
Status check_shape(const Recorded& recorded, const model::ModelShape& model,
                   const attention::PolicyChoice& policy, bool for_rows);

/// A substitute for recordings, for a policy that uses no attention: it drives every request by the model's shape
/// alone.
Recorded any_sequence(const model::ModelShape& model);

}  // namespace kvplan::runs
