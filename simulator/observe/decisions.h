// The decisions of the scheduler, step by step: requests admitted, preempted and finished, and pieces of prompts that
// are computed. They show the life of a request, and the first step in which two runs differ.
//
// Steps that only decode decide nothing and are counted, not stored. Memory grows with admissions, preemptions and
// pieces of prompts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/core/observer.h"

namespace kvplan::observe {

struct Decision {
  enum class Kind : std::uint8_t {
    kAdmit,    ///< `tokens`: those of the prefix hit
    kReadmit,  ///< after a preemption; `tokens` likewise
    kChunk,    ///< a piece of a prompt, or of what is recomputed; `tokens` are computed
    kPreempt,  ///< `tokens` had been written and are lost
    kFinish,   ///< recorded with the step that begins then; `tokens` were written
  };
  Kind kind{Kind::kAdmit};
  RequestId request{kNoRequest};
  std::int64_t tokens{0};
  bool operator==(const Decision&) const = default;
};

/// A step with decisions.
struct DecidedStep {
  std::int64_t step{0};  ///< its number among all steps of the replica, from 0
  SimTime begin, end;    ///< end of the step; `begin` if no step followed the pass
  std::size_t first{0};  ///< index of its first decision
};

/// The observer for one replica.
class Decisions final : public core::Observer {
 public:
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  [[nodiscard]] const DecidedStep& step(std::size_t i) const { return steps_[i]; }
  [[nodiscard]] std::span<const Decision> of(std::size_t i) const;

  void on_pass_begin(SimTime time) override;
  void on_preempt(const core::Release& release) override;
  void on_admit(const core::Admission& admission) override;
  void on_chunk(const core::Chunk& chunk) override;
  void on_steps(const core::Steps& steps) override;
  void on_decode_run(const core::DecodeRun& run) override;
  void on_finish(SimTime time, const core::Release& release) override;
  [[nodiscard]] bool follows_decode_runs() const override { return true; }

 private:
  void add(Decision decision, SimTime time);
  void steps_until(std::int64_t steps, SimTime end);

  std::vector<Decision> decisions_;
  std::vector<DecidedStep> steps_;
  SimTime now_{};
  std::int64_t step_{0};  ///< number of the step that the current pass decides
};

}  // namespace kvplan::observe
