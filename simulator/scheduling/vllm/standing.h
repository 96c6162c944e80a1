// Who is asked first and who gives way, by vLLM's policy "priority"; and the queue under either policy.
//
// vllm-project/vllm v0.15.1: Request.__lt__ (vllm/v1/request.py), PriorityRequestQueue
// (vllm/v1/core/sched/request_queue.py) and the running loop of vllm/v1/core/sched/scheduler.py. The least number is
// asked first. Requests that arrive at one moment do so one after the other, in the order of the trace: vLLM's clock
// stamps no two alike. (If it did, who gives way would be the first of them in the running list, which could be the one
// that asks for room, again and again, so that nobody is ever done.)
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan::scheduling::vllm {

/// The lesser is asked first.
struct Standing {
  std::int32_t priority{0};
  SimTime arrival{};
  RequestId request{0};
  auto operator<=>(const Standing&) const = default;
};

/// The queue: in order of arrival, with those that were preempted before all others; or by standing.
class Waiting {
 public:
  explicit Waiting(bool by_priority) : by_priority_(by_priority) {}

  void join(const Standing& who) { by_priority_ ? push(who) : line_.push_back(who.request); }
  void come_back(const Standing& who) { by_priority_ ? push(who) : line_.push_front(who.request); }

  [[nodiscard]] bool empty() const { return line_.empty() && heap_.empty(); }
  [[nodiscard]] std::int64_t size() const { return std::ssize(line_) + std::ssize(heap_); }
  /// REQUIRES, as for pop(): somebody waits.
  [[nodiscard]] RequestId front() const { return by_priority_ ? heap_.front().request : line_.front(); }
  /// By priority: when it had arrived.
  SimTime pop() {
    if (!by_priority_) {
      line_.pop_front();
      return {};
    }
    std::ranges::pop_heap(heap_, std::greater<>());
    const SimTime arrival = heap_.back().arrival;
    heap_.pop_back();
    return arrival;
  }

 private:
  void push(const Standing& who) {
    heap_.push_back(who);
    std::ranges::push_heap(heap_, std::greater<>());
  }

  const bool by_priority_;
  std::deque<RequestId> line_;
  std::vector<Standing> heap_;  // the least first
};

/// Who runs, by standing: the greatest gives way.
class GivingWay {
 public:
  void enter(const Standing& who, core::Slot slot) { slot_of_.emplace(who, slot); }
  void leave(const Standing& who) { slot_of_.erase(who); }
  /// REQUIRES: somebody runs.
  [[nodiscard]] core::Slot first() const { return slot_of_.rbegin()->second; }

 private:
  std::map<Standing, core::Slot> slot_of_;
};

}  // namespace kvplan::scheduling::vllm
