// k-means: seeding by distance (k-means++) and Lloyd's rounds, with fixed draws and a fixed order of operations.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/base/random.h"
#include "simulator/formats/linear.h"

namespace kvplan::formats {

struct Clusters {
  Matrix centres;                    ///< [cluster][channel]
  std::vector<std::int32_t> labels;  ///< [point]
};

/// Points are the rows. At most `clusters` centres, one for each point at most. The first centre is point
/// floor(u n); each further one the least i with D_0 + ... + D_i > u (D_0 + ... + D_n-1), D the squared distance to the
/// nearest centre, u a draw (the lowest point not chosen, where all D are 0). Then at most `rounds` times: every point
/// goes to its nearest centre (the lower one of equals), and where any did, centres with points become their mean.
/// REQUIRES: at least one point and one cluster.
Clusters cluster(const Matrix& points, std::int64_t clusters, std::int64_t rounds, Random draws);

}  // namespace kvplan::formats
