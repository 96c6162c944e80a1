// k-means: k-means++ seeding and Lloyd's rounds, with fixed random draws and a fixed order of operations.
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

/// Points are the rows. At most `clusters` centres, and at most one for each point. The first centre is point floor(u
/// n). Each further centre is the least i with D_0 + ... + D_i > u (D_0 + ... + D_n-1), D the squared distance to the
/// nearest centre, u a random draw (the lowest point not chosen, if all D are 0). Then at most `rounds` times: every
/// point is assigned to its nearest centre (the lower one of equals), and if any assignment changed, centres with
/// points become the mean of their points. REQUIRES: at least one point and one cluster.
Clusters cluster(const Matrix& points, std::int64_t clusters, std::int64_t rounds, Random draws);

}  // namespace kvplan::formats
