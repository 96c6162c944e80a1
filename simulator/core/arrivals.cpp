#include "simulator/core/arrivals.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::core {

Arrivals::Arrivals(const Workload& workload, std::span<const RequestId> requests)
    : workload_(workload), timed_(requests) {
  if (workload.turns.present()) {
    left_ = workload.turns.waits_for;
    for (const RequestId r : requests)
      if (left_[index(r)] == 0) starters_.push_back(r);
    timed_ = starters_;
  }
  if (workload.clients > 0) {
    shared_list_ = timed_;
    timed_ = {};
    for (std::int64_t client = 0; client < workload.clients; ++client) send_next(SimTime{});
  }
  find_next();
}

void Arrivals::find_next() {
  next_ = next_timed();
  if (!caused_.empty() && caused_.least().key() < next_.key()) next_ = caused_.least();
}

Arrivals::Arrival Arrivals::take() {
  const Arrival taken = next_;
  KVPLAN_CHECK(taken.request != kNoRequest);
  if (!caused_.empty() && caused_.least().request == taken.request) {
    caused_.take();
  } else {
    ++cursor_;
  }
  find_next();
  return taken;
}

void Arrivals::send_next(SimTime time) {
  if (sent_ == shared_list_.size()) return;
  caused_.put({time, shared_list_[sent_++]});
}

void Arrivals::ended(RequestId request, SimTime time) {
  if (workload_.clients > 0) {
    send_next(time + workload_.client_think);
    find_next();
    return;
  }
  if (!workload_.turns.present()) return;
  for (const std::int32_t follower : workload_.turns.followers_of(number(request))) {
    const auto i = static_cast<std::size_t>(follower);
    if (--left_[i] > 0) continue;
    caused_.put({std::max(workload_.arrival[i], time + workload_.think[i]), RequestId{follower}});
  }
  find_next();
}

}  // namespace kvplan::core
