// Shared by the tests of synthetic traces: distances of distributions, and traces from the four parts.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/traces/support.h"
#include "traces/synth/synth.h"

namespace kvplan::traces::testing {

/// Kolmogorov-Smirnov: the square root of the number of values times the largest distance of their distribution from
/// `cdf`, evaluated at the values from `from` on.
double ks_distance(std::vector<double> values, const std::function<double(double)>& cdf,
                   double from = -std::numeric_limits<double>::infinity());
/// One sample in a thousand from the same distribution has a larger distance.
inline constexpr double kKsBound = 1.95;

/// The gamma distribution of scale 1: the regularised incomplete gamma function, by its series below shape + 1
/// and by a continued fraction above.
double gamma_cdf(double shape, double x);

/// The whole trace; a failed test if it cannot be made.
Trace synth(const SynthOptions& options);
/// The error, of the options or of the stream; "no error" if there is none.
std::string synth_error(const SynthOptions& options);

/// Times between one arrival and the next, in seconds, the first from 0.
std::vector<double> gaps_s(const Trace& trace);

}  // namespace kvplan::traces::testing
