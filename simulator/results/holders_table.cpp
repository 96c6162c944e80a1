#include "simulator/results/holders_table.h"

#include "simulator/base/check.h"
#include "simulator/observe/holders.h"
#include "simulator/retention/run_tokens.h"

namespace kvplan::runs {

HoldersTable::HoldersTable() = default;
HoldersTable::~HoldersTable() = default;

Status HoldersTable::attach(const std::string& at_s, const Scenario& scenario, RunOptions& options) {
  constexpr int kTicksOfNs = 10;  // 2^10
  const bool plain = !at_s.empty() && at_s.find_first_not_of("0123456789.") == std::string::npos;
  const auto ticks = plain ? decimal_times_power_of_two(at_s + "e9", kTicksOfNs) : std::nullopt;
  if (!ticks || *ticks > core::kLastTick)
    return bad_input("expected seconds from 0 to 4.5 million, found \"" + at_s + "\"")
        .at_field("--holders-at");
  options.step_by_step = true;
  options.extra_observers_on_threads = false;
  options.extra_observers.push_back(
      [this, &scenario, moment = SimTime{Ticks{*ticks}}](const Watched& watched) -> Result<core::Observer*> {
        RunParts parts = watched.tokens.parts;
        parts.add(Part::kHolders);
        KVPLAN_TRY_DO(check_combinations(parts, scenario, Known::kMemory));
        KVPLAN_CHECK(watched.replica == static_cast<std::int64_t>(holders_.size()), watched.replica);
        holders_.push_back(
            std::make_unique<observe::Holders>(watched.workload, watched.ledger, scenario.keep, moment));
        return static_cast<core::Observer*>(holders_.back().get());
      });
  return Done{};
}

std::string HoldersTable::csv() const {
  std::string out = observe::Holders::csv_header();
  for (std::size_t replica = 0; replica < holders_.size(); ++replica)
    out += holders_[replica]->csv(static_cast<std::int64_t>(replica));
  return out;
}

}  // namespace kvplan::runs
