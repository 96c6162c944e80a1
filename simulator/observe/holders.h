// The holders of every byte at one moment: the last settled moment (after a pass, or after the end of a step) that is
// not after the time asked for.
//
// A table of everything in the pool: each block with its holders, each range or table that belongs to one request, the
// old range of a copy in progress, each cached block, one row for idle memory and one for memory outside allocation
// units. Its columns are the ten states in bytes. The sum of each column must equal the ledger's; that is checked.
//
// It is an observer for runs with block ids in which each step is reported. It knows every cell and counts cells
// separately from the ledger. Only for requests that follow courses it uses the ledger: one row for the memory that one
// request holds alone, one row for each shared block.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "simulator/observe/ledger.h"

namespace kvplan::observe {

struct HeldRow {
  enum class Kind : std::uint8_t {
    kBlock,  ///< a block that requests hold
    kState,  ///< all blocks that a request holds for states; `id` is the request's number
    kRange,  ///< memory of one request; `id` is its address
    /// All memory of one request: pages, tensors, or (with a course) the blocks that only it holds; `id` is
    /// the first page or block, or the address of the first tensor
    kTable,
    kCopied,   ///< a range that a copy reads until it ends
    kCached,   ///< a block that no request holds, with content that a lookup can find
    kIdle,     ///< all allocation units that no request holds and no lookup finds; `id` is not used
    kPadding,  ///< memory that no request can ever hold; `id` is not used
  };
  Kind kind{Kind::kIdle};
  BlockId id{kNoBlock};
  std::int64_t alloc_units{0};
  std::int64_t group{-1};            ///< group of layers, as in MemoryLayout::groups; -1: all layers
  std::vector<RequestId> holders{};  ///< ascending
  StateCounts bytes{};
};

class Holders final : public core::Observer {
 public:
  /// REQUIRES: the ledger is called before this observer; ledger and workload outlive this object.
  Holders(const core::Workload& workload, const Ledger& ledger, const core::KeepRule& keep, SimTime moment);

  /// The settled moment that was found. REQUIRES, also for the rows: the run has ended.
  [[nodiscard]] SimTime settled_at() const { return settled_at_; }
  /// Ordered by kind, then id.
  [[nodiscard]] const std::vector<HeldRow>& rows() const { return rows_; }
  /// The header line of csv().
  [[nodiscard]] static std::string csv_header();
  /// One line for each row; holders are separated by spaces.
  [[nodiscard]] std::string csv(std::int64_t replica) const;

  void on_pass_begin(SimTime time) override {
    take_before(time);
    held_back_.clear();
  }
  void on_hold_back(RequestId request) override { held_back_.insert(request); }
  void on_admit(const core::Admission& admission) override;
  void on_course(RequestId request, const core::Course& course) override;
  void on_free_blocks(const core::FreedBlocks& gone) override;
  void on_move(const core::Move& move) override;
  void on_grant(const core::Grant& grant) override;
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override;
  void on_chunk(const core::Chunk& chunk) override { at(chunk.request).tokens_in_step = chunk.tokens; }
  void on_preempt(const core::Release& release) override { leave(release.request); }
  void on_pass_end(const core::Pass& pass) override;
  void on_copies_end(SimTime time, std::span<const core::Move> copies, const core::PoolCounts& pool) override;
  void on_step_end(SimTime time, std::span<const RequestId> finishing) override;
  void on_compact(const core::Compacted& compacted) override;
  void on_finish(SimTime /*time*/, const core::Release& release) override {
    leave(release.request);
    tables_.erase(release.request);
  }
  void on_settled(SimTime time, const core::PoolCounts& pool) override;
  void on_insert(RequestId request, std::int64_t logical_block, BlockId block) override;
  void on_evict_block(BlockId block) override;
  void on_end(SimTime time) override;
  [[nodiscard]] bool wants_insertions() const override { return true; }

 private:
  struct Table {
    /// Block ids by entry of the table; for other forms the numbers that the allocator stores
    std::vector<BlockId> ids;
    std::int64_t alloc_units{0};
    std::int64_t tensor_tokens{0};
    std::int64_t written{0};
    std::int64_t num_tokens{0};  ///< prompt and generated tokens
    std::int64_t tokens_in_step{0};
    std::int64_t dropped_to{0};  ///< tokens [sink, dropped_to) are dropped
    bool whole{false};           ///< its prompt is complete
  };
  struct Copy {
    std::int64_t from;  ///< an address
    std::int64_t slots, copied;
  };
  [[nodiscard]] Table& at(RequestId r) { return tables_[r]; }
  void leave(RequestId request);
  void fresh(Table& table, BlockId block);
  void write(RequestId request, std::int64_t tokens);
  void take_before(SimTime time);
  void settle(SimTime time, const core::PoolCounts& pool);
  void take();
  void take_blocks();
  void take_states(RequestId request, const Table& table);
  void take_shared();
  void take_cached(BlockId block, std::int64_t group);
  void take_alone(RequestId request, const Table& table);
  void take_course(RequestId request, const Table& table);
  void add(HeldRow row);
  [[nodiscard]] bool keeps(const Table& table, std::int64_t window, std::int64_t position) const;
  [[nodiscard]] std::int64_t kept(const Table& table) const;
  void put_tokens(StateCounts& bytes, State state, std::int64_t tokens) const {
    put_cells(bytes, state, tokens * layout_.cells_per_token);
  }
  void put_cells(StateCounts& bytes, State state, std::int64_t cells) const;

  const core::Workload& workload_;
  const Ledger& ledger_;
  core::MemoryLayout layout_;
  core::KeepRule keep_;
  SimTime moment_;
  std::vector<model::LayerGroup> groups_;  // groups of layers; one entry where blocks cover all layers
  std::map<RequestId, Table> tables_;      // requests that were admitted and have not ended
  std::vector<RequestId> running_;
  std::set<RequestId> held_back_;  // requests held back in the step in progress
  bool courses_{false};            // true: requests follow courses
  // the state at the last settled moment, also in the members below
  std::map<RequestId, StateCounts> course_bytes_{};
  std::vector<Ledger::SharedBytes> shared_;
  std::map<BlockId, std::int64_t> written_;  // by block: written tokens, from the block's first one
  std::map<BlockId, std::int64_t> found_;    // cached blocks that a lookup can find, with their group
  std::map<RequestId, Copy> copies_;         // copies that have not ended
  core::PoolCounts pool_{};
  StateCounts ledger_bytes_{};
  SimTime settled_at_{};
  bool taken_{false};
  std::vector<HeldRow> rows_;
};

}  // namespace kvplan::observe
