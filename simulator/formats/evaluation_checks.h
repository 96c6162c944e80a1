// What an evaluation expects of a recording and a request.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/formats/evaluation.h"

namespace kvplan::formats {

/// The recorded keys or values of a KV head.
const std::vector<float>& recorded(const attention::LayerTensors& in, Side side, std::int32_t head);

/// Every recorded number fits into 2 bytes. The error's field is the side, head, token and channel.
Status check_numbers(const attention::LayerTensors& in);

/// The request's sequence, layer, prompt and probes are in the recording, which has queries, keys and values.
Status check_place(const attention::Recording& recording, const EvaluationRequest& request);

/// The format's numbers follow from this recording with this policy. The error's field is the format's name.
Status check_format_of(const attention::Recording& recording, const EvaluationRequest& request);

}  // namespace kvplan::formats
