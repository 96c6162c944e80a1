#include "simulator/observe/requests.h"

namespace kvplan::observe {

void RequestRecords::on_arrival(SimTime time, RequestId request, bool accepted) {
  at(request).arrival = time;
  at(request).status = accepted ? RequestStatus::kUnfinished : RequestStatus::kRejected;
}

void RequestRecords::on_admit(const core::Admission& admission) {
  RequestRecord& record = at(admission.request);
  if (!record.scheduled) {
    record.scheduled = true;
    record.first_scheduled = now_;
  }
  record.latest_hit_tokens = static_cast<std::int32_t>(admission.hit_tokens);
  if (admission.again)
    record.rehit_tokens += admission.hit_tokens;
  else
    record.prefix_hit_tokens = record.latest_hit_tokens;
}

void RequestRecords::on_chunk(const core::Chunk& chunk) {
  if (recomputes_) at(chunk.request).latest_hit_tokens = static_cast<std::int32_t>(chunk.tokens - 1);
}

void RequestRecords::count_computed(const core::Release& release) {
  const std::int64_t before = at(release.request).latest_hit_tokens;
  // All tokens in the first step, then one more in each step: the sum of the numbers from before + 1 to written.
  at(release.request).computed_tokens += recomputes_
                                             ? (release.written - before) * (release.written + before + 1) / 2
                                             : release.written - before;
}

void RequestRecords::on_preempt(const core::Release& release) {
  ++at(release.request).preemptions;
  count_computed(release);
}

void RequestRecords::on_steps(const core::Steps& steps) {
  iterations_ += steps.series.steps;
  const std::int64_t k = steps.series.steps;
  computed_tokens_ += k * steps.pass.load.tokens + k * (k - 1) / 2 * steps.pass.growth.tokens;
}

void RequestRecords::on_decode_run(const core::DecodeRun& decode_run) {
  on_steps({decode_run.pass, decode_run.series, decode_run.end});
}

void RequestRecords::on_first_token(SimTime time, RequestId request) {
  at(request).has_first_token = true;
  at(request).first_token = time;
}

void RequestRecords::on_finish(SimTime time, const core::Release& release) {
  RequestRecord& record = at(release.request);
  record.status = RequestStatus::kCompleted;
  record.finish = time;
  count_computed(release);
}

}  // namespace kvplan::observe
