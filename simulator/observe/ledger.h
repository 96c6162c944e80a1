// The ledger: every byte of KV memory is in exactly one state, at every moment.
//
// It is an observer. The seven held states are counted from the tokens that requests were granted, wrote, dropped and
// freed; `cached`, `stranded` and `free` are the pool's own counts. No state is computed as a remainder. So comparing
// the sum with the capacity checks two independent accounts against each other. This check runs at construction, at the
// end of every pass and of every step, and when everything that the end of a step frees is free (on_settled). A
// difference stops the program. How to add a state: simulator/docs/measurements.md, "The ledger".
//
// Three accounts know which cells each request holds and which of them it keeps: keep_account.h for keep rules,
// course_account.h for courses, group_account.h for groups of layers. The ledger sums, checks and reports.
//
// It counts in tokens. Where a token policy treats the cells of a token separately (courses, groups of layers) and
// where allocation units do not hold whole tokens, it counts in bytes: see MemoryLayout::count_bytes.
//
// For the time between two changes it gives its sinks a `LedgerSpan`: a series of steps during which each state changes
// by a fixed amount per step. Integrals, timelines and peaks are sums over spans.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/core/observer.h"
#include "simulator/observe/course_account.h"
#include "simulator/observe/group_account.h"
#include "simulator/observe/keep_account.h"
#include "simulator/observe/ledger_sink.h"

namespace kvplan::observe {

/// Results of eviction, counted beside the ledger.
struct EvictionCounts {
  /// Tokens dropped, counted for each request; if cells of a token are dropped separately, cells divided by cells per
  /// token, rounded down
  std::int64_t tokens{0};
  /// Blocks that running requests freed because nothing in them was kept (any more, or by the request)
  std::int64_t blocks_freed{0};
  std::int64_t hole_cells_peak{0};  ///< most counts in state hole during any step
  std::int64_t compactions{0};
  std::int64_t compacted_cells{0};  ///< cells that requests kept when they were compacted
};

class Ledger final : public core::Observer {
 public:
  /// `columns`: unused columns, shared by the ledgers of a run; null: this ledger makes its own.
  Ledger(const core::Workload& workload, const core::MemoryLayout& layout, const core::KeepRule& keep,
         std::vector<LedgerSink*> sinks, const core::AccountColumns* columns = nullptr);

  /// The current states: in counts (without padding) and in bytes (with padding; their sum is the capacity).
  [[nodiscard]] StateCounts cells() const { return told(cells_); }
  [[nodiscard]] StateCounts bytes() const;
  /// The states of what one request holds alone. REQUIRES: it is running and follows a course.
  [[nodiscard]] StateCounts course_bytes(RequestId request) const;
  /// Blocks that several requests with courses hold, by id.
  struct SharedBytes {
    BlockId block;
    std::vector<RequestId> holders;  ///< ascending
    StateCounts bytes;
  };
  [[nodiscard]] std::vector<SharedBytes> shared_bytes() const;
  [[nodiscard]] const core::MemoryLayout& layout() const { return layout_; }
  [[nodiscard]] const EvictionCounts& evictions() const { return evictions_; }
  /// When the last step ended. REQUIRES: after on_end.
  [[nodiscard]] SimTime end() const { return end_; }
  /// Extends the last state until `time`; for replicas that end before others. REQUIRES: after on_end.
  void extend_to(SimTime time);

  void on_pass_begin(SimTime time) override;
  void on_preempt(const core::Release& release) override;
  void on_admit(const core::Admission& admission) override;
  void on_course(RequestId request, const core::Course& course) override;
  void on_free_blocks(const core::FreedBlocks& gone) override;
  void on_move(const core::Move& move) override;
  void on_copies_end(SimTime time, std::span<const core::Move> copies, const core::PoolCounts& pool) override;
  void on_grant(const core::Grant& grant) override;
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override;
  void on_chunk(const core::Chunk& chunk) override;
  void on_pass_end(const core::Pass& pass) override;
  void on_steps(const core::Steps& steps) override;
  void on_decode_run(const core::DecodeRun& decode_run) override;
  [[nodiscard]] bool follows_decode_runs() const override { return true; }
  void on_step_end(SimTime time, std::span<const RequestId> finishing) override;
  void on_drop(const core::Drop& drop) override;
  void on_compact(const core::Compacted& compacted) override;
  void on_settle(const core::Settled& settled) override;
  void on_finish(SimTime time, const core::Release& release) override;
  void on_settled(SimTime time, const core::PoolCounts& pool) override;
  void on_end(SimTime time) override;

