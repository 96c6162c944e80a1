// A recording made from a model's shape alone: as long as any sequence, and without attention. Policies that need no
// recording (PolicyTraits::needs_recording) are replayed on it, so they can run on any model.
#pragma once

#include <cstdint>
#include <memory>

#include "simulator/attention/recording.h"

namespace kvplan::attention {

class ShapeRecording final : public Recording {
 public:
  /// All layers are equal. REQUIRES: all at least 1; kv_heads divides query_heads.
  ShapeRecording(std::int32_t layers, std::int32_t query_heads, std::int32_t kv_heads);
  [[nodiscard]] const RecordingInfo& info() const override { return info_; }
  /// Always an error: there are no rows.
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                        std::int32_t layer) const override;

 private:
  RecordingInfo info_;
};

}  // namespace kvplan::attention
