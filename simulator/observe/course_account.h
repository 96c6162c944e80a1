// Sums of the KV slots ("cells") of requests that follow courses (courses/course.h): the part of the ledger that
// depends on the tokens that a policy keeps. It counts cells, not bytes.
//
// The ledger forwards its calls; a request is a member from `enter` to `leave`.
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
  /// `places`: column with the index of each member, shared by all accounts of the run.
  /// `shared_alloc_unit_tokens`: tokens of a block where several requests may hold one; else 0.
  CourseAccount(core::RequestPlaces places, std::int64_t shared_alloc_unit_tokens)
      : members_(std::move(places)) {
    if (shared_alloc_unit_tokens > 0) shared_.emplace(shared_alloc_unit_tokens);
  }

  /// `found`: the blocks of its prefix hit, all full and inside the prompt; empty if no block can be shared.
  void enter(RequestId request, const core::Course& course, std::span<const BlockId> found);
  /// Allocation units [first, first + alloc_units) of a prompt's table. `blocks`: their ids, where blocks can
  /// be shared.
  void grant_prompt(RequestId request, std::int64_t first, std::int64_t alloc_units,
                    std::span<const BlockId> blocks);
  /// Grants room for the next token of a request with a complete prompt: one allocation unit, or one for each of
  /// several tables.
  void grant_next(RequestId request, std::int64_t alloc_units, BlockId block);
  void chunk(RequestId request, std::int64_t tokens);
  /// The change of held() with each further step of a run of equal decode steps. REQUIRES: only decoding requests ran.
  [[nodiscard]] core::HeldCells growth() const;
  /// `steps` steps have ended: their tokens are written, and all requests but `finishing` have dropped what
  /// their policy drops. Blocks that became empty are still held.
  void end_steps(std::int64_t steps, std::span<const RequestId> finishing);
  /// Frees `alloc_units` blocks after `written` tokens: first the blocks that the policy emptied (`entries`), then the
  /// blocks behind survivors that moved.
  void free_entries(RequestId request, std::int64_t written, std::int64_t alloc_units,
                    std::span<const std::int32_t> entries);
  void leave(RequestId request);

  /// Cells in the blocks of all members, shared blocks counted once.
  [[nodiscard]] core::HeldCells held() const { return shared_ ? held_ - shared_->surplus() : held_; }
  /// Cells in the blocks of one member, shared blocks included. REQUIRES: it is a member.
  [[nodiscard]] const core::HeldCells& held(RequestId request) const { return member(request).held; }
  /// Blocks with several holders; null if blocks cannot be shared.
  [[nodiscard]] const SharedBlocks* shared() const { return shared_ ? &*shared_ : nullptr; }
  /// Allocation units that all members hold (first function) and that one member holds (second).
  [[nodiscard]] std::int64_t alloc_units() const { return alloc_units_; }
  [[nodiscard]] std::int64_t alloc_units(RequestId request) const { return member(request).alloc_units; }
  /// Cells dropped since the beginning.
  [[nodiscard]] std::int64_t dropped_cells() const { return dropped_cells_; }

 private:
  struct Member {
    const core::Course* course{nullptr};
    core::HeldCells held;
    std::int64_t alloc_units{0};
    std::int64_t written{0};
    std::int64_t chunk{0};   ///< tokens computed in the step in progress
    std::int64_t beyond{0};  ///< contiguous memory: slots beyond what the request will ever write
    bool whole{false};       ///< its prompt is complete
    bool finishing{false};
  };
  Member& member(RequestId r) { return members_[r]; }
  [[nodiscard]] const Member& member(RequestId r) const { return members_[r]; }
  void set(Member& m, const core::HeldCells& held);
  void add_alloc_units(Member& m, std::int64_t alloc_units) {
    m.alloc_units += alloc_units;
    alloc_units_ += alloc_units;
  }
  /// Adds the cells of the last written tokens, none of them dropped.
  static void write(core::HeldCells& held, const core::Course& course, std::int64_t tokens);

  InFlight<Member> members_;
  std::vector<RequestId> inside_;
  core::HeldCells held_;
  std::int64_t alloc_units_{0};
  std::int64_t dropped_cells_{0};
  std::optional<SharedBlocks> shared_;
};

}  // namespace kvplan::observe
