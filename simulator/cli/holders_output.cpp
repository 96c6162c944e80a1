#include "simulator/cli/holders_output.h"

#include "simulator/observe/holders.h"

namespace kvplan::cli {

HoldersOutput::HoldersOutput() = default;
HoldersOutput::~HoldersOutput() = default;

Status HoldersOutput::attach(const std::string& at_s, const plan::Scenario& scenario,
                             plan::RunOptions& options) {
  constexpr int kTicksOfNs = 10;  // 2^10
  const bool plain = !at_s.empty() && at_s.find_first_not_of("0123456789.") == std::string::npos;
  const auto ticks = plain ? decimal_times_power_of_two(at_s + "e9", kTicksOfNs) : std::nullopt;
  if (!ticks || *ticks > core::kLastTick)
    return bad_input("expected seconds from 0 to 4.5 million, found \"" + at_s + "\"")
        .at_field("--holders-at");
  options.step_by_step = true;
  options.extra_observer = [this, &scenario, moment = SimTime{Ticks{*ticks}}](
                               std::int64_t /*replica*/, const core::Workload& workload,
                               const observe::Ledger& ledger,
                               const core::Allocator& /*allocator*/) -> Result<core::Observer*> {
    if (scenario.replicas > 1)
      return bad_input("a table of holders is of one replica, expected fleet.replicas=1, found " +
                       std::to_string(scenario.replicas))
          .at_field("--holders");
    if (scenario.follows_courses())
      return bad_input("expected a policy that keeps or drops whole tokens and leaves holes, found \"" +
                       scenario.eviction->to_string() + "\"")
          .at_field("--holders");
    if (!ledger.layout().groups.empty())
      return bad_input("expected blocks that span all layers: a table of holders knows no groups of layers")
          .at_field("--holders");
    holders_ = std::make_unique<observe::Holders>(workload, ledger, scenario.keep, moment);
    return static_cast<core::Observer*>(holders_.get());
  };
  return Done{};
}

std::string HoldersOutput::csv() const {
  return holders_->csv();
}

}  // namespace kvplan::cli
