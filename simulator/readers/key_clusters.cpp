#include "simulator/readers/key_clusters.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "simulator/formats/clusters.h"
#include "simulator/readers/reader.h"

namespace kvplan::readers {
namespace {

double product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

}  // namespace

KeyClusters cluster_keys(const attention::LayerTensors& tensors, std::int32_t head, std::int64_t begin,
                         std::int64_t end, std::int64_t clusters, std::int64_t rounds, Random draws) {
  formats::Matrix keys(static_cast<std::size_t>(end - begin), static_cast<std::size_t>(tensors.key_size));
  for (std::int64_t t = begin; t < end; ++t) {
    const auto from = key_of(tensors, head, t);
    std::copy(from.begin(), from.end(), keys.row(static_cast<std::size_t>(t - begin)).begin());
  }
  KeyClusters out{.centres = formats::cluster(keys, clusters, rounds, draws).centres, .members = {}};
  std::vector<double> length;
  for (std::size_t k = 0; k < out.centres.rows; ++k)
    length.push_back(std::sqrt(product(out.centres.row(k), out.centres.row(k))));
  out.members.resize(out.centres.rows);
  // The key's own length is the same for all centres.
  for (std::int64_t t = begin; t < end; ++t) {
    const auto key = keys.row(static_cast<std::size_t>(t - begin));
    std::size_t best = 0;
    double most = 0;
    for (std::size_t k = 0; k < out.centres.rows; ++k) {
      const double along = length[k] > 0 ? product(key, out.centres.row(k)) / length[k] : 0;
      if (k > 0 && along <= most) continue;
      most = along;
      best = k;
    }
    out.members[best].push_back(static_cast<std::int32_t>(t));
  }
  return out;
}

}  // namespace kvplan::readers
