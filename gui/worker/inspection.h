// A run with everything that views show about single requests: records, held memory, and the scheduler's decisions. It
// is computed once per result, when a view needs it, so that sliders stay fast.
#pragma once

#include <memory>
#include <vector>

#include "simulator/run/run.h"
#include "simulator/study/parting.h"

namespace kvplan::gui {

struct Inspection {
  runs::RunResult run;                    ///< with records and held memory
  std::vector<runs::DecidedPtr> decided;  ///< by replica
};
using InspectionPtr = std::shared_ptr<const Inspection>;

/// Errors: those of runs::run_scenario.
Result<InspectionPtr> inspect(const runs::Scenario& scenario, const traces::Trace& trace,
                              const runs::Openers& openers, core::RunControl& control);

/// A part of a request's life.
struct LifePart {
  enum class Kind : std::uint8_t {
    kQueue,      ///< arrived, never scheduled
    kPrefill,    ///< a piece of its prompt is computed
    kDecode,     ///< it runs: one token a step
    kPreempted,  ///< it has lost its memory and waits
    kRecompute,  ///< a piece of the tokens that a preemption lost is computed again
  };
  Kind kind{Kind::kQueue};
  std::int64_t begin{0}, end{0};  ///< ticks
  std::int64_t tokens{0};         ///< computed in a piece, or lost by the preemption
};

/// The life of a request from its arrival to its end, without gaps; empty if it never arrived.
std::vector<LifePart> life_of(const Inspection& inspection, std::size_t request);

/// One preemption and its cost.
struct Preemption {
  std::int64_t time{0};     ///< ticks
  std::int64_t request{0};  ///< position in the trace
  std::int64_t replica{0};
  std::int64_t lost_tokens{0};          ///< written before it
  std::int64_t hit_again_tokens{0};     ///< of them, found in the prefix cache when it was admitted again
  std::optional<std::int64_t> resumed;  ///< ticks; absent if the run ended before
};
/// All preemptions, in the order of time.
std::vector<Preemption> preemptions_of(const Inspection& inspection);

}  // namespace kvplan::gui
