// Clusters of the keys of one stored head, by direction.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/attention/tensor_rows.h"
#include "simulator/base/random.h"
#include "simulator/formats/linear.h"

namespace kvplan::readers {

struct KeyClusters {
  formats::Matrix centres{};                         ///< [cluster][channel]
  std::vector<std::vector<std::int32_t>> members{};  ///< [cluster] positions, ascending; may be none
};

/// Tokens begin .. end-1 of a head. Centres are those of formats::cluster on the keys (at most one for each token);
/// then each token goes to the centre with the greatest cosine, the lower one of equals; a centre of length 0 has
/// cosine 0. REQUIRES: begin < end, clusters >= 1.
KeyClusters cluster_keys(const attention::LayerTensors& tensors, std::int32_t head, std::int64_t begin,
                         std::int64_t end, std::int64_t clusters, std::int64_t rounds, Random draws);

}  // namespace kvplan::readers
