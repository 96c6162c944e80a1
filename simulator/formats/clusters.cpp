#include "simulator/formats/clusters.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"

namespace kvplan::formats {
namespace {

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double out = 0;
  for (std::size_t c = 0; c < a.size(); ++c) out += (a[c] - b[c]) * (a[c] - b[c]);
  return out;
}

/// The point that draw `u` selects by distance; if all distances are 0, the lowest point not chosen yet.
std::size_t next_centre(const std::vector<double>& distance, const std::vector<bool>& chosen, double u) {
  double all = 0;
  for (const double d : distance) all += d;
  if (all == 0)
    return static_cast<std::size_t>(std::find(chosen.begin(), chosen.end(), false) - chosen.begin());
  double sum = 0;
  for (std::size_t i = 0; i < distance.size(); ++i) {
    sum += distance[i];
    if (sum > u * all) return i;
  }
  return distance.size() - 1;
}

Matrix first_centres(const Matrix& points, std::size_t count, Random& draws) {
  Matrix centres(count, points.columns);
  std::vector<bool> chosen(points.rows);
  std::vector<double> distance(points.rows);
  for (std::size_t k = 0; k < count; ++k) {
    const double u = draws.unit();
    const std::size_t at = k == 0 ? static_cast<std::size_t>(u * static_cast<double>(points.rows))
                                  : next_centre(distance, chosen, u);
    chosen[at] = true;
    std::copy(points.row(at).begin(), points.row(at).end(), centres.row(k).begin());
    for (std::size_t i = 0; i < points.rows; ++i) {
      const double d = squared_distance(points.row(i), points.row(at));
      distance[i] = k == 0 ? d : std::min(distance[i], d);
    }
  }
  return centres;
}

std::int32_t nearest(const Matrix& centres, std::span<const double> point) {
  std::size_t best = 0;
  double least = squared_distance(centres.row(0), point);
  for (std::size_t k = 1; k < centres.rows; ++k) {
    const double d = squared_distance(centres.row(k), point);
    if (d < least) {
      least = d;
      best = k;
    }
  }
  return static_cast<std::int32_t>(best);
}

void move_to_means(const Matrix& points, const std::vector<std::int32_t>& labels, Matrix& centres) {
  Matrix sums(centres.rows, centres.columns);
  std::vector<std::int64_t> sizes(centres.rows);
  for (std::size_t i = 0; i < points.rows; ++i) {
    const auto k = static_cast<std::size_t>(labels[i]);
    ++sizes[k];
    for (std::size_t c = 0; c < points.columns; ++c) sums.at(k, c) += points.at(i, c);
  }
  for (std::size_t k = 0; k < centres.rows; ++k)
    for (std::size_t c = 0; c < centres.columns && sizes[k] > 0; ++c)
      centres.at(k, c) = sums.at(k, c) / static_cast<double>(sizes[k]);
}

}  // namespace

Clusters cluster(const Matrix& points, std::int64_t clusters, std::int64_t rounds, Random draws) {
  KVPLAN_CHECK(points.rows > 0 && clusters > 0);
  const std::size_t count = std::min(static_cast<std::size_t>(clusters), points.rows);
  Clusters out{.centres = first_centres(points, count, draws), .labels = {}};
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<std::int32_t> labels;
    labels.reserve(points.rows);
    for (std::size_t i = 0; i < points.rows; ++i) labels.push_back(nearest(out.centres, points.row(i)));
    const bool same = labels == out.labels;
    out.labels = std::move(labels);
    if (same) break;
    move_to_means(points, out.labels, out.centres);
  }
  return out;
}

}  // namespace kvplan::formats
