// Makes the records of an event log: an observer of a run, which converts the engine's
// reports.
// Records do not depend on how the engine got from one event to the next: consecutive equal steps become one record,
// however they were reported.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/core/observer.h"
#include "simulator/core/workload.h"
#include "simulator/io/log/events.h"

namespace kvplan::io {

/// The properties of the run that the log states. Pointers outlive everything made from it.
struct EventLogOptions {
  const core::Workload* workload{nullptr};
  core::MemoryLayout layout{};
  bool null_block{true};     ///< paged memory in which block 0 is never handed out (vLLM)
  bool prefix_cache{false};  ///< full blocks are inserted into the cache, or pages into a radix tree
  event_log::Rules rules{};  ///< rules of the engine's scheduler
  core::KeepRule keep{};     ///< keep rule of the run
  /// With courses: cells of one token in each track, the same for all courses of the run.
  std::vector<std::int32_t> track_units{};
  bool reuse{false};            ///< placement of the courses
  bool compacts{false};         ///< placement of the courses is compact: survivors move together
  bool counted{false};          ///< only the number of dropped tokens is known, not which
  std::int64_t prompt_rows{0};  ///< as in event_log::Header
  std::int32_t replicas{1};
  std::string allocator{};  ///< as in the scenario, with all parameters
  std::string scenario{};   ///< resolved scenario
  std::string trace_digest{};
  std::string writer{};  ///< program and version
};

event_log::Header header_of(const EventLogOptions& options);

/// Life cycle: observes one run, placed after the observer that supplies the totals.
class EventRecorder : public core::Observer {
 public:
  /// Bytes by state after the latest event, in the order of event_log::Totals. Called at the end of a pass, at the
  /// end of a step, and when that has settled.
  using TotalsNow = std::function<event_log::Totals()>;

  EventRecorder(const EventLogOptions& options, TotalsNow totals);
  ~EventRecorder() override;

  void on_arrival(SimTime time, RequestId request, bool accepted) override;
  void on_pass_begin(SimTime time) override;
  void on_preempt(const core::Release& release) override;
  void on_admit(const core::Admission& admission) override;
  void on_course(RequestId request, const core::Course& course) override;
  void on_move(const core::Move& move) override;
  void on_grant(const core::Grant& grant) override;
  void on_decode_grants(std::span<const core::DecodeGrant> grants) override;
  void on_hold_back(RequestId request) override;
  void on_chunk(const core::Chunk& chunk) override;
  void on_pass_end(const core::Pass& pass) override;
  void on_steps(const core::Steps& steps) override;
  void on_step_end(SimTime time, std::span<const RequestId> finishing) override;
  void on_first_token(SimTime time, RequestId request) override;
  void on_drop(const core::Drop& drop) override;
  void on_compact(const core::Compacted& compacted) override;
  void on_free_blocks(const core::FreedBlocks& gone) override;
  void on_finish(SimTime time, const core::Release& release) override;
  void on_settled(SimTime time, const core::PoolCounts& pool) override;
  void on_insert(RequestId request, std::int64_t logical_block, BlockId block) override;
  void on_evict_block(BlockId block) override;
  void on_settle(const core::Settled& settled) override;
  void on_evict_pages(std::int64_t first_page, std::int64_t pages) override;
  void on_end(SimTime time) override;
  [[nodiscard]] bool wants_insertions() const override { return true; }

 protected:
  /// Gets each record once, in order.
  virtual void put(event_log::Record record) = 0;
  /// Start time of a run of equal steps that may still grow. That run, and everything after its begin, was not passed
  /// to `put` yet. INT64_MAX: everything was passed on.
  [[nodiscard]] std::int64_t open_since() const;

 private:
  class Steps;

  /// Writes a record that ends a run of equal steps; records that were held back are written first.
  void write(event_log::Fact fact, event_log::Claims claims = {});
  [[nodiscard]] event_log::Claims totals_now() const;
  /// The digest or number of kept tokens, for a request that leaves the running list.
  event_log::Claims kept_at_the_end(RequestId request, std::int64_t written, bool finished);
  /// State of requests with several tables; other requests need none.
  struct Written {
    std::int64_t tokens{0};
    std::int64_t chunk{0};  ///< tokens computed in the step in progress
  };
  void grant_tables(RequestId request);
  void write_counts(RequestId request, const core::Course& course);
  /// Key of the content at this entry of the request's table.
  [[nodiscard]] event_log::ContentKey key(RequestId request, std::int64_t entry) const;
  [[nodiscard]] std::span<const std::uint32_t> prefix_ids(RequestId request) const;
  void write_grant(RequestId request, std::int64_t first_block, std::int64_t alloc_units,
                   std::span<const BlockId> blocks, std::int64_t tensor_tokens);

  const core::Workload& workload_;
  bool numbered_;        ///< blocks have ids
  bool tree_;            ///< prefixes are cached in a radix tree
  bool by_alloc_units_;  ///< a grant has an id for each allocation unit
  bool returns_alloc_units_;
  core::KeepRule::Emptied emptied_{};  ///< result of the latest drop
  std::vector<std::int32_t> track_units_;
  bool counted_;
  event_log::Rules rules_;
  std::int64_t alloc_unit_tokens_, tables_;  ///< tokens of a unit; tables of a request
  bool in_groups_;                           ///< layers lie in groups
  std::int64_t entries_per_block_;           ///< entries of a table for a logical block: one for each group
  std::int64_t cells_of_cell_;               ///< cells of the log per cell of the run, with courses
  core::KeepRule keep_;
  std::unordered_map<RequestId, const core::Course*> courses_;  ///< of running requests
  std::unordered_map<RequestId, Written> written_;  ///< running requests, if they have several tables
  std::int64_t steps_in_progress_{0};
  std::unordered_set<RequestId> sliding_;    ///< running requests that have dropped tokens by the keep rule
  std::optional<core::ContentNames> names_;  ///< only with a prefix cache
  TotalsNow totals_;
  std::unique_ptr<Steps> steps_;
  std::vector<std::int64_t> publication_of_;  ///< by block id; -1: its content is not in the cache
  std::int64_t publications_{0};
  bool refused_{false};      ///< the latest pass was refused an allocation
  bool mixed_batch_{false};  ///< the pass in progress has a chunk, begins a copy, or holds a request back
};

}  // namespace kvplan::io
