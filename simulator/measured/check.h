// A run held against what was measured on a real server: the error of each quantity, and where the largest one most
// likely comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/measured/measured_file.h"
#include "simulator/run/run.h"

namespace kvplan::measured {

struct Quantity {
  std::string name;                 ///< as in Measured
  std::optional<double> predicted;  ///< absent if the run has no such figure
  double measured{0};
  /// predicted / measured - 1; absent where predicted is missing or measured is 0.
  std::optional<double> error{};
};
Quantity quantity_of(std::string name, std::optional<double> predicted, double measured);

/// Where an error most likely comes from. The rule, in this order; an error of at most 5 % is none:
///   pool             the pool differs by more than 2 % and the run was short of memory
///   scheduler limit  TTFT and TPOT err in opposite directions: another number of requests runs at once, so that they
///                    wait longer and decode faster, or the reverse. If the run was short of memory: pool
///   step             TPOT errs
///   outside          TPOT holds and TTFT is too short, or too long by no more than what requests take outside the
///                    engine
///   step             TPOT holds and TTFT is longer than that: steps of prompts
enum class Cause : std::uint8_t { kNone, kPool, kSchedulerLimit, kStep, kOutside };
std::string_view cause_name(Cause cause);

struct Check {
  std::vector<Quantity> quantities;  ///< in the order of the files
  Cause cause{Cause::kNone};
  std::string why;                    ///< a sentence
  std::vector<std::string> warnings;  ///< the run served another workload than the one that was measured
};

/// Errors (field): two files measured the same quantity.
Result<Check> check_run(const runs::RunResult& run, const std::vector<Measured>& measured);

}  // namespace kvplan::measured
