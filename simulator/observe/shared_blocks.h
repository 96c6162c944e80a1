// Blocks that several requests hold at once, if requests follow courses (courses/course.h) and drop cells in place.
// Each request drops for itself, and a cell is a hole only when all holders have dropped it. A course counts the cells
// of all blocks of its request; this class counts by how much the sum over courses exceeds the cells that exist.
//
// For a block with one holder only the holder is stored; for a shared block, how many holders have dropped each cell,
// and which cells each of them has dropped. A block has the same position in the table of every request that hits it.
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

  // A request is a member from `enter` to `leave`. These calls report changes of its table:

  /// The table begins with these blocks of a prefix hit. REQUIRES: all courses leave holes, know which tokens are
  /// dropped, and have equally many units; those that hold the same block have the same tracks.
  void enter(RequestId request, const core::Course& course, std::span<const BlockId> found);
  /// These blocks follow; no other request holds them.
  void grant(RequestId request, std::span<const BlockId> blocks);
  /// The request has written this many tokens. Once its prompt is complete, it has made all drops up to this number of
  /// tokens. REQUIRES: written < final tokens.
  void wrote(RequestId request, std::int64_t written);
  /// Frees these entries.
  void free_entries(RequestId request, std::span<const std::int32_t> entries);
  void leave(RequestId request);

  /// True: some block has several holders.
  [[nodiscard]] bool any() const { return !shared_.empty(); }
  /// Live cells and holes that the sum over the members' courses counts in excess of the existing ones.
  [[nodiscard]] const core::HeldCells& surplus() const { return surplus_; }

  /// A block with several holders.
  struct Row {
    BlockId block;
    std::vector<RequestId> holders;  ///< ascending
    core::HeldCells cells;
  };
  [[nodiscard]] std::vector<Row> rows() const;
  /// The part of a member's course that lies in shared blocks.
  [[nodiscard]] core::HeldCells shared_cells(RequestId request) const;

 private:
  /// Cells of a block that one holder has dropped: one bit each, at track x allocation unit + position; empty:
  /// none.
  using Cells = std::vector<bool>;
  struct Member {
    const core::Course* course{nullptr};
    std::span<const std::int32_t> track_units{};        ///< track_units() of its drops
    std::vector<BlockId> table;                         ///< kNoBlock where it was freed
    std::int64_t written{0};                            ///< tokens; drops are counted up to here
    std::int64_t shares{0};                             ///< number of its blocks that other requests hold too
    std::unordered_map<std::int64_t, Cells> dropped{};  ///< by logical block, for shared blocks
    std::int64_t dropped_cells{0};                      ///< dropped cells in all these blocks
  };
  struct Shared {
    std::int64_t logical{0};
    std::vector<RequestId> holders;  ///< ascending
    /// Number of holders that have dropped each cell; empty: no cell is dropped
    std::vector<std::int32_t> dropped_by;
    std::int64_t dropped{0};  ///< dropped cells, summed over holders
    std::int64_t holes{0};    ///< cells that all holders have dropped
  };

  [[nodiscard]] std::size_t cell_of(std::int64_t track, std::int64_t position) const {
    return static_cast<std::size_t>(track * alloc_unit_tokens_ + position % alloc_unit_tokens_);
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
  std::int64_t units_{0};  // units of every course
  std::unordered_map<RequestId, Member> members_;
  std::vector<RequestId> only_;                 // by block: its first holder, or kNoRequest
  std::unordered_map<BlockId, Shared> shared_;  // blocks with at least two holders
  core::HeldCells surplus_;
  std::unordered_map<RequestId, std::vector<std::int64_t>>
      newly_shared_;  // used by `enter`: blocks by the request that held them alone
  std::vector<std::int32_t> positions_;
};

}  // namespace kvplan::observe