 private:
  std::int64_t& cell(State s) { return cells_[index(s)]; }
  /// Cells that are not written, by their state.
  struct Unwritten {
    std::int64_t reserved, tail, internal;
  };
  [[nodiscard]] Unwritten unwritten(RequestId request, std::int64_t from, std::int64_t to) const;
  void add_unwritten(RequestId request, std::int64_t from, std::int64_t to, int sign);
  LedgerGrants grants_of(std::span<const core::DecodeGrant> grants);
  void add_table(RequestId request, std::int64_t alloc_units, int sign);
  void give_back(const core::Release& release);
  void give_back_alone(const core::Release& release);
  /// Updates live and hole from the keep rule's account. Only where the rule evicts.
  void set_holes() {
    const std::int64_t more = (kept_.holes() - holes_) * token_counts_;
    holes_ = kept_.holes();
    cell(State::kHole) += more;
    cell(State::kLive) -= more;
    evictions_.tokens = kept_.dropped_tokens();
  }
  void set_pool(const core::PoolCounts& pool);
  [[nodiscard]] StateCounts counts_of(const core::HeldCells& cells) const;
  /// True: counts are stored in bytes of cells, as sinks get them, because an account knows all states.
  [[nodiscard]] bool by_cell() const { return courses_ || groups_ || layout_.tables > 1; }
  /// Converts stored counts to those that sinks get. Unless by_cell(), counts are stored in tokens; where each token
  /// has metadata (scales), a live token becomes bytes of two states.
  [[nodiscard]] StateCounts told(const StateCounts& counts) const;
  /// The current state, converted.
  const StateCounts& told_now() { return told_as_kept_ ? cells_ : told_ = told(cells_); }
  /// Decides whether counts are stored as sinks get them; called again when requests turn out to follow courses.
  void find_how_told();
  void set_courses();
  void set_groups();
  void tell_kinds(const GroupAccount::ByKind& held, const GroupAccount::ByKind& growth) const;
  StateCounts run_groups(std::int64_t steps);
  /// Sets the seven held states from an account.
  void set_held(const core::HeldCells& held);
  void check() const;

  const core::Workload& workload_;
  core::MemoryLayout layout_;
  core::KeepRule keep_;
  std::vector<LedgerSink*> sinks_;
  std::vector<LedgerSink*> none_held_sinks_;  // sinks that want on_nothing_held
  StateCounts cells_{};                       ///< see told()
  StateCounts told_{};                        // the result of told_now()
  bool told_as_kept_{false};
  std::vector<LedgerGrants> decode_run_passes_;  // used by on_decode_run
  core::PoolCounts told_pool_{};
  core::Refusal told_refusal_{core::Refusal::kNone};
  EvictionCounts evictions_;
  SimTime observed_until_{};
  SimTime end_{};
  bool refused_{false};
  core::Refusal refusal_{core::Refusal::kNone};
  std::int64_t running_{0};
  std::int64_t waiting_{0};
  /// No allocation unit is ever shared (contiguous memory, blocks without ids): everything is counted by
  /// request.
  bool alone_;
  std::int64_t token_counts_;          // counts of one token, where requests follow no courses
  std::int64_t own_bytes_;             // bytes of one such count
  std::int64_t alloc_unit_counts_{0};  // counts of an allocation unit, in the unit kept here
  std::int64_t check_bytes_{0};        // bytes of a count, in the unit kept here
  core::AccountColumns columns_;       // columns of kept_, courses_ or groups_, whichever is used
  // by request with the form kTensors: length of its tensors
  std::unordered_map<RequestId, std::int64_t> tensor_tokens_;
  KeepAccount kept_;                      // used where requests follow no courses and layers lie in no groups
  std::int64_t holes_{0};                 // holes of kept_, in tokens, as they are in cells_
  std::optional<CourseAccount> courses_;  // used once a request follows a course; then all do
  std::vector<BlockId> found_;  // prefix hit of the request admitted last, until its course is reported
  std::unique_ptr<GroupAccount> groups_;  // used where layers lie in groups
  std::int64_t steps_in_progress_{0};
};

}  // namespace kvplan::observe
