// The cells of requests whose layers lie in groups (core::MemoryLayout::groups), summed: the part of the ledger that
// changes by what windows show. Counts cells, knows no bytes.
//
// A cell is a token's place in one layer. In a group with a window W the last W - 1 written tokens are live, since
// the next token sees them; those before are holes until their block comes back. A group that has fewer layers than
// a block has room for leaves the rest of each of its blocks as padding. Cells are counted by kind of group, which is
// by window: what two groups of one window hold differs by their layers only.
//
// Two ways: by request where no block ever has two holders (they have no ids then), by block where prefixes may be
// found again. A block that several hold counts once; a cell of it is a hole if none of them sees it, which is up to
// the one that has written the least.
//
// Told what the ledger is told; a request is a member from `enter` to `leave`.
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
  /// By place in kinds(); those behind are empty.
  using ByKind = std::array<core::HeldCells, core::kMostWindows + 1>;

  /// By block where these have ids. REQUIRES: at most kMostWindows different windows.
  static std::unique_ptr<GroupAccount> make(const core::Workload& workload, const core::MemoryLayout& layout,
                                            const core::AccountColumns& columns);
  virtual ~GroupAccount() = default;

  void enter(const core::Admission& admission);
  /// Further entries of its table, whole logical blocks. REQUIRES: for this and all below: a member.
  virtual void grant(const core::Grant& grant) = 0;
  /// Blocks that windows have left behind come back.
  virtual void free_entries(RequestId request, std::span<const std::int32_t> entries) = 0;
  void chunk(RequestId request, std::int64_t tokens) { member(request).chunk = tokens; }
  /// `steps` steps run: those with a chunk write it (steps is 1 then), those whose prompt is whole one token in each.
  /// Returns what each of the steps changes; of several all change the same. REQUIRES: steps >= 1.
  ByKind run(std::int64_t steps);
  void leave(RequestId request);

  [[nodiscard]] const std::vector<model::LayerKind>& kinds() const { return kinds_; }
  /// Of all members.
  [[nodiscard]] const ByKind& held() const { return held_; }
  /// Tokens that windows have left behind since their holder was admitted, by layers, rounded down.
  [[nodiscard]] std::int64_t left_tokens() const { return left_cells_ / layers_; }

 protected:
  struct Member {
    RequestId request{-1};
    std::int64_t written{0};
    std::int64_t slots{0};         ///< places of tokens in its table
    std::int64_t chunk{0};         ///< of the step in progress
    bool whole{false};             ///< its prompt, or what is recomputed
    ByKind held{};                 ///< where it is counted by request
    std::vector<BlockId> table{};  ///< by entry, where it is counted by block
  };

  GroupAccount(const core::Workload& workload, const core::MemoryLayout& layout,
               const core::AccountColumns& columns);
  Member& member(RequestId r) { return members_[static_cast<std::size_t>(columns_.place[r])]; }
  /// Tokens of which it is known that the member's table has places, and how many of these it will write.
  struct Places {
    std::int64_t from, to, will_write;
  };
  Places add_places(Member& m, std::int64_t entries);

  /// It has been admitted, with what was found.
  virtual void begin(Member& m, const core::Admission& admission) = 0;
  /// It writes tokens [from, written).
  virtual void write(Member& m, std::int64_t from) = 0;
  /// All members have written.
  virtual void end_step() {}
  virtual void end(Member& m) = 0;

  const core::Workload& workload_;
  std::vector<model::LayerGroup> groups_;
  std::vector<model::LayerKind> kinds_;
  std::vector<std::size_t> kind_of_;  // by group
  std::int64_t alloc_unit_, room_;    // tokens of a block, layers that it has room for
  ByKind held_{};

 private:
  std::int64_t layers_{0};  // of all groups
  std::vector<Member> members_;
  core::AccountColumns
      columns_;  // where it lies among the members; once it has sampled, one more than it has written
  std::int64_t left_cells_{0};
};

}  // namespace kvplan::observe
