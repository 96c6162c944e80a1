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

/// [key] the centre with the greatest cosine. The key's own length is the same for all centres.
std::vector<std::int32_t> by_cosine(const formats::Matrix& keys, const formats::Matrix& centres) {
  std::vector<double> length;
  for (std::size_t k = 0; k < centres.rows; ++k)
    length.push_back(std::sqrt(product(centres.row(k), centres.row(k))));
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < keys.rows; ++i) {
    std::size_t best = 0;
    double most = 0;
    for (std::size_t k = 0; k < centres.rows; ++k) {
      const double along = length[k] > 0 ? product(keys.row(i), centres.row(k)) / length[k] : 0;
      if (k > 0 && along <= most) continue;
      most = along;
      best = k;
    }
    out.push_back(static_cast<std::int32_t>(best));
  }
  return out;
}

}  // namespace

KeyClusters cluster_keys(const attention::LayerTensors& tensors, std::int32_t head, std::int64_t begin,
                         std::int64_t end, std::int64_t clusters, std::int64_t rounds, Nearest nearest,
                         Random draws) {
  formats::Matrix keys(static_cast<std::size_t>(end - begin), static_cast<std::size_t>(tensors.key_size));
  for (std::int64_t t = begin; t < end; ++t) {
    const auto from = key_of(tensors, head, t);
    std::copy(from.begin(), from.end(), keys.row(static_cast<std::size_t>(t - begin)).begin());
  }
  formats::Clusters found = formats::cluster(keys, clusters, rounds, draws);
  if (nearest == Nearest::kCosine) found.labels = by_cosine(keys, found.centres);
  KeyClusters out{.centres = std::move(found.centres), .members = {}};
  out.members.resize(out.centres.rows);
  for (std::size_t i = 0; i < keys.rows; ++i)
    out.members[static_cast<std::size_t>(found.labels[i])].push_back(
        static_cast<std::int32_t>(begin + static_cast<std::int64_t>(i)));
  return out;
}

}  // namespace kvplan::readers
