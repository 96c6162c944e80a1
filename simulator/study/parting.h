// The first step in which the schedulers of two runs decided differently. Times are not compared: two runs with other
// step times and the same decisions in the same order do not differ.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/observe/decisions.h"
#include "simulator/run/run.h"

namespace kvplan::runs {

using DecidedPtr = std::unique_ptr<const observe::Decisions>;

struct Parting {
  std::int64_t replica{0};
  std::int64_t step{0};            ///< number of the step of the replica
  std::optional<SimTime> a_begin;  ///< when it began; absent if that run has no such decision
  std::optional<SimTime> b_begin;
  std::vector<observe::Decision> only_a, only_b;  ///< decisions of the step that the other run lacks
  /// The earlier of the times at which the step began.
  [[nodiscard]] SimTime time() const;
};

/// The decisions of a run, by replica, as the run is observed.
class Decided {
 public:
  /// An observer for RunOptions::extra_observers. This object outlives the run.
  [[nodiscard]] ObserverMaker observer();
  [[nodiscard]] std::span<const DecidedPtr> replicas() const { return replicas_; }

 private:
  std::vector<DecidedPtr> replicas_;
};

/// By replica; replicas that only one run has are ignored. Absent: the runs never differ.
std::optional<Parting> parting_of(std::span<const DecidedPtr> a, std::span<const DecidedPtr> b);

/// "admits request 12", "preempts request 7, which loses 512 tokens".
std::string decision_text(const observe::Decision& decision);

}  // namespace kvplan::runs
