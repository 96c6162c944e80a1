// A recording in memory: rows of JSON inputs, tests and benchmarks.
#pragma once

#include <memory>
#include <vector>

#include "simulator/attention/recording.h"

namespace kvplan::attention {

/// Rows of one (sequence, layer, query head), one after the other: row t has t + 1 weights and begins at t (t + 1) /
/// 2. Exactly one of the two vectors is used.
struct HeadRows {
  std::vector<double> f64;
  std::vector<float> f32;
};

/// Number of weights in a triangle of `tokens` rows.
constexpr std::int64_t triangle(std::int64_t tokens) {
  return tokens * (tokens + 1) / 2;
}

class MemoryRecording final : public Recording {
 public:
  /// heads[(sequence * layers + layer) * query_heads + head]. REQUIRES: sizes as in `info`.
  MemoryRecording(RecordingInfo info, std::vector<HeadRows> heads);
  [[nodiscard]] const RecordingInfo& info() const override { return info_; }
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                        std::int32_t layer) const override;

 private:
  RecordingInfo info_;
  std::vector<HeadRows> heads_;
};

}  // namespace kvplan::attention
