#include "simulator/frontier/samples.h"

#include <cmath>

namespace kvplan::frontier {

void ClusterError::add(double sum, std::int64_t count) {
  if (count > 0) clusters_.push_back({sum, static_cast<double>(count)});
}

std::optional<double> ClusterError::value() const {
  if (clusters_.size() < 2) return std::nullopt;
  double sum = 0;
  double count = 0;
  for (const Cluster& each : clusters_) {
    sum += each.sum;
    count += each.count;
  }
  const double mean = sum / count;
  double squares = 0;
  for (const Cluster& each : clusters_)
    squares += (each.sum - mean * each.count) * (each.sum - mean * each.count);
  const auto k = static_cast<double>(clusters_.size());
  return std::sqrt(k / (k - 1) * squares) / count;
}

}  // namespace kvplan::frontier
