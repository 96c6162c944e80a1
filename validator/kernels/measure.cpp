#include "validator/kernels/measure.h"

#include <algorithm>
#include <cmath>

#include "simulator/base/check.h"
#include "simulator/base/program.h"
#include "validator/kernels/memory_of_case.h"

namespace kvplan::validator {
namespace {

constexpr std::int64_t kCachesOfCold = 5;
constexpr std::int64_t kMostCopies = 256;
constexpr std::int64_t kLeastCalls = 8;  // of a sample: spreads the cost of a graph's begin and end

Result<std::unique_ptr<Problem>> make_problem(const Case& of, Purpose purpose, const Machine& machine) {
  KVPLAN_TRY(const Kernel* const kernel, find_kernel(of.kernel));
  return kernel->make(of, purpose, machine.facts());
}

bool enough(const std::vector<double>& samples, double sum, const Sampling& sampling) {
  const auto taken = static_cast<std::int64_t>(samples.size());
  if (taken >= sampling.most) return true;
  if (taken < sampling.least) return false;
  if (sum >= sampling.enough_ns) return true;
  const OrderStatistics so_far = order_statistics(samples);
  return std::max(so_far.high - so_far.median, so_far.median - so_far.low) <=
         sampling.interval * so_far.median;
}

/// As many copies as fill five caches, but at most half of the memory that is still free.
Result<std::int64_t> copies_for(Machine& machine, const Problem& problem) {
  const std::int64_t one = MemoryOfCase::rotating_bytes(problem);
  if (one == 0) return std::int64_t{1};
  KVPLAN_TRY(const std::int64_t free, machine.free_bytes());
  const std::int64_t wanted = (kCachesOfCold * machine.facts().cache_bytes + one - 1) / one;
  const std::int64_t room = (free / 2 - MemoryOfCase::fixed_bytes(problem)) / one;
  return std::clamp<std::int64_t>(std::min(wanted, room), 1, kMostCopies);
}

}  // namespace

OrderStatistics order_statistics(std::vector<double> values) {
  KVPLAN_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const auto tenths = [&](std::size_t count) { return values[(n * count + 9) / 10 - 1]; };
  const double middle = static_cast<double>(n) / 2, half = 0.98 * std::sqrt(static_cast<double>(n));
  const auto ranked = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(rank, 1.0, static_cast<double>(n))) - 1];
  };
  return {.samples = static_cast<std::int64_t>(n),
          .median = n % 2 == 1 ? values[n / 2] : values[n / 2 - 1] + (values[n / 2] - values[n / 2 - 1]) / 2,
          .p10 = tenths(1),
          .p90 = tenths(9),
          .low = ranked(std::floor(middle - half)),
          .high = ranked(std::ceil(middle + half) + 1)};
}

Result<Checked> check_case(Machine& machine, const Case& of) {
  KVPLAN_TRY(const std::unique_ptr<Problem> problem, make_problem(of, Purpose::kCheck, machine));
  KVPLAN_TRY(MemoryOfCase memory, MemoryOfCase::take(machine, *problem, 1));
  const std::vector<Launch> launches = problem->launches(memory.addresses(0));
  std::vector<std::vector<std::vector<std::byte>>> runs;
  for (int run = 0; run < 2; ++run) {
    KVPLAN_TRY_DO(memory.reset());
    KVPLAN_TRY_DO(machine.run(launches));
    KVPLAN_TRY(auto results, memory.results());
    runs.push_back(std::move(results));
  }
  Checked checked{.comparison = problem->compare(runs[0]), .notes = problem->notes()};
  if (runs[0] != runs[1] && checked.comparison.good) {
    checked.comparison.good = false;
    checked.comparison.first_problem = "two runs on the same input differ";
  }
  return checked;
}

Result<std::vector<std::vector<std::byte>>> results_of(Machine& machine, const Problem& problem) {
  KVPLAN_TRY(MemoryOfCase memory, MemoryOfCase::take(machine, problem, 1));
  KVPLAN_TRY_DO(memory.reset());
  KVPLAN_TRY_DO(machine.run(problem.launches(memory.addresses(0))));
  return memory.results();
}

Result<Timing> time_case(Machine& machine, const Case& of, bool cold, const Sampling& sampling) {
  KVPLAN_TRY(const std::unique_ptr<Problem> problem, make_problem(of, Purpose::kTime, machine));
  std::int64_t copies = 1;
  if (cold) {
    KVPLAN_TRY(copies, copies_for(machine, *problem));
  }
  KVPLAN_TRY(const MemoryOfCase memory, MemoryOfCase::take(machine, *problem, copies));
  const std::int64_t least_calls = machine.facts().toolkit.empty() ? 1 : kLeastCalls;  // no graph on the host
  Timing timing{.cold = cold,
                .copies = std::max(copies, least_calls),
                .roofline = problem->roofline(),
                .notes = problem->notes()};
  std::vector<Launch> launches;
  for (std::int64_t i = 0; i < timing.copies; ++i) {
    const auto once = problem->launches(memory.addresses(i % copies));
    launches.insert(launches.end(), once.begin(), once.end());
  }
  KVPLAN_TRY(const std::unique_ptr<Timed> timed, machine.prepare(launches));
  for (std::int64_t i = 0; i < sampling.warm_ups; ++i) KVPLAN_TRY_DO(timed->sample());
  for (double sum = 0; !enough(timing.samples, sum, sampling);) {
    if (interrupted()) return interrupted_error();
    KVPLAN_TRY(const double ns, timed->sample());
    sum += ns;
    timing.samples.push_back(ns / static_cast<double>(timing.copies));
  }
  timing.ns = order_statistics(timing.samples);
  return timing;
}

}  // namespace kvplan::validator
