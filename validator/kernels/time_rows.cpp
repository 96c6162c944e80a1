#include "validator/kernels/time_rows.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "simulator/base/program.h"

namespace kvplan::validator {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Sampling usual_sampling(const MachineFacts& machine, bool quick) {
  if (quick) return {.warm_ups = 1, .least = 3, .most = 5, .enough_ns = 2e6};
  if (machine.toolkit.empty())
    return {.warm_ups = 1, .least = 5, .most = 20, .enough_ns = 5e7, .interval = 0.02};
  return {.enough_ns = 5e7};
}

std::vector<Case> cases_in_turn(CaseSet set, const MachineFacts& machine, const std::string& kernel) {
  std::vector<std::vector<Case>> by_kernel;
  std::size_t most = 0;
  for (const Kernel& each : catalogue()) {
    if (!kernel.empty() && each.name != kernel) continue;
    by_kernel.push_back(each.cases(set, machine));
    most = std::max(most, by_kernel.back().size());
  }
  std::vector<Case> all;
  for (std::size_t i = 0; i < most; ++i)
    for (std::vector<Case>& own : by_kernel)
      if (i < own.size()) all.push_back(std::move(own[i]));
  return all;
}

Result<TimedRows> time_rows(Machine& machine, const std::vector<Case>& all, const Sampling& sampling,
                            double end_s) {
  TimedRows out;
  double first = 0, again_at = now_s() + 60;
  const auto repeat = [&]() -> Status {
    KVPLAN_TRY(const Timing timing, time_case(machine, all.front(), true, sampling));
    const double drift = timing.ns.median / first - 1;
    if (std::abs(drift) > std::abs(out.drift)) out.drift = drift;
    return Done{};
  };
  for (const Case& of : all) {
    if (interrupted()) return interrupted_error();
    if (now_s() >= end_s) break;
    KVPLAN_TRY(Timing timing, time_case(machine, of, true, sampling));
    if (out.rows.empty()) first = timing.ns.median;
    out.rows.push_back({of, std::move(timing)});
    if (now_s() < again_at) continue;
    KVPLAN_TRY_DO(repeat());
    again_at = now_s() + 60;
  }
  if (out.rows.size() > 1) KVPLAN_TRY_DO(repeat());
  out.left = static_cast<std::int64_t>(all.size() - out.rows.size());
  return out;
}

}  // namespace kvplan::validator
