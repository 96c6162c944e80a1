// What a run keeps of the tokens of its requests: one of these kinds, a file each, behind one interface.
//
//   KeepAll       every token, until the request ends
//   KeepByRule    first and newest tokens, one rule for all requests (window, streaming-llm in place)
//   KeepInterval  first and newest tokens of each layer or head, or where slots are used again
//   KeepCounted   lengths say how many tokens stay, and survivors move together (placement=compact)
//   KeepRecorded  attention decides, replayed on recordings; or lots and positions, on the model's shape
//   KeepSets      a file says which tokens stay (recorded)
//   KeepEncoded   every token, or those that are counted, in a format whose bytes follow from all that is stored
//
// A kind says: the keep rule or the courses of requests (courses/course.h); which requests it can serve; what an event
// log tells of evicted tokens; what a prefix hit costs; and sentences for the report when the run is over. What it
// needs of memory (cells of a token, tables, metadata) stands in TokenPlan::memory. Which kinds work with what else a
// scenario chooses, scenario/combinations.h says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/retention/driving_recordings.h"
#include "simulator/retention/placed_policy.h"

namespace kvplan::plan {

/// What an event log tells of evicted tokens. REQUIRES: requests follow courses whose cells have slots.
struct LogCells {
  core::Placement placement{core::Placement::kHoles};
  /// Sets of cells of a token on the rank, each of which drops the same tokens, where it is known which tokens go; 0
  /// where only their number is, or where ranks have no tracks of it.
  std::int64_t known_tracks{0};
  std::int64_t tables{1};
  /// Where not empty, units of the tracks of all tables, 0 of a track that holds blocks for other ranks.
  std::vector<std::int32_t> rank_units{};
  bool others_keep_more{false};  ///< in each table a track more stands for other ranks
};

/// What sentences about a finished run are made from.
struct AfterRun {
  bool paged{false};  ///< its allocator has block tables
  std::optional<double>
      hole_fraction{};  ///< mean share of the memory that holes take; absent where no time passed
};

class Retention {
 public:
  virtual ~Retention() = default;

  /// What stays of requests that follow no courses.
  [[nodiscard]] virtual core::KeepRule keep_rule() const { return {}; }
  [[nodiscard]] virtual bool follows_courses() const { return true; }
  /// Null: no token is evicted, or the keep rule says which.
  [[nodiscard]] virtual const PlacedPolicy* policy() const { return nullptr; }
  /// Null: no recording drives requests.
  [[nodiscard]] virtual const DrivingRecordings* driving() const { return nullptr; }
  /// Requests that no recording drives are counted: lengths say how many of their tokens stay.
  [[nodiscard]] virtual bool counts_undriven() const { return false; }

  /// The course of an admission. Errors: a recording that cannot be read or does not keep what lengths say, ranks that
  /// keep different numbers and share no tables. REQUIRES: follows_courses().
  virtual Result<CoursePtr> course(const CourseAsked& asked, CourseInputs& inputs) const = 0;
  /// Can every request that the engine would accept be served? The error names the first that cannot.
  [[nodiscard]] virtual Status check_requests(const core::Workload& /*workload*/,
                                              const core::Memory& /*memory*/,
                                              std::int64_t /*most_tokens*/) const {
    return Done{};
  }
  [[nodiscard]] virtual LogCells log_cells() const { return {}; }
  /// What a prefix hit costs. `asked`: the scenario asks for prefix caching, and its allocator offers it.
  [[nodiscard]] virtual PrefixRule prefix_rule(bool /*asked*/) const { return {}; }
  [[nodiscard]] virtual std::vector<std::string> sentences(const AfterRun& /*run*/) const { return {}; }
};

/// The kinds that share a placed policy.
class KeepsByPolicy : public Retention {
 public:
  explicit KeepsByPolicy(PlacedPolicy policy) : policy_(std::move(policy)) {}
  [[nodiscard]] const PlacedPolicy* policy() const override { return &policy_; }
  [[nodiscard]] LogCells log_cells() const override;
  [[nodiscard]] PrefixRule prefix_rule(bool asked) const override { return prefix_rule_of(policy_, asked); }
  /// The hole sentence, and where ranks keep different numbers, which rank the figures are of.
  [[nodiscard]] std::vector<std::string> sentences(const AfterRun& run) const override;
  /// Where layers or heads keep different numbers, what a block that spans all of them leaves unused; else empty.
  [[nodiscard]] std::string hole_sentence(const AfterRun& run) const;

 protected:
  /// May layers or heads keep other numbers of tokens than each other?
  [[nodiscard]] virtual bool may_differ() const = 0;
  /// Lengths say how many tokens stay.
  [[nodiscard]] virtual bool counted() const { return false; }

  PlacedPolicy policy_;
};

/// Requests of a run that are counted, since their recording is too short for them.
std::int64_t undriven_requests(const Retention& retention, const core::Workload& workload);

/// Empty where nothing is replayed. Requests that are turned away or counted are left out.
LongestDriven longest_driven(const Retention& retention, const core::Workload& workload);

}  // namespace kvplan::plan
