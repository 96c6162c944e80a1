// Replays a log of several replicas: each on its own memory. Their sums at the end of each tick are computed from the
// recounted memory. Replicas share nothing but the clock.
//
// Between two facts of a replica its steps go on. So that a sum holds for one moment, the tokens of all steps that have
// ended by then are written first, in all replicas.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "validator/replay/backend.h"
#include "validator/replay/fleet_order.h"
#include "validator/replay/replay.h"

namespace kvplan::validator {

/// Life cycle: as Replay.
class FleetReplay {
 public:
  /// REQUIRES: a log of several replicas. Errors: more cells than allowed, over all replicas, or a backend without
  /// memory.
  static Result<std::unique_ptr<FleetReplay>> create(const event_log::Header& header,
                                                     const BackendMaker& make_backend,
                                                     const ReplayOptions& options = {});
  ~FleetReplay();
  FleetReplay(const FleetReplay&) = delete;
  FleetReplay& operator=(const FleetReplay&) = delete;

  Status apply(const event_log::Record& record);
  [[nodiscard]] bool stopped() const { return report_.contradiction; }
  /// The totals, with a report of each replica. Quantities of a replica have its name.
  Result<Report> finish();
  /// Description of the device, for reports.
  [[nodiscard]] std::string device() const;

 private:
  struct Member;
  /// Sums over all replicas at a moment.
  struct Sum {
    event_log::Totals totals{};
    std::int64_t running{0};
  };

  explicit FleetReplay(std::int64_t replicas);
  Status apply_to(Member& member, const event_log::Record& record);
  Status step_all_to(std::int64_t time);
  Status end_tick(const event_log::Record& record);
  void end_all(const event_log::Record& record);
  void look_at(Member& member);
  void add_up(Member& member);
  void contradict(const std::string& what);
  void note(const std::string& what);
  void compare(std::int64_t claimed, std::int64_t found, const std::string& what, std::int64_t& mismatches);
  void add_quantities();

  FleetOrder order_;
  std::vector<std::unique_ptr<Member>> members_;
  std::set<std::pair<std::int64_t, std::size_t>>
      step_ends_;                     ///< end of the next step of each replica with steps in progress
  std::vector<std::size_t> changed_;  ///< replicas that changed since sums were computed
  Sum now_;
  bool pass_left_running_{false};  ///< at this tick: a pass left requests running
  Report report_;
  std::int64_t joint_byte_mismatches_{0}, joint_count_mismatches_{0};
  std::int64_t least_available_{INT64_MAX};
  event_log::JointPeak peak_, claimed_peak_;  ///< computed by the replay, and claimed by the log
  event_log::Totals most_claimed_{}, most_found_{};
};

}  // namespace kvplan::validator
