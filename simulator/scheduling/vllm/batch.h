// The running requests of a fast replica, and sums over them, so that a step does not walk over all requests
// (README.md says why that is exact). The scheduler adds and removes requests; the replica advances all of them and
// ends them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/engine.h"
#include "simulator/core/request_column.h"
#include "simulator/courses/course.h"
#include "simulator/scheduling/fast/decode_load.h"
#include "simulator/scheduling/fast/due_steps.h"
#include "simulator/scheduling/fast/followers.h"
#include "simulator/scheduling/fast/part_reads.h"
#include "simulator/scheduling/fast/running_slots.h"
#include "simulator/scheduling/fast/window_sums.h"
#include "simulator/scheduling/vllm/params.h"
#include "simulator/scheduling/vllm/priority_order.h"

namespace kvplan::scheduling::vllm {

/// Bits of RequestColumns::seen.
inline constexpr std::uint8_t kAdmitted = 1, kGenerated = 2;

/// The parts stay consistent as long as requests are changed only through the functions of Batch.
struct Batch {
  using Slot = core::Slot;
  using SlotState = core::SlotState;

  Batch(const core::ReplicaSetup& setup, const Params& params, core::Allocator& memory)
      : run(setup),
        allocator(memory),
        workload(*setup.workload),
        by_priority(params.by_priority),
        grows(memory.growth_tokens() > 0),
        grows_anywhere(memory.growth_tokens() < 0),
        alloc_unit_tokens(memory.layout().alloc_unit_tokens),
        block_entries(std::max<std::int64_t>(std::ssize(memory.layout().groups), 1)),
        columns(setup.columns != nullptr ? *setup.columns
                                         : core::RequestColumns(setup.workload->input.size())),
        phases(std::max<std::int64_t>(memory.growth_tokens(), 1)) {
    KVPLAN_CHECK(!grows_anywhere || run.courses == nullptr);
    KVPLAN_CHECK(!reads.part() || (run.courses == nullptr && !run.keep.evicts() && !run.keeps_nothing));
    // A victim may have been granted blocks in the same scheduler step, and a decoding request may have to wait for a
    // step.
    KVPLAN_CHECK(!by_priority || (run.courses == nullptr && !run.keep.evicts() &&
                                  memory.placing() == nullptr && memory.layout().groups.empty()));
    sums.reads = {run.keep, run.reads_holes, memory.block_returns() != nullptr ? alloc_unit_tokens : 0};
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  SlotState& at(Slot slot) { return slots[slot]; }
  [[nodiscard]] const SlotState& at(Slot slot) const { return slots[slot]; }
  [[nodiscard]] std::int64_t tokens_held(const SlotState& s) const {
    return s.decoding ? step + s.offset : s.computed;
  }
  /// Slots that the table must have for `tokens` tokens.
  [[nodiscard]] static std::int64_t slots_of(const SlotState& s, std::int64_t tokens) {
    return s.course == nullptr ? tokens : s.course->table_slots(tokens);
  }

  /// Key of a running request. Without priority scheduling the key has only the request.
  [[nodiscard]] PriorityKey priority_key(Slot slot) const {
    return by_priority ? preemption_order.key(slot) : PriorityKey{.request = at(slot).request};
  }

  /// Adds a request to the running list; its prompt must be computed first. `arrival`: when the request arrived.
  Slot enter(RequestId request, SimTime arrival) {
    const Slot slot = slots.open(request);
    if (allocator.placing() != nullptr) slot_of.emplace(request, slot);
    if (by_priority) preemption_order.enter({workload.priority_of(request), arrival, request}, slot);
    prompts.push_back(slot);
    return slot;
  }
  /// Removes a request from the running list.
  void leave(Slot slot) {
    const SlotState& s = at(slot);
    if (by_priority) preemption_order.leave(slot);
    if (s.decoding && s.course != nullptr) {
      following.leave(slot);
      --sums.requests;
    } else if (s.decoding) {
      phases.leave(slots, slot);
      const std::int64_t held = tokens_held(s);
      sums.leave(held, s.sliding, held == workload.final_tokens(s.request));
      windows.leave(s, held);
      if (reads.part()) reads.leave(s, held);
    } else {
      std::erase(prompts, slot);
    }
    if (!slot_of.empty()) slot_of.erase(s.request);
    slots.close(slot);
  }

  /// The request's prompt, or what it recomputes after a preemption, is complete.
  void begin_decoding(Slot slot) {
    SlotState& s = at(slot);
    std::erase(prompts, slot);
    s.decoding = true;
    decode(slot);
  }

  /// From now on the request takes part in decode steps; it holds the tokens that it has computed.
  void decode(Slot slot) {
    SlotState& s = at(slot);
    s.offset = s.computed - step;
    ++sums.requests;
    if (s.course != nullptr) {
      following.enter(slot);
      return;
    }
    sums.grow(s.computed);
    phases.enter(slots, slot);
    windows.fill(s, s.computed);
    if (reads.part()) reads.change(s, s.computed);
    if (grows_anywhere) expect_growth(slot, s.computed);
    if (!run.keep.evicts() || s.computed <= run.keep.sink + run.keep.recent) expect(slot);
  }

  /// A decoding request computes nothing in the coming step.
  void hold_back(Slot slot) {
    SlotState& s = at(slot);
    s.computed = tokens_held(s);
    phases.leave(slots, slot);
    sums.leave(s.computed, false, false);
    if (reads.part()) reads.leave(s, s.computed);
    s.read_in_part = 0;
    ++s.generation;
    held_back.push_back(slot);
  }
  /// The coming step has ended, or nothing ran: requests that were held back take part again.
  void go_on() {
    for (const Slot slot : held_back) decode(slot);
    held_back.clear();
  }

  /// The request holds `held` tokens and drops its first cell since its admission.
  void begin_sliding(Slot slot, std::int64_t held) {
    SlotState& s = at(slot);
    phases.leave(slots, slot);
    s.sliding = true;
    sums.slide(held);
    ++s.generation;
    phases.enter(slots, slot);
    expect(slot);
    if (grows_anywhere) expect_growth(slot, held);
  }

  /// For a decoding request with `held` tokens, the part of its tokens that is read may change from now on.
  void change_reads(Slot slot, std::int64_t held) {
    if (reads.change(at(slot), held)) expect(slot);
  }

  /// Schedules the next visit of this decoding request: at its end, when it drops its first cell, or when its reading
  /// changes.
  void expect(Slot slot) {
    const SlotState& s = at(slot);
    std::int64_t tokens = workload.final_tokens(s.request);
    if (reads.part()) tokens = std::min(tokens, reads.next_change(s));
    if (run.keep.evicts() && !s.sliding) tokens = std::min(tokens, run.keep.sink + run.keep.recent + 1);
    dues.expect(tokens - s.offset, slot);
  }
  /// Schedules the next visit for growth: when it needs room, when it completes a block that lookups can hit, or when
  /// its windows change. `held`: tokens after the step in progress. REQUIRES: grows_anywhere, decoding.
  void expect_growth(Slot slot, std::int64_t held) {
    const SlotState& s = at(slot);
    const std::int64_t full = allocator.next_growth(s.request);
    const bool fills = allocator.contents() != nullptr && full > held;
    const std::int64_t tokens = std::min(fills ? full - 1 : full, windows.next_change(s, held));
    if (tokens < workload.final_tokens(s.request)) growths.expect(tokens - s.offset, slot);
  }

  /// Every decoding request gets `steps` tokens more.
  void advance(std::int64_t steps) {
    step += steps;
    sums.run(steps);
    windows.run(steps);
    if (reads.part()) reads.run(steps);
  }

  const core::ReplicaSetup run;
  core::Allocator& allocator;
  const core::Workload& workload;
  const bool by_priority;  ///< queue order and preemption order follow the priority of requests
  const bool grows;  ///< decoding requests are granted an allocation unit whenever their last one is full
  const bool grows_anywhere;  ///< or whenever their allocator says so (next_growth)
  const std::int64_t alloc_unit_tokens;
  const std::int64_t block_entries;  ///< table entries for each logical block
  core::RequestColumns columns;

  std::int64_t step{0};
  core::SlotTable slots;
  core::PhaseLists phases;    ///< decoding requests without a course, by when they need a block
  std::vector<Slot> prompts;  ///< requests with an incomplete prompt, in admission order
  /// for all running requests, if placing costs something; else empty
  std::unordered_map<RequestId, Slot> slot_of;
  PreemptionOrder preemption_order;  ///< running requests by priority; empty without priority scheduling
  std::vector<Slot> held_back;       ///< decoding requests that pause in the coming step
  core::Followers following{slots};  ///< decoding requests with a course
  core::DecodeSums sums{.squared = run.keeps_nothing};
  core::WindowSums windows{allocator, run.observers};
  core::PartReads reads{run.reads};
  core::DueSteps dues{slots};
  core::DueSteps growths{slots};  ///< the steps before which they need room
};

}  // namespace kvplan::scheduling::vllm
