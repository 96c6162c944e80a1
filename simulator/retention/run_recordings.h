// The recordings of a run: opened, and held against the model that they drive.
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

namespace kvplan::plan {

/// A sequence of a recording.
struct Recorded {
  std::shared_ptr<const attention::Recording> recording;
  std::int32_t sequence{0};
  std::int64_t tokens{0};  ///< of all layers
  std::string name;        ///< path, and the sequence where there are several
};

/// All sequences of these files, in order; of FILE@N sequence N alone. Errors: one that cannot be opened, lacks heads
/// of a layer, or none that has all layers. Warns of what recordings do not have, and of several models.
Result<std::vector<Recorded>> open_recordings(const std::vector<std::string>& paths,
                                              const RecordingOpener& open,
                                              std::vector<std::string>& warnings);

/// The shape that a recording was made of. What it does not say is assumed, and matters to step times alone.
Result<model::ModelShape> model_of(const attention::RecordingInfo& recorded, std::int64_t kv_heads,
                                   std::vector<std::string>& assumptions);

/// Layers and KV heads of recordings whose place in the model others take. Empty: all have the model's own.
/// Errors: recordings of several shapes.
Result<std::optional<TrackShape>> standing_shape(const std::vector<Recorded>& recordings,
                                                 const model::ModelShape& model,
                                                 const attention::PolicyChoice& policy);

/// Has it all that the policy asks for? `for_rows`: attention decides.
Status check_whole(const Recorded& recorded, bool for_rows);
/// The same, and is it of the model's shape? Which tokens stay does not depend on the bytes of
/// an element, which may have been others when it was recorded.
Status check_shape(const Recorded& recorded, const model::ModelShape& model,
                   const attention::PolicyChoice& policy, bool for_rows);

/// Drives every request by the model's shape alone, of a policy that asks for no attention.
Recorded any_sequence(const model::ModelShape& model);

}  // namespace kvplan::plan
