// Runs cases on a machine, checks their results and measures their times.
//
// One sample is one replay of a graph. Cold: the graph runs the case on each of several copies of its memory, together
// five times the cache, and the time is divided by their number, so that data are never in the cache. Warm: one copy
// several times. In serving, weights and other layers are read between two reads of the same cache, so cold is the
// realistic case. Sampling ends when there are at least `least` samples and the 95 % interval of the median is within
// `interval` of it on either side, or when `enough_ns` have passed. Data are random, never zeros. Clocks are read and
// never set.
#pragma once

#include <cstdint>
#include <vector>

#include "validator/kernels/catalogue.h"
#include "validator/kernels/machine.h"

namespace kvplan::validator {

struct Sampling {
  std::int64_t warm_ups{2}, least{10}, most{200};
  double enough_ns{1e8};
  double interval{0.01};  ///< half width of the interval, relative to the median
};

/// Order statistics of a sample. The 95 % interval of the median is between the samples of rank n/2 -+ 0.98 sqrt(n).
struct OrderStatistics {
  std::int64_t samples{0};
  double median{0}, p10{0}, p90{0}, low{0}, high{0};
};
/// REQUIRES: at least one value.
OrderStatistics order_statistics(std::vector<double> values);

struct Timing {
  std::vector<double> samples{};  ///< nanoseconds of one call, in the order of measurement
  OrderStatistics ns{};
  bool cold{false};
  std::int64_t copies{1};  ///< calls in one sample
  Roofline roofline{};
  std::vector<std::pair<std::string, double>> notes{};
};

struct Checked {
  Comparison comparison;
  std::vector<std::pair<std::string, double>> notes{};
};

/// Runs the case twice with poisoned result memory; if the two runs differ, that is an error of its own (a race).
/// Errors: those of the machine, or a case that the kernel cannot run. A wrong result is a value, not an error.
Result<Checked> check_case(Machine& machine, const Case& of);

/// The bytes of each result region after one run. Errors: the machine's. REQUIRES: made with Purpose::kCheck.
Result<std::vector<std::vector<std::byte>>> results_of(Machine& machine, const Problem& problem);

/// Errors: as above, and too little memory.
Result<Timing> time_case(Machine& machine, const Case& of, bool cold, const Sampling& sampling = {});

}  // namespace kvplan::validator
