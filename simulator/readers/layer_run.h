// Several readers on one layer of one sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/readers/evaluation.h"

namespace kvplan::readers {

/// The results of one reader on the layer.
struct LayerFound {
  bool dense{false};
  std::vector<Tally> heads;  ///< [KV head]
  std::vector<Tally> steps;  ///< [t - prompt]
  std::vector<Record> records;
  std::int64_t kept_bytes{0};  ///< bytes stored after the last token
  std::int64_t kept_metadata_bytes{0};
};

struct LayerRequest {
  std::int32_t sequence{0};
  std::int32_t layer{0};
  std::int64_t prompt{1};
  bool keep_records{false};
};

/// The results, in the order of lanes. REQUIRES: the layer exists, with at least `prompt` tokens.
Result<std::vector<LayerFound>> run_layer(const attention::Recording& recording, const LayerRequest& request,
                                          std::span<const Lane> lanes, const Pause& pause);

}  // namespace kvplan::readers
