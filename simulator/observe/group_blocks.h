// The account of groups of layers (group_account.h) that counts by block: the requests that hold each block, its
// written tokens, and its tokens that no holder sees any more.
#pragma once

#include <vector>

#include "simulator/observe/group_account.h"

namespace kvplan::observe {

class GroupBlocks final : public GroupAccount {
 public:
  GroupBlocks(const core::Workload& workload, const core::MemoryLayout& layout,
              const core::AccountColumns& columns)
      : GroupAccount(workload, layout, columns) {}

  void grant(const core::Grant& grant) override;
  void free_entries(RequestId request, std::span<const std::int32_t> entries) override;

 private:
  /// A held block.
  struct Block {
    /// Its entry in the tables of its holders, which determines its group and first token
    std::int64_t entry{0};
    std::int64_t written{0};           ///< written tokens
    std::int64_t will_be{0};           ///< tokens that are written or that its first holder will write
    std::vector<RequestId> holders{};  ///< empty: the block is not held
    core::HeldCells cells{};           ///< its cells as they are counted now
  };

  void begin(Member& m, const core::Admission& admission) override;
  void write(Member& m, std::int64_t from) override;
  void end_step() override;
  void end(Member& m) override;

  Block& at(BlockId block);
  void drop_holder(BlockId block, RequestId request);
  /// Counts the cells of the block again, in its present state.
  void recount(BlockId block);
  [[nodiscard]] core::HeldCells cells_of(const Block& block);

  std::vector<Block> blocks_;     // by id, all blocks that were ever held
  std::vector<BlockId> touched_;  // in this step
};

}  // namespace kvplan::observe
