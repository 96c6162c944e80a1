// A recording of one layer of one sequence, from tensors in memory.
#pragma once

#include <memory>

#include "simulator/attention/recording.h"
#include "simulator/attention/tensor_rows.h"

namespace kvplan::attention {

class TensorRecording final : public Recording {
 public:
  /// `info`: its form, numbers of heads, sizes and tokens are replaced by those of the tensors. REQUIRES: sizes as in
  /// `tensors`, all numbers finite, at most one sequence in `info`.
  TensorRecording(RecordingInfo info, LayerTensors tensors);
  [[nodiscard]] const RecordingInfo& info() const override { return info_; }
  /// Only layer 0 of sequence 0 exists.
  [[nodiscard]] Result<std::unique_ptr<LayerRows>> open(std::int32_t sequence,
                                                        std::int32_t layer) const override;
  [[nodiscard]] Result<LayerTensors> tensors(std::int32_t sequence, std::int32_t layer) const override;

 private:
  RecordingInfo info_;
  LayerTensors tensors_;
};

}  // namespace kvplan::attention
