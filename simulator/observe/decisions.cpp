#include "simulator/observe/decisions.h"

namespace kvplan::observe {

std::span<const Decision> Decisions::of(std::size_t i) const {
  const std::size_t end = i + 1 < steps_.size() ? steps_[i + 1].first : decisions_.size();
  return std::span(decisions_).subspan(steps_[i].first, end - steps_[i].first);
}

void Decisions::add(Decision decision, SimTime time) {
  if (steps_.empty() || steps_.back().step != step_ || steps_.back().begin != time)
    steps_.push_back({step_, time, time, decisions_.size()});
  decisions_.push_back(decision);
}

void Decisions::on_pass_begin(SimTime time) {
  now_ = time;
}

void Decisions::on_preempt(const core::Release& release) {
  add({Decision::Kind::kPreempt, release.request, release.written}, now_);
}

void Decisions::on_admit(const core::Admission& admission) {
  add({admission.again ? Decision::Kind::kReadmit : Decision::Kind::kAdmit, admission.request,
       admission.hit_tokens},
      now_);
}

void Decisions::on_chunk(const core::Chunk& chunk) {
  add({Decision::Kind::kChunk, chunk.request, chunk.tokens}, now_);
}

void Decisions::steps_until(std::int64_t steps, SimTime end) {
  if (!steps_.empty() && steps_.back().step == step_ && steps == 1) steps_.back().end = end;
  step_ += steps;
}

void Decisions::on_steps(const core::Steps& steps) {
  steps_until(steps.series.steps, steps.end);
}

void Decisions::on_decode_run(const core::DecodeRun& run) {
  steps_until(run.series.steps, run.end);
}

void Decisions::on_finish(SimTime time, const core::Release& release) {
  // A step ends before the next pass begins: the decision is recorded with the step that begins then.
  add({Decision::Kind::kFinish, release.request, release.written}, time);
}

}  // namespace kvplan::observe
