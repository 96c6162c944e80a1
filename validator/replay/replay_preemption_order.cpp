// Which running request is preempted first: the one that was admitted last; in vLLM V1 with priorities, the last one in
// the order of priority. With priorities, the preempted request may have been scheduled already, and may be the one
// that needs memory; then the scheduler does not reach any request after it. What running requests compute is reported
// after all preemptions, oldest request first.
#include <algorithm>
#include <tuple>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {
namespace {

/// The request with the greatest key is preempted first.
auto priority_key(const Request& r) {
  return std::tuple(r.priority, r.arrival, r.id);
}

}  // namespace

void Replay::Impl::begin_pass_order() {
  if (!header_.rules.by_priority) return;
  pass_order_ = {};
  for (const RequestId id : running_) requests_.at(id).held_back = false;
}

/// True if the fact may be reported for the request now. With the first fact about computing, running requests are
/// reported once more, oldest first.
bool Replay::Impl::follows_pass_order(const Request& r, Stage stage) {
  if (!header_.rules.by_priority) return true;
  PassOrder& pass = pass_order_;
  pass.gave_way.reset();
  const bool runs = r.rank < first_admitted_;
  if (runs && stage == kGranted) return !pass.computing && (!pass.reached || r.rank < *pass.reached);
  if (runs && !pass.computing) order_ = -1;
  pass.computing = true;
  return true;
}

Replay::Impl::Stage Replay::Impl::latest_stage_of_victim() const {
  return header_.rules.by_priority ? kGranted : kNothing;
}

Status Replay::Impl::check_preempted_first(const Request& r) {
  if (!header_.rules.by_priority)
    return running_.back() == r.id ? Status(Done{})
                                   : contradict(r.id, "is preempted, but was not admitted last");
  if (pass_order_.computing) return contradict(r.id, "is preempted when all running requests are scheduled");
  if (pass_order_.reached) return contradict(r.id, "is preempted after another request preempted itself");
  for (const RequestId id : running_)
    if (priority_key(requests_.at(id)) > priority_key(r))
      return contradict(
          r.id, "is preempted, but request " + std::to_string(number(id)) + " must be preempted first");
  pass_order_.gave_way = r.rank;  // until it is known which request asked
  return Done{};
}

void Replay::Impl::preempted_for(const Request& asks, const Request& victim) {
  if (!header_.rules.by_priority) return;
  pass_order_.gave_way.reset();
  if (asks.id == victim.id) pass_order_.reached = pass_order_.held_until = victim.rank;
}

Status Replay::Impl::on(const log::HoldBack& f) {
  if (phase_ != Phase::kPass || !header_.rules.by_priority)
    return contradict(f.request, "is held back, but no request is");
  PassOrder& pass = pass_order_;
  if (!pass.reached && pass.gave_way) pass.reached = pass.held_until = *pass.gave_way;
  if (!pass.reached || pass.computing)
    return contradict(f.request, "is held back, but no request preempted itself");
  const auto next = std::ranges::find_if(running_, [&](RequestId id) {
    const Request& r = requests_.at(id);
    return r.whole && r.rank > pass.held_until;
  });
  if (next == running_.end() || *next != f.request) return contradict(f.request, "is held back out of order");
  Request& r = requests_.at(f.request);
  pass.held_until = r.rank;
  r.held_back = true;
  mixed_ = true;
  return Done{};
}

/// Checks that no request after one that was preempted by its own growth computes.
Status Replay::Impl::check_all_held_back() {
  if (!pass_order_.reached) return Done{};
  for (const RequestId id : running_) {
    const Request& r = requests_.at(id);
    if (r.rank < *pass_order_.reached) continue;
    if (r.whole ? !r.held_back : r.chunk > 0)
      return contradict(id, "computes, but an earlier request preempted itself");
  }
  return Done{};
}

bool Replay::Impl::any_request_computes() const {
  if (!header_.rules.by_priority) return !running_.empty();
  return std::ranges::any_of(running_, [&](RequestId id) {
    const Request& r = requests_.at(id);
    return r.chunk > 0 || (r.whole && !r.held_back);
  });
}

}  // namespace kvplan::validator
