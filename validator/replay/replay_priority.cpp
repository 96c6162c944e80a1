// Scheduler steps of vLLM V1 by priority. The preempted request may have been scheduled before, and may be the one
// that needs memory; then the scheduler does not reach any request after it. What running requests compute is
// reported when that is over, oldest first.
#include <algorithm>
#include <tuple>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {
namespace {

/// The greatest gives way.
auto standing(const Request& r) {
  return std::tuple(r.priority, r.arrival, r.id);
}

}  // namespace

/// True: the fact may be reported of the request now. With the first fact about computing, running requests are
/// reported once more, oldest first.
bool Replay::Impl::follows_priority(const Request& r, Stage stage) {
  PriorityPass& pass = by_priority_;
  pass.gave_way.reset();
  const bool runs = r.rank < first_admitted_;
  if (runs && stage == kGranted) return !pass.computing && (!pass.reached || r.rank < *pass.reached);
  if (runs && !pass.computing) order_ = -1;
  pass.computing = true;
  return true;
}

Status Replay::Impl::check_last_by_priority(const Request& r) {
  if (by_priority_.computing) return contradict(r.id, "is preempted when all running requests are scheduled");
  if (by_priority_.reached)
    return contradict(r.id, "is preempted after another request was preempted for its own growth");
  for (const RequestId id : running_)
    if (standing(requests_.at(id)) > standing(r))
      return contradict(
          r.id, "is preempted, but request " + std::to_string(number(id)) + " must be preempted first");
  return Done{};
}

Status Replay::Impl::on(const log::HoldBack& f) {
  if (phase_ != Phase::kPass || !header_.by_priority)
    return contradict(f.request, "is held back, but no request is");
  PriorityPass& pass = by_priority_;
  if (!pass.reached && pass.gave_way) pass.reached = pass.held_until = *pass.gave_way;
  if (!pass.reached || pass.computing)
    return contradict(f.request, "is held back, but no request was preempted for its own growth");
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

/// No request after the one preempted by its own growth computes.
Status Replay::Impl::check_all_held_back() {
  if (!by_priority_.reached) return Done{};
  for (const RequestId id : running_) {
    const Request& r = requests_.at(id);
    if (r.rank < *by_priority_.reached) continue;
    if (r.whole ? !r.held_back : r.chunk > 0)
      return contradict(id, "computes, but an earlier request was preempted for its own growth");
  }
  return Done{};
}

bool Replay::Impl::some_request_computes() const {
  return std::ranges::any_of(running_, [&](RequestId id) {
    const Request& r = requests_.at(id);
    return r.chunk > 0 || (r.whole && !r.held_back);
  });
}

}  // namespace kvplan::validator
