// State of a replay of one replica between two facts. The rules are in replay_scheduler.cpp (passes), replay_hits.cpp
// (hits and insertions), replay_victims.cpp (preemption victims), replay_preemption_order.cpp (which request is
// preempted first), replay_steps.cpp (steps and their ends), replay_tree.cpp (radix tree) and replay_claims.cpp
// (comparison).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "validator/replay/arena.h"
#include "validator/replay/byte_arena.h"
#include "validator/replay/preemption_order.h"
#include "validator/replay/replay.h"

namespace kvplan::validator {

namespace log = event_log;

/// Names of the states, in the order of log::Totals.
inline constexpr std::array<const char*, log::kStates> kStateNames{
    "metadata", "live", "reserved", "hole", "tail", "padding", "internal", "cached", "stranded", "free"};
Quantity peak_quantity(std::size_t state, std::int64_t predicted, std::int64_t measured);

/// Requests that arrived, over all replicas of a log.
using ArrivedRequests = std::unordered_set<RequestId>;

class Replay::Impl {
 public:
  /// Errors: as Replay::create. `arrived`: shared by all replicas of a log.
  static Result<std::unique_ptr<Impl>> create(const log::Header& header, Backend& backend,
                                              const ReplayOptions& options,
                                              std::shared_ptr<ArrivedRequests> arrived);
  Impl(const log::Header& header, Backend& backend, const ReplayOptions& options,
       std::shared_ptr<ArrivedRequests> arrived);
  /// `event`: number of the record in its log.
  Status apply(const log::Record& record, std::int64_t event);
  [[nodiscard]] bool stopped() const { return report_.contradiction; }
  /// `whole`: the log was read to its end, so this replica must have ended too.
  Result<Report> finish(bool whole);

  // For several replicas on one clock: the state between two facts.
  [[nodiscard]] const Report& report() const { return report_; }
  [[nodiscard]] log::Totals totals() const { return totals(counts()); }
  [[nodiscard]] std::int64_t running_requests() const { return static_cast<std::int64_t>(running_.size()); }
  /// End of the next reported step; INT64_MAX: none is in progress.
  [[nodiscard]] std::int64_t next_step_end() const;
  /// Writes the tokens of all steps that have ended by `time`. REQUIRES: all facts up to that tick were applied, the
  /// latest is `event`, and a step is still in progress after it; otherwise the facts contradict each other.
  Status step_to(std::int64_t time, std::int64_t event);

  // One function for each kind of fact. Contradictions are reported by `contradict`.
  Status on(const log::Arrival& f);
  Status on(const log::PassBegin& f);
  Status on(const log::Preempt& f);
  Status on(const log::Reclaim& f);
  Status on(const log::Admit& f);
  Status on(const log::Grant& f);
  Status on(const log::Publish& f);
  Status on(const log::Chunk& f);
  Status on(const log::PassEnd& f);
  Status on(const log::StepRun& f);
  Status on(const log::StepEnd& f);
  Status on(const log::FirstToken& f);
  Status on(const log::Drop& f);
  Status on(const log::Finish& f);
  Status on(const log::Settled& f);
  Status on(const log::End& f);
  Status on(const log::Course& f);
  Status on(const log::LetGo& f);
  Status on(const log::Move& f);
  Status on(const log::Counts& f);
  Status on(const log::Compact& f);
  Status on(const log::PrefixIds& f);
  Status on(const log::Settle& f);
  Status on(const log::TickEnd& f);
  Status on(const log::FleetEnd& f);
  Status on(const log::HoldBack& f);

 private:
  /// The position of the log within a pass and its steps, which decides the facts that may follow.
  enum class Phase { kIdle, kPass, kDecided, kSteps, kEnding, kOver };
  /// The reports about one request in a pass, in this order.
  enum Stage : std::int64_t { kNothing, kAdmitted, kCoursed, kGranted, kPublished, kScheduled };

