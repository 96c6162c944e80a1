// Clusters of the keys of one KV head.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/attention/tensor_rows.h"
#include "simulator/base/random.h"
#include "simulator/formats/linear.h"

namespace kvplan::readers {

struct KeyClusters {
  formats::Matrix centres{};                         ///< [cluster][channel]
  std::vector<std::vector<std::int32_t>> members{};  ///< [cluster] positions, ascending; may be empty
};

/// How a token is assigned to a centre in the end.
enum class Nearest : std::uint8_t {
  kDistance,  ///< to the nearest centre, as in the rounds of k-means
  /// To the centre with the greatest cosine, the lower index of equals; a centre of length 0 has cosine 0
  kCosine,
};

/// Clusters tokens begin .. end-1 of a head. Centres are those of formats::cluster on the keys (at most one for each
/// token). REQUIRES: begin < end, clusters >= 1.
KeyClusters cluster_keys(const attention::LayerTensors& tensors, std::int32_t head, std::int64_t begin,
                         std::int64_t end, std::int64_t clusters, std::int64_t rounds, Nearest nearest,
                         Random draws);

}  // namespace kvplan::readers
