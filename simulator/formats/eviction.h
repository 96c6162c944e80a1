// A token policy combined with a format: which tokens of a layer are kept, per KV head, decided by the recorded
// queries and keys.
#pragma once

#include <memory>
#include <vector>

#include "simulator/attention/catalogue.h"
#include "simulator/attention/recording.h"
#include "simulator/attention/replay.h"

namespace kvplan::formats {

class Eviction {
 public:
  /// Errors: a policy that stores other heads than the recording, that drops nothing, or that the recording cannot
  /// drive; interrupted_error() once `stop_asked` (may be null) returns true while a policy looks ahead.
  static Result<std::unique_ptr<Eviction>> make(const attention::Recording& recording,
                                                const attention::PolicyChoice& policy, std::int64_t prompt,
                                                std::int32_t sequence, std::int32_t layer,
                                                const attention::StopAsked& stop_asked = {});

  /// Processes the next token; `rows` may be at an earlier one.
  Status step(attention::LayerRows& rows);
  /// The kept positions of a KV head, and the positions that the last step dropped.
  [[nodiscard]] std::span<const std::int32_t> kept(std::int32_t head) const {
    return replay_.kept(set_of(head));
  }
  [[nodiscard]] std::span<const std::int32_t> dropped(std::int32_t head) const {
    return replay_.dropped(set_of(head));
  }
  /// True: the policy drops before a token is appended, not after it has attended.
  [[nodiscard]] bool makes_room() const { return replay_.traits().makes_room; }

 private:
  Eviction(const attention::PolicyChoice& policy, const attention::LayerPlace& place,
           const attention::StopAsked& stop_asked)
      : stop_asked_(stop_asked), replay_(policy, place, false, stop_asked) {}
  [[nodiscard]] std::int32_t set_of(std::int32_t head) const { return replay_.sets() == 1 ? 0 : head; }

  attention::StopAsked stop_asked_;
  attention::LayerReplay replay_;
};

}  // namespace kvplan::formats