  Status begin();
  // Contradictions stop the replay; the first one is reported.
  Status contradict(const std::string& what);
  Status contradict(RequestId request, const std::string& what);
  void note(const std::string& what);
  Request* running(RequestId id);
  /// Requests are reported in admission order within a pass, each in the order of stages.
  bool in_order(Request& request, Stage stage);
  void leave(Request& request);
  Status give_all_back(Request& request);
  Status grant_range(Request& request, const log::Grant& f);
  Status grant_bytes(const Request& request, const log::Grant& f);
  /// The cells of the memory in use, by state.
  [[nodiscard]] const CellCounts& counts() const { return bytes_ ? bytes_->counts() : arena_.counts(); }
  [[nodiscard]] std::int64_t cells() const { return bytes_ ? bytes_->cells() : arena_.cells(); }
  Status progress(const std::vector<Arena::Progress>& all, const std::function<void()>& change) {
    return bytes_ ? bytes_->progress(all, change) : arena_.progress(all, change);
  }

  // replay_hits.cpp
  Status begin_found(Request& request, const log::Admit& f, bool goes_on);
  Status take_hits(Request& request, const log::Admit& f);
  Status read_hit(const Request& request, std::int64_t publication, log::ContentKey key, std::int64_t entry);
  Result<std::vector<std::int64_t>> entries_of_hits(Request& request, std::int64_t hits);
  Status check_found();

  // replay_victims.cpp
  Status check_victim(const Request& request);
  Status check_retracted(const Request& request);
  void sort_for_retraction();

  // replay_preemption_order.cpp
  void begin_pass_order();
  bool follows_pass_order(const Request& request, Stage stage);
  /// The latest stage that a request may have reached when it is preempted.
  [[nodiscard]] Stage latest_stage_of_victim() const;
  Status check_preempted_first(const Request& request);
  /// Called when it is known that `asks` finds too little memory, for which `victim` is preempted.
  void preempted_for(const Request& asks, const Request& victim);
  Status check_all_held_back();
  [[nodiscard]] bool any_request_computes() const;

  // replay_tree.cpp
  Status take_found(Request& request, std::int64_t found_pages);
  Status read_found(const Request& request, const std::vector<std::int64_t>& alloc_units);
  Status put_into_tree(Request& request, std::int64_t pages);
  Status reclaim_pages(const log::Reclaim& f);

  // replay_windows.cpp
  [[nodiscard]] bool has_groups() const { return !header_.groups.empty(); }
  [[nodiscard]] std::vector<std::int32_t> left_behind(Request& request, std::int64_t computed) const;
  Status leave_windows(const log::LetGo& f);
  Status check_left(Request& request, std::int64_t computed);
  void remember_what_it_owes(Request& victim);

  // replay_courses.cpp
  [[nodiscard]] bool follows_courses() const { return !header_.track_units.empty(); }
  Status begin_course(Request& request);
  Status check_course(Request& request);
  /// Tokens that a request had written at its first drop; blocks that fill later are not inserted.
  [[nodiscard]] std::int64_t findable_to(const Request& request) const;
  Status check_course_room(const Request& request, std::int64_t tokens);
  Status check_let_go_between(const Request& request, std::int64_t tokens);
  [[nodiscard]] bool owes_blocks(const Request& request) const;

  // replay_gathered.cpp
  Status told_in_turn(const Request* request, RequestId id);
  Status check_gathered_room(const Request& request, std::int64_t tokens);
  Status compact_table(Request& request, std::int64_t table, const log::Compact& f);
  Status grant_tables(Request& request, const log::Grant& f);
  [[nodiscard]] bool names_tables(std::int32_t first, std::int32_t tables) const;
  [[nodiscard]] std::int64_t blocks_of(const Request& request, std::int64_t table) const;
  [[nodiscard]] std::int64_t cells_kept(const Request& request, std::int64_t from, std::int64_t to) const;
  [[nodiscard]] std::int64_t cells_kept(const Request& request) const;

