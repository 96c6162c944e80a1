// Queue order and preemption order. With vLLM's policy "fcfs" both follow the order of arrival; with "priority" they
// follow the priority of requests.
//
// vllm-project/vllm v0.15.1: Request.__lt__ (vllm/v1/request.py), PriorityRequestQueue
// (vllm/v1/core/sched/request_queue.py) and the running loop of vllm/v1/core/sched/scheduler.py. The request with the
// lowest number is scheduled first and preempted last. Requests that arrive at the same time are ordered as in the
// trace: vLLM's clock gives no two requests the same stamp. (With equal stamps vLLM would preempt the first of them in
// the running list, perhaps again and again the request that asks for room, and no request would ever finish.)
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/scheduling/fast/running_slots.h"

namespace kvplan::scheduling::vllm {

/// The request with the lower key is scheduled first.
struct PriorityKey {
  std::int32_t priority{0};
  SimTime arrival{};
  RequestId request{0};
  auto operator<=>(const PriorityKey&) const = default;
};

/// The waiting queue: in order of arrival, with preempted requests in front; or by priority key.
class Waiting {
 public:
  explicit Waiting(bool by_priority) : by_priority_(by_priority) {}

  void join(const PriorityKey& key) { by_priority_ ? push(key) : line_.push_back(key.request); }
  void come_back(const PriorityKey& key) { by_priority_ ? push(key) : line_.push_front(key.request); }

  [[nodiscard]] bool empty() const { return line_.empty() && heap_.empty(); }
  [[nodiscard]] std::int64_t size() const { return std::ssize(line_) + std::ssize(heap_); }
  /// REQUIRES, as for pop(): the queue is not empty.
  [[nodiscard]] RequestId front() const { return by_priority_ ? heap_.front().request : line_.front(); }
  /// With priority scheduling, returns when the request arrived.
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
  void push(const PriorityKey& key) {
    heap_.push_back(key);
    std::ranges::push_heap(heap_, std::greater<>());
  }

  const bool by_priority_;
  std::deque<RequestId> line_;
  std::vector<PriorityKey> heap_;  // a heap, least key first
};

/// The running requests by priority key: the request with the highest key is preempted first.
class PreemptionOrder {
 public:
  void enter(const PriorityKey& key, core::Slot slot) {
    slot_of_.emplace(key, slot);
    key_of_.emplace(slot, key);
  }
  void leave(core::Slot slot) {
    slot_of_.erase(key(slot));
    key_of_.erase(slot);
  }
  /// REQUIRES: the request in the slot runs.
  [[nodiscard]] const PriorityKey& key(core::Slot slot) const { return key_of_.at(slot); }
  /// REQUIRES: a request runs.
  [[nodiscard]] core::Slot first() const { return slot_of_.rbegin()->second; }

 private:
  std::map<PriorityKey, core::Slot> slot_of_;
  std::unordered_map<core::Slot, PriorityKey> key_of_;
};

}  // namespace kvplan::scheduling::vllm
