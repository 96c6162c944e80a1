// Every change of every block of a pool, so that its state at any moment can be found in either direction of time:
// which requests hold a block, since when, and whether a lookup would find its content.
//
// Life cycle: an observer of a run on memory with block ids; then any number of BlockMoments read it. Memory: 12 bytes
// per change, and a whole picture of the pool every so many changes.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "simulator/core/observer.h"

namespace kvplan::observe {

struct BlockChange {
  enum class Kind : std::uint8_t {
    kGrant,    ///< the request holds it, and will fill it
    kHit,      ///< the request holds it, with content that the cache had
    kFree,     ///< the request lets it go and runs on: a window or a policy emptied it
    kPreempt,  ///< the request was preempted
    kFinish,   ///< the request finished
    kInsert,   ///< its content can be found
    kEvict,    ///< its content cannot be found any more
  };
  std::int32_t block{0};
  std::int32_t request{-1};  ///< -1: none, of kEvict
  Kind kind{Kind::kGrant};
};
/// True: of the kinds by which a request comes to hold a block.
constexpr bool takes(BlockChange::Kind kind) {
  return kind == BlockChange::Kind::kGrant || kind == BlockChange::Kind::kHit;
}

struct BlockState {
  std::int32_t holders{0};
  std::int32_t owner{-1};  ///< of the holders, the one that took it last; -1: none
  std::int64_t since{0};   ///< ticks: when it was last taken or let go
  bool findable{false};    ///< a lookup finds its content
  bool operator==(const BlockState&) const = default;
};

class BlockHistory final : public core::Observer {
 public:
  /// `blocks`: ids are 0 .. blocks-1.
  explicit BlockHistory(std::int64_t blocks);

  /// A change and its moment.
  struct Dated {
    std::int64_t tick{0};
    BlockChange change;
  };

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t size() const { return changes_.size(); }
  [[nodiscard]] const BlockChange& change(std::size_t i) const { return changes_[i]; }
  /// Number of changes up to a moment, itself included.
  [[nodiscard]] std::size_t until(std::int64_t tick) const;
  /// The next or the last moment with a change, after or before this one; the same moment if there is none.
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
  /// Everything at one place in the changes.
  struct Picture {
    std::size_t place{0};
    std::vector<BlockState> blocks;
    std::map<std::int32_t, std::vector<std::int32_t>>
        shared;  ///< holders of blocks that have several, oldest first
  };
  struct Moment {
    std::int64_t tick{0};
    std::size_t first{0};
  };

  static void apply(Picture& picture, const BlockChange& change, std::int64_t tick);
  void add(Kind kind, std::int32_t block, RequestId request);
  void let_go(RequestId request, Kind kind);

  std::int64_t blocks_;
  std::size_t every_;  ///< changes between pictures
  std::vector<BlockChange> changes_;
  std::vector<Moment> moments_;
  std::vector<Picture> pictures_;
  Picture last_;
  std::map<RequestId, std::vector<std::int32_t>> tables_;  // -1: freed
  SimTime now_{};
};

/// The pool at one moment, which moves.
class BlockMoment {
 public:
  /// `history` outlives this. Begins before the first change.
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
