// Sums of the cells of requests in a model with groups of layers (core::MemoryLayout::groups): the part of the ledger
// that depends on windows. It counts cells, not bytes.
//
// A cell is the slot of one token in one layer. In a group with a window W the last W - 1 written tokens are live,
// since the next token sees them; earlier tokens are holes until their block is freed. A group with fewer layers than a
// block has room for leaves the rest of each of its blocks as padding. Cells are counted by kind of group, that is by
// window: groups with the same window differ only in their number of layers.
//
// Blocks of states are a kind of their own. They belong to the request alone from `enter` to `leave`: reserved until
// its first tokens are written, then live. What a state does not fill of its block is padding.
//
// There are two implementations. One counts by request, where no block is ever shared (blocks have no ids then). The
// other counts by block, where prefixes can be hit: a shared block counts once, and a cell of it is a hole if no holder
// sees it, which depends on the holder that has written the fewest tokens.
//
// The ledger forwards its calls; a request is a member from `enter` to `leave`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "simulator/core/allocator.h"
#include "simulator/core/latency.h"
#include "simulator/core/observer.h"
#include "simulator/core/request_column.h"
#include "simulator/core/workload.h"
#include "simulator/courses/course.h"

namespace kvplan::observe {

class GroupAccount {
 public:
  /// By index in kinds(); entries behind the last kind are empty.
  using ByKind = std::array<core::HeldCells, core::kMostWindows + 1>;

  /// Makes the account: by block where blocks have ids. REQUIRES: at most kMostWindows different windows.
  static std::unique_ptr<GroupAccount> make(const core::Workload& workload, const core::MemoryLayout& layout,
                                            const core::AccountColumns& columns);
  virtual ~GroupAccount() = default;

  void enter(const core::Admission& admission);
  /// New entries of a request's table, whole logical blocks. REQUIRES for this and all below: the request is a member.
  virtual void grant(const core::Grant& grant) = 0;
  /// Frees blocks that windows have left behind.
  virtual void free_entries(RequestId request, std::span<const std::int32_t> entries) = 0;
  void chunk(RequestId request, std::int64_t tokens) { member(request).chunk = tokens; }
  /// Runs `steps` steps: requests with a chunk write it (steps is 1 then), requests with a complete prompt write
  /// one token in each step. Returns the change per step, which is the same for all of them. REQUIRES: steps >=
  /// 1.
  ByKind run(std::int64_t steps);
  void leave(RequestId request);

  [[nodiscard]] const std::vector<model::LayerKind>& kinds() const { return kinds_; }
  /// The cells that all members hold.
  [[nodiscard]] const ByKind& held() const { return held_; }
  /// Tokens that have left the windows since their request was admitted: cells divided by layers, rounded
  /// down.
  [[nodiscard]] std::int64_t left_tokens() const { return left_cells_ / layers_; }

 protected:
  struct Member {
    RequestId request{-1};
    std::int64_t written{0};
    std::int64_t slots{0};         ///< tokens for which its table has room
    std::int64_t chunk{0};         ///< tokens computed in the step in progress
    bool whole{false};             ///< true: its prompt, or what is recomputed, is complete
    ByKind held{};                 ///< cells that it holds, if the account counts by request
    std::vector<BlockId> table{};  ///< by entry, if the account counts by block
  };

  GroupAccount(const core::Workload& workload, const core::MemoryLayout& layout,
               const core::AccountColumns& columns);
  Member& member(RequestId r) { return members_[static_cast<std::size_t>(columns_.place[r])]; }
  /// Tokens that the member's table has room for, and how many of them it will write.
  struct Places {
    std::int64_t from, to, will_write;
  };
  Places add_places(Member& m, std::int64_t entries);

  /// The request was admitted with this prefix hit.
  virtual void begin(Member& m, const core::Admission& admission) = 0;
  /// The member writes tokens [from, written).
  virtual void write(Member& m, std::int64_t from) = 0;
  /// All members have written their tokens of the step.
  virtual void end_step() {}
  virtual void end(Member& m) = 0;

  const core::Workload& workload_;
  std::vector<model::LayerGroup> groups_;
  std::vector<model::LayerKind> kinds_;
  std::vector<std::size_t> kind_of_;  // by group
  std::int64_t alloc_unit_, room_;    // tokens of a block, and layers that a block has room for
  model::StateBlocks states_;
  ByKind held_{};

 private:
  /// The cells of a request's states.
  [[nodiscard]] core::HeldCells state_cells(bool written) const;
  std::int64_t layers_{0};  // layers of all groups
  std::vector<Member> members_;
  core::AccountColumns
      columns_;  // index of each member; tokens: one more than it has written, once it has sampled
  std::int64_t left_cells_{0};
};

}  // namespace kvplan::observe
