// Blocks that several requests hold at once, where requests follow courses (core/course.h) and drop cells in place:
// each for itself, and a cell is a hole only when all of them have dropped it. Each course counts the cells of all
// blocks of its request; here is counted by how much these sums are more than what there is.
//
// A block is one holder's alone, which is most of them and costs nothing more, or shared: then the cells that its
// holders have dropped are compared. What is found cached lies at the same place in the table of whoever finds it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/course.h"

namespace kvplan::observe {

class SharedBlocks {
 public:
  explicit SharedBlocks(std::int64_t quantum_tokens) : quantum_tokens_(quantum_tokens) {}

  // A request is a member from `enter` to `leave`. Of its table:

  /// It begins with these blocks, which it found.
  void enter(RequestId request, const core::Course& course, std::span<const BlockId> found);
  /// These come behind the others; nobody else holds them.
  void grant(RequestId request, std::span<const BlockId> blocks);
  /// So many of its tokens are written, and once its prompt is whole, what goes after each number of them has gone.
  /// REQUIRES: written < final tokens.
  void wrote(RequestId request, std::int64_t written);
  /// These entries are given back.
  void let_go(RequestId request, std::span<const std::int32_t> entries);
  void leave(RequestId request);

  /// Has any block several holders?
  [[nodiscard]] bool any() const { return !shared_.empty(); }
  /// By how much the courses of all members count more than there is: live cells and holes.
  [[nodiscard]] const core::HeldCells& surplus() const { return surplus_; }

  /// A block of several holders.
  struct Row {
    BlockId block;
    std::vector<RequestId> holders;  ///< ascending
    core::HeldCells cells;
  };
  [[nodiscard]] std::vector<Row> rows() const;
  /// Of what the course of a member counts, what lies in shared blocks; how many these are.
  struct Part {
    core::HeldCells cells;
    std::int64_t blocks{0};
  };
  [[nodiscard]] Part shared_part(RequestId request) const;

 private:
  /// After how many tokens each cell goes, of the first positions: [track][position].
  struct Going {
    std::int64_t positions{0};
    std::vector<std::int32_t> after;
    [[nodiscard]] bool gone(std::int64_t track, std::int64_t position, std::int64_t written) const {
      KVPLAN_CHECK(position < positions, position, positions);
      return after[static_cast<std::size_t>(track * positions + position)] <= written;
    }
  };
  struct Member {
    const core::Course* course{nullptr};
    std::vector<BlockId> table;          ///< kNoBlock where it was given back
    std::int64_t written{0};             ///< tokens; as far as drops are counted
    std::int64_t shares{0};              ///< of its blocks, those that others hold too
    std::shared_ptr<const Going> going;  ///< made when it is needed
  };
  struct Shared {
    std::int64_t logical{0};
    std::vector<RequestId> holders;
    std::int64_t dropped{0};  ///< cells, of each holder for itself, summed
    std::int64_t holes{0};    ///< cells that all of them have dropped
  };

  Member& member(RequestId r) { return members_.at(r); }
  [[nodiscard]] std::int64_t block_cells(const Member& m) const {
    return m.course->units() * quantum_tokens_;
  }
  const Going& going(Member& m) const;
  [[nodiscard]] bool has_dropped(const Member& m) const;
  /// Tokens of a block that a holder has written; one that it found while somebody computes it is all written.
  [[nodiscard]] std::int64_t written_in(const Member& m, std::int64_t logical) const {
    return std::clamp<std::int64_t>(m.written - logical * quantum_tokens_, 0, quantum_tokens_);
  }
  /// Cells of the block that a holder has dropped; cells that all of them have.
  std::int64_t dropped_of(Member& m, std::int64_t logical) const;
  std::int64_t holes_of(const Shared& shared);
  /// Of each holder, what goes when, and how far it is. False: one has dropped nothing, and so keeps everything.
  bool gather_going(const Shared& shared);
  /// REQUIRES: the latest gather_going() was true.
  [[nodiscard]] bool all_dropped(std::int64_t track, std::int64_t position) const;
  void drop_of_block(BlockId block, std::int32_t track, std::span<const std::int32_t> positions);
  void add(const Shared& shared, std::int64_t sign);
  void hold(RequestId r, std::int64_t logical, BlockId block);
  void give_back(RequestId r, BlockId block);

  std::int64_t quantum_tokens_;
  std::unordered_map<RequestId, Member> members_;
  std::vector<RequestId> only_;                 // by block: its first holder, kNoRequest where there is none
  std::unordered_map<BlockId, Shared> shared_;  // blocks of two holders or more
  core::HeldCells surplus_;
  std::vector<std::int32_t> positions_;
  std::vector<std::pair<const Going*, std::int64_t>> going_;
};

}  // namespace kvplan::observe
