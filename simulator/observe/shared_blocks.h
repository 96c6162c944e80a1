// Blocks that several requests hold at once, where requests follow courses (courses/course.h) and drop cells in place:
// each for itself, and a cell is a hole only when all of them have dropped it. Each course counts the cells of all
// blocks of its request; here is counted by how much these sums are more than what there is.
//
// Of a block that has one holder only its name is known. Of a shared one it is counted how many of its holders have
// dropped each cell, and which cells each of them has. What is found cached lies at the same place in the table of
// whoever finds it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/courses/course.h"

namespace kvplan::observe {

class SharedBlocks {
 public:
  explicit SharedBlocks(std::int64_t alloc_unit_tokens) : alloc_unit_tokens_(alloc_unit_tokens) {}

  // A request is a member from `enter` to `leave`. Of its table:

  /// It begins with these blocks, which it found. REQUIRES: all courses have the same tracks, leave holes, and say
  /// which tokens go.
  void enter(RequestId request, const core::Course& course, std::span<const BlockId> found);
  /// These come behind the others; nobody else holds them.
  void grant(RequestId request, std::span<const BlockId> blocks);
  /// So many of its tokens are written, and once its prompt is whole, what goes after each number of them has gone.
  /// REQUIRES: written < final tokens.
  void wrote(RequestId request, std::int64_t written);
  /// These entries are given back.
  void free_entries(RequestId request, std::span<const std::int32_t> entries);
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
  /// Of what the course of a member counts, what lies in shared blocks.
  [[nodiscard]] core::HeldCells shared_cells(RequestId request) const;

 private:
  /// Cells of a block that one holder has dropped, a bit each, at track x allocation unit + place; empty: none.
  using Cells = std::vector<bool>;
  struct Member {
    const core::Course* course{nullptr};
    std::vector<BlockId> table;                         ///< kNoBlock where it was given back
    std::int64_t written{0};                            ///< tokens; as far as drops are counted
    std::int64_t shares{0};                             ///< of its blocks, those that others hold too
    std::unordered_map<std::int64_t, Cells> dropped{};  ///< by logical block, of those that are shared
    std::int64_t dropped_cells{0};                      ///< in all of these
  };
  struct Shared {
    std::int64_t logical{0};
    std::vector<RequestId> holders;        ///< ascending
    std::vector<std::int32_t> dropped_by;  ///< holders that have dropped each cell; empty: none has any
    std::int64_t dropped{0};               ///< cells, of each holder for itself, summed
    std::int64_t holes{0};                 ///< cells that all of them have dropped
  };

  [[nodiscard]] std::size_t cell_of(std::int64_t track, std::int64_t position) const {
    return static_cast<std::size_t>(track * alloc_unit_tokens_ + position % alloc_unit_tokens_);
  }
  [[nodiscard]] std::int64_t units_of(std::size_t cell) const {
    return track_units_[cell / static_cast<std::size_t>(alloc_unit_tokens_)];
  }
  [[nodiscard]] std::int64_t block_cells() const { return units_ * alloc_unit_tokens_; }
  void add_surplus(const Shared& shared, std::int64_t sign);
  void hold(RequestId request, std::int64_t logical, BlockId block);
  void give_back(RequestId request, BlockId block);
  void look_back(Member& member, const std::vector<std::int64_t>& logical_blocks);
  void drop_in(Member& member, Shared& shared, std::int64_t track, std::span<const std::int32_t> positions);
  template <class DropIn>
  void each_drop(const Member& member, std::int64_t from, std::int64_t to, DropIn drop_in);

  std::int64_t alloc_unit_tokens_;
  std::vector<std::int32_t> track_units_;  // of every course
  std::int64_t units_{0};                  // their sum
  std::unordered_map<RequestId, Member> members_;
  std::vector<RequestId> only_;                 // by block: its first holder, kNoRequest where there is none
  std::unordered_map<BlockId, Shared> shared_;  // blocks of two holders or more
  core::HeldCells surplus_;
  std::unordered_map<RequestId, std::vector<std::int64_t>>
      newly_shared_;  // of `enter`: by who held them alone
  std::vector<std::int32_t> positions_;
};

}  // namespace kvplan::observe
