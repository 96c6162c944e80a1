// Checks of the recording and the request that an evaluation gets.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/formats/evaluation.h"

namespace kvplan::formats {

/// The recorded keys or values of a KV head.
const std::vector<float>& recorded(const attention::LayerTensors& in, Side side, std::int32_t head);

/// Checks that every recorded number fits into 2 bytes. The error's field is the side, head, token and channel.
Status check_numbers(const attention::LayerTensors& in);

/// Checks that the recording has the request's sequence, layer, prompt and probes, and has queries, keys and values.
Status check_place(const attention::Recording& recording, const EvaluationRequest& request);

/// Checks that the format can be evaluated on this recording with this policy. The error's field is the format's name.
Status check_format_of(const attention::Recording& recording, const EvaluationRequest& request);

}  // namespace kvplan::formats
