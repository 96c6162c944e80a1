#include "validator/kernels/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simulator/base/check.h"
#include "simulator/base/json_writer.h"

namespace kvplan::validator {

Comparison compare_rows(std::span<const float> result, std::span<const double> reference, std::size_t row,
                        double tolerance) {
  KVPLAN_CHECK(result.size() == reference.size() && row > 0 && result.size() % row == 0);
  Comparison out{.tolerance = tolerance};
  double difference = 0, whole = 0, most = 0;
  std::size_t first_bad = result.size();
  for (std::size_t at = 0; at < result.size(); at += row) {
    double dot = 0, own = 0, other = 0;
    for (std::size_t i = at; i < at + row; ++i) {
      const double x = static_cast<double>(result[i]), r = reference[i];
      if (!std::isfinite(x)) {
        first_bad = std::min(first_bad, i);
        ++out.differing;
        continue;
      }
      const double d = x - r;
      difference += d * d;
      most = std::max(most, std::abs(d));
      dot += x * r;
      own += x * x;
      other += r * r;
    }
    whole += other;
    if (own > 0 && other > 0) out.worst_cosine = std::min(out.worst_cosine, dot / std::sqrt(own * other));
  }
  out.error = whole > 0 ? std::sqrt(difference / whole) : std::sqrt(difference);
  const double rms = std::sqrt(whole / static_cast<double>(std::max<std::size_t>(1, reference.size())));
  out.worst_over_rms = rms > 0 ? most / rms : most;
  if (out.differing > 0)
    out.first_problem = std::to_string(out.differing) + " results are not finite numbers, the first in row " +
                        std::to_string(first_bad / row) + ", place " + std::to_string(first_bad % row);
  else if (out.error > tolerance)
    out.first_problem = "relative error " + shortest(out.error) + ", tolerance " + shortest(tolerance);
  out.good = out.first_problem.empty();
  return out;
}

Comparison compare_bytes(std::span<const std::byte> result, std::span<const std::byte> reference,
                         const std::string& what) {
  Comparison out;
  if (result.size() != reference.size()) {
    out.differing = static_cast<std::int64_t>(std::max(result.size(), reference.size()));
    out.first_problem =
        what + ": " + std::to_string(result.size()) + " bytes, expected " + std::to_string(reference.size());
    return out;
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == reference[i]) continue;
    if (out.differing++ == 0)
      out.first_problem = what + ": byte " + std::to_string(i) + " is " +
                          std::to_string(std::to_integer<int>(result[i])) + ", expected " +
                          std::to_string(std::to_integer<int>(reference[i]));
  }
  if (out.differing > 0) out.first_problem += "; " + std::to_string(out.differing) + " bytes differ";
  out.good = out.differing == 0;
  return out;
}

Comparison both(const Comparison& a, const Comparison& b) {
  return {.good = a.good && b.good,
          .error = std::max(a.error, b.error),
          .worst_cosine = std::min(a.worst_cosine, b.worst_cosine),
          .worst_over_rms = std::max(a.worst_over_rms, b.worst_over_rms),
          .tolerance = std::max(a.tolerance, b.tolerance),
          .differing = a.differing + b.differing,
          .first_problem = a.first_problem.empty() ? b.first_problem : a.first_problem};
}

std::vector<float> values_of(std::span<const std::byte> bytes, Stored stored) {
  const auto width = static_cast<std::size_t>(bytes_of(stored));
  std::vector<float> values(bytes.size() / width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    values[i] = value_of(stored, bits);
  }
  return values;
}

}  // namespace kvplan::validator
