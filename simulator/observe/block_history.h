// Every change of every block of a pool. From it the state of the pool at any moment is found, forward and backward in
// time: which requests hold a block, since when, and whether a prefix lookup would find its content.
//
// Life cycle: an observer of a run on memory with block ids; after the run, any number of BlockMoments read it. Memory:
// 12 bytes per change, and a copy of the state of all blocks after every `every_` changes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "simulator/core/observer.h"

namespace kvplan::observe {

struct BlockChange {
  enum class Kind : std::uint8_t {
    kGrant,    ///< the request holds the block, and will fill it
    kHit,      ///< the request holds the block, with content from the prefix cache
    kFree,     ///< the request frees it and continues: a window or a policy emptied the block
    kPreempt,  ///< the request was preempted
    kFinish,   ///< the request finished
    kInsert,   ///< prefix lookups can find the block's content
    kEvict,    ///< prefix lookups can no longer find its content
  };
  std::int32_t block{0};
  std::int32_t request{-1};  ///< -1: none, for kEvict
  Kind kind{Kind::kGrant};
};
/// True for the kinds by which a request starts to hold a block.
constexpr bool takes(BlockChange::Kind kind) {
  return kind == BlockChange::Kind::kGrant || kind == BlockChange::Kind::kHit;
}

struct BlockState {
  std::int32_t holders{0};
  std::int32_t owner{-1};  ///< the holder that took it last; -1: none
  std::int64_t since{0};   ///< ticks: when it was last taken or freed
  bool findable{false};    ///< prefix lookups can find its content
  bool operator==(const BlockState&) const = default;
};

class BlockHistory final : public core::Observer {
 public:
  /// `blocks`: number of block ids, which are 0 .. blocks-1.
  explicit BlockHistory(std::int64_t blocks);

  /// A change and its time.
  struct Dated {
    std::int64_t tick{0};
    BlockChange change;
  };

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t size() const { return changes_.size(); }
  [[nodiscard]] const BlockChange& change(std::size_t i) const { return changes_[i]; }
  /// Number of changes up to a time, including those at that time.
  [[nodiscard]] std::size_t until(std::int64_t tick) const;
  /// The next or the previous time at which something changes; `tick` itself if there is none.
  [[nodiscard]] std::int64_t next_moment(std::int64_t tick) const;
  [[nodiscard]] std::int64_t last_moment(std::int64_t tick) const;
  /// All changes of one block.
  [[nodiscard]] std::vector<Dated> of_block(std::int32_t block) const;

  void on_pass_begin(SimTime time) override { now_ = time; }
  void on_preempt(const core::Release& release) override;
  void on_admit(const core::Admission& admission) override;
  void on_grant(const core::Grant& grant) override;
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override;
  void on_free_blocks(const core::FreedBlocks& gone) override;
  void on_step_end(SimTime time, std::span<const RequestId> /*finishing*/) override { now_ = time; }
  void on_compact(const core::Compacted& compacted) override;
  void on_finish(SimTime time, const core::Release& release) override;
  void on_insert(RequestId request, std::int64_t logical_block, BlockId block) override;
  void on_evict_block(BlockId block) override;
  [[nodiscard]] bool wants_insertions() const override { return true; }

 private:
  friend class BlockMoment;
  using Kind = BlockChange::Kind;
  /// State of all blocks after the first `place` changes.
  struct Picture {
    std::size_t place{0};
    std::vector<BlockState> blocks;
    std::map<std::int32_t, std::vector<std::int32_t>>
        shared;  ///< holders of the blocks that have several, oldest first
  };
  struct Moment {
    std::int64_t tick{0};
    std::size_t first{0};
  };

  static void apply(Picture& picture, const BlockChange& change, std::int64_t tick);
  void add(Kind kind, std::int32_t block, RequestId request);
  void let_go(RequestId request, Kind kind);

  std::int64_t blocks_;
  std::size_t every_;  ///< changes between two pictures
  std::vector<BlockChange> changes_;
  std::vector<Moment> moments_;
  std::vector<Picture> pictures_;
  Picture last_;
  std::map<RequestId, std::vector<std::int32_t>> tables_;  // by request; -1: a freed block
  SimTime now_{};
};

/// The state of a pool at one time; `seek` changes the time.
class BlockMoment {
 public:
  /// `history` must outlive this. Begins before the first change.
  explicit BlockMoment(const BlockHistory& history);

  void seek(std::int64_t tick);
  [[nodiscard]] const std::vector<BlockState>& blocks() const { return now_.blocks; }
  /// The holders of a block, oldest first.
  [[nodiscard]] std::vector<std::int32_t> holders(std::int32_t block) const;

 private:
  const BlockHistory& history_;
  BlockHistory::Picture now_;
};

}  // namespace kvplan::observe
