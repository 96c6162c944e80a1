// The cells of requests that follow courses (courses/course.h), summed: the part of the ledger that changes by
// what a token policy keeps. Counts cells, knows no bytes.
//
// Told what the ledger is told; a request is a member from `enter` to `leave`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "simulator/courses/course.h"
#include "simulator/observe/in_flight.h"
#include "simulator/observe/shared_blocks.h"

namespace kvplan::observe {

class CourseAccount {
 public:
  /// `places`: of its members, among those of all accounts of the run. `shared_alloc_unit_tokens`: tokens of a block,
  /// where blocks may have several holders; else 0.
  CourseAccount(core::RequestPlaces places, std::int64_t shared_alloc_unit_tokens)
      : members_(std::move(places)) {
    if (shared_alloc_unit_tokens > 0) shared_.emplace(shared_alloc_unit_tokens);
  }

  /// `found`: the blocks that it begins with, all full; of a prompt. None where blocks have one holder each.
  void enter(RequestId request, const core::Course& course, std::span<const BlockId> found);
  /// Allocation units [first, first + allocation units) of a prompt's table. `blocks`: their ids, where blocks have
  /// several holders.
  void grant_prompt(RequestId request, std::int64_t first, std::int64_t alloc_units,
                    std::span<const BlockId> blocks);
  /// What the next token of a request whose prompt is whole needs: an allocation unit, or several of several tables.
  void grant_next(RequestId request, std::int64_t alloc_units, BlockId block);
  void chunk(RequestId request, std::int64_t tokens);
  /// What one more of a run of alike steps changes. REQUIRES: nothing but such requests ran.
  [[nodiscard]] core::HeldCells growth() const;
  /// `steps` steps have ended: their tokens are written and, but for `finishing`, what the policy drops is
  /// dropped; blocks of which nothing is left are still held.
  void end_steps(std::int64_t steps, std::span<const RequestId> finishing);
  /// Blocks that come back after `written` tokens, so many, have done so: all of them, or those that are let go and
  /// those that moved survivors leave, one after the other. `entries`: of those that are let go.
  void free_entries(RequestId request, std::int64_t written, std::int64_t alloc_units,
                    std::span<const std::int32_t> entries);
  void leave(RequestId request);

  /// Of all members: what blocks hold, each once.
  [[nodiscard]] core::HeldCells held() const { return shared_ ? held_ - shared_->surplus() : held_; }
  /// Of one, whoever else holds it. REQUIRES: it is a member.
  [[nodiscard]] const core::HeldCells& held(RequestId request) const { return member(request).held; }
  /// Blocks of several holders; null where there can be none.
  [[nodiscard]] const SharedBlocks* shared() const { return shared_ ? &*shared_ : nullptr; }
  /// Allocation units that all members hold; and one.
  [[nodiscard]] std::int64_t alloc_units() const { return alloc_units_; }
  [[nodiscard]] std::int64_t alloc_units(RequestId request) const { return member(request).alloc_units; }
  /// Cells dropped so far.
  [[nodiscard]] std::int64_t dropped_cells() const { return dropped_cells_; }

 private:
  struct Member {
    const core::Course* course{nullptr};
    core::HeldCells held;
    std::int64_t alloc_units{0};
    std::int64_t written{0};
    std::int64_t chunk{0};   ///< of the step in progress
    std::int64_t beyond{0};  ///< contiguous memory: cells behind what it will ever write
    bool whole{false};       ///< its prompt
    bool finishing{false};
  };
  Member& member(RequestId r) { return members_[r]; }
  [[nodiscard]] const Member& member(RequestId r) const { return members_[r]; }
  void set(Member& m, const core::HeldCells& held);
  void add_alloc_units(Member& m, std::int64_t alloc_units) {
    m.alloc_units += alloc_units;
    alloc_units_ += alloc_units;
  }
  /// The cells of its last written tokens, nothing dropped.
  static void write(core::HeldCells& held, const core::Course& course, std::int64_t tokens);

  InFlight<Member> members_;
  std::vector<RequestId> inside_;
  core::HeldCells held_;
  std::int64_t alloc_units_{0};
  std::int64_t dropped_cells_{0};
  std::optional<SharedBlocks> shared_;
};

}  // namespace kvplan::observe
