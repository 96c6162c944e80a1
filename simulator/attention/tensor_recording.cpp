#include "simulator/attention/tensor_recording.h"

#include <utility>

namespace kvplan::attention {

TensorRecording::TensorRecording(RecordingInfo info, LayerTensors tensors)
    : info_(std::move(info)), tensors_(std::move(tensors)) {
  info_.form = RecordedForm::kTensors;
  info_.layers = 1;
  info_.query_heads = tensors_.query_heads;
  info_.kv_heads = tensors_.kv_heads;
  info_.group = tensors_.query_heads / tensors_.kv_heads;
  info_.key_size = tensors_.key_size;
  info_.value_size = tensors_.value_size;
  info_.logit_scale = tensors_.scale;
  info_.has_values = !tensors_.values.empty();
  KVPLAN_CHECK(info_.sequences.size() <= 1);
  info_.sequences.resize(1);
  info_.sequences.front().tokens = tensors_.tokens;
}

Result<std::unique_ptr<LayerRows>> TensorRecording::open(std::int32_t sequence, std::int32_t layer) const {
  KVPLAN_CHECK(sequence == 0 && layer == 0);
  return rows_from_tensors(tensors_);
}

Result<LayerTensors> TensorRecording::tensors(std::int32_t sequence, std::int32_t layer) const {
  KVPLAN_CHECK(sequence == 0 && layer == 0);
  return tensors_;
}

}  // namespace kvplan::attention