  // replay_steps.cpp
  struct StepsTaken {
    std::int64_t steps;
    bool last;  ///< the last ones reported: something may be due after them
  };
  [[nodiscard]] std::int64_t tokens_in(const Request& request, const StepsTaken& taken) const;
  Status plan_steps(const StepsTaken& taken, std::vector<Arena::Progress>& all);
  Status take_steps(const StepsTaken& taken);
  Status check_room(Request& request, std::int64_t tokens);
  Status after_step();
  Status check_published(Request& request);
  bool in_ending_order(const Request& request);
  [[nodiscard]] log::Drop blocks_to_free(const Request& request) const;

  // replay_claims.cpp
  Status claim_places(const log::Record& record);
  /// Called before the fact is applied, because the kept tokens of its request are gone afterwards.
  void claim_kept(const log::Record& record);
  void claim_block(AllocUnit& alloc_unit, std::int32_t id, bool hit);
  void claim_range(Request& request, std::int32_t address);
  void claim_move(Request& request, const log::Move& move, std::int32_t address);
  void claim_bytes(Request& request, const log::Grant& grant, const std::vector<std::int32_t>& places);
  void claim_tensors(Request& request, const log::Grant& grant, const std::vector<std::int32_t>& places);
  Status claim_totals(const log::Claims& claims, bool with_counts);
  [[nodiscard]] log::Totals totals(const CellCounts& counts) const;
  Status scan();

  log::Header header_;
  Backend& backend_;
  ReplayOptions options_;
  Requests requests_;
  Arena arena_;
  std::optional<ByteArena> bytes_;  ///< used instead of arena_ if allocation units do not hold whole tokens
  Report report_;
  const char* fact_name_{""};
  std::int64_t event_{0};
  std::int64_t now_{0};  ///< time of the latest pass, step end or settled moment
  std::int64_t last_arrival_{0};
  bool work_left_{false};  ///< work was left when the latest step had settled
  Phase phase_{Phase::kIdle};
  std::vector<RequestId> running_;  ///< in admission order
  std::int64_t waiting_{0};
  std::int64_t next_rank_{0};
  bool refused_{false};

  // State of the pass in progress
  std::int64_t preempted_{0};
  std::int64_t order_{-1};                ///< rank of the latest reported request
  std::int64_t first_admitted_{0};        ///< ranks from here on are requests that the pass admits
  std::optional<RequestId> victim_owes_;  ///< the last victim, if it kept blocks behind its windows
  std::vector<std::int64_t> taken_hits_;  ///< allocation units that the latest admission took
  std::int64_t found_places_{0};          ///< hit blocks of all running requests, with groups of layers
  PassOrder pass_order_;
  std::vector<std::pair<RequestId, std::int64_t>> publishing_;  ///< (request, logical block)
  // State of the step in progress
  bool mixed_{false};
  std::int64_t steps_{0};
  std::vector<log::StepRun> runs_;  ///< the runs of steps, as reported
  std::size_t run_{0};              ///< the first run with steps that have not ended
  /// Number of steps with tokens that were written before the last step ends
  std::int64_t taken_{0}, taken_of_run_{0};
  std::int64_t ending_order_{-1};

  std::shared_ptr<ArrivedRequests> arrived_;
  std::int64_t next_publication_{0};
  std::int64_t first_of_pass_{0};  ///< publications with this number or a higher one belong to this pass
  std::unordered_map<std::int64_t, std::int64_t>
      publications_;  ///< contents that can be hit: number -> allocation unit
  PageTree tree_;     ///< used if the engine has a radix tree
  /// Hits of blocks that the next step will fill
  std::vector<std::pair<std::int64_t, log::ContentKey>> unfinished_hits_;
  std::unordered_set<std::int32_t> taken_ids_;         ///< block ids in use by the claims
  std::map<std::int64_t, std::int64_t> taken_ranges_;  ///< claimed: address -> slots
  std::vector<std::int64_t> read_ranges_;              ///< addresses of ranges that copies of this step read
  std::unordered_map<RequestId, std::vector<std::int32_t>>
      byte_places_;  ///< claimed if memory is counted in bytes
  std::int64_t hit_cells_read_{0}, hit_cells_right_{0};
  log::Totals peak_claimed_{}, peak_found_{};
};

}  // namespace kvplan::validator
