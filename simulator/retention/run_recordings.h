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

/// A sequence of a recording.
struct Recorded {
  std::shared_ptr<const attention::Recording> recording;
  std::int32_t sequence{0};
  std::int64_t tokens{0};  ///< of all layers
  std::string name;        ///< path, and the sequence's number if there are several
};

/// All sequences of these files, in order; of FILE@N only sequence N. Errors: a recording that cannot be opened or
/// lacks heads of a layer; none that has all layers. Warns about what recordings lack, and about recordings of
/// different models.
Result<std::vector<Recorded>> open_recordings(const std::vector<std::string>& paths,
                                              const RecordingOpener& open,
                                              std::vector<std::string>& warnings);

/// The shape of the model that was recorded. What the recording does not say is assumed; only step times depend on
/// it.
Result<model::ModelShape> model_of(const attention::RecordingInfo& recorded, std::int64_t kv_heads,
                                   std::vector<std::string>& assumptions);

/// Layers and KV heads of recordings that stand for another model. Empty: all recordings have the model's own shape.
/// Errors: recordings of different shapes.
Result<std::optional<TrackShape>> standing_shape(const std::vector<Recorded>& recordings,
                                                 const model::ModelShape& model,
                                                 const attention::PolicyChoice& policy);

/// Checks that the recording has all that the policy needs. `for_rows`: attention decides.
Status check_whole(const Recorded& recorded, bool for_rows);
/// The same, and that it has the model's shape. Bytes per element may differ: which tokens stay does not depend on
/// them.
Status check_shape(const Recorded& recorded, const model::ModelShape& model,
                   const attention::PolicyChoice& policy, bool for_rows);

/// A stand-in for recordings that drives every request by the model's shape alone, for a policy that uses no
/// attention.
Recorded any_sequence(const model::ModelShape& model);

}  // namespace kvplan::runs
