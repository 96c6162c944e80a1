#include "tests/unit/traces/synth_support.h"

#include <algorithm>
#include <cmath>

namespace kvplan::traces::testing {

double ks_distance(std::vector<double> values, const std::function<double(double)>& cdf, double from) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < from) continue;
    const double at = cdf(values[i]);
    distance = std::max({distance, static_cast<double>(i + 1) / n - at, at - static_cast<double>(i) / n});
  }
  return distance * std::sqrt(n);
}

double gamma_cdf(double shape, double x) {
  if (x <= 0) return 0;
  const double front = std::exp(-x + shape * std::log(x) - std::lgamma(shape));
  if (x < shape + 1) {
    double term = 1 / shape;
    double sum = term;
    for (double k = shape + 1; term > sum * 1e-16; ++k) sum += term *= x / k;
    return std::min(1.0, sum * front);
  }
  // Lentz's method for the continued fraction of the upper function.
  double b = x + 1 - shape;
  double c = 1e300;
  double d = 1 / b;
  double h = d;
  for (int i = 1; i < 100'000; ++i) {
    const double a = -i * (i - shape);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    h *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return 1 - front * h;
}

Trace synth(const SynthOptions& options) {
  Result<std::unique_ptr<TraceStream>> stream = make_synth(options);
  if (!stream.ok()) {
    ADD_FAILURE() << stream.error().to_string();
    return {};
  }
  Result<Trace> trace = collect(*stream.value());
  if (!trace.ok()) {
    ADD_FAILURE() << trace.error().to_string();
    return {};
  }
  return std::move(trace).value();
}

std::string synth_error(const SynthOptions& options) {
  Result<std::unique_ptr<TraceStream>> stream = make_synth(options);
  if (!stream.ok()) return stream.error().to_string();
  const Result<Trace> trace = collect(*stream.value());
  return trace.ok() ? "no error" : trace.error().to_string();
}

std::vector<double> gaps_s(const Trace& trace) {
  std::vector<double> out;
  std::int64_t before = 0;
  for (const std::int64_t at : trace.arrival_ns) {
    out.push_back(static_cast<double>(at - before) / 1e9);
    before = at;
  }
  return out;
}

}  // namespace kvplan::traces::testing
