// What a run keeps of the tokens of its requests: one of these kinds, one file each, behind one interface.
//
//   KeepAll       every token, until the request ends
//   KeepByRule    first and newest tokens, one rule for all requests (window, streaming-llm in place)
//   KeepInterval  first and newest tokens of each layer or head, or where slots are used again
//   KeepCounted   the number of kept tokens follows from lengths, and survivors are compacted (placement=compact)
//   KeepRecorded  attention decides, replayed on recordings; or random numbers and positions, on the model's shape
//   KeepSets      a file says which tokens stay (recorded)
//   KeepEncoded   every token, or those that are counted, in a format with bytes that follow from all that is stored
//
// A kind provides: the keep rule or the courses of requests (courses/course.h); which requests it can serve; what an
// event log says about evicted tokens; what a prefix hit costs; and sentences for the report when the run is over. What
// it needs of memory (cells of a token, tables, metadata) is in TokenPlan::memory. scenario/combinations.h says which
// kinds work with which other choices of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/retention/driving_recordings.h"
#include "simulator/retention/placed_policy.h"

namespace kvplan::runs {

/// What an event log says about evicted tokens. REQUIRES: requests follow courses with cells in slots.
struct LogCells {
  core::Placement placement{core::Placement::kHoles};
  /// Number of sets of cells of a token on the rank that drop the same tokens, if it is known which tokens go; 0 if
  /// only their number is known, or if other ranks' tracks matter.
  std::int64_t known_tracks{0};
  std::int64_t tables{1};
  /// If not empty: units of the tracks of all tables; 0 for a track that holds blocks for other ranks.
  std::vector<std::int32_t> rank_units{};
  bool others_keep_more{false};  ///< each table has one more track, which stands for other ranks
};

/// Facts of a finished run for the report's sentences.
struct AfterRun {
  bool paged{false};  ///< its allocator has block tables
  std::optional<double>
      hole_fraction{};  ///< mean fraction of the memory that is holes; absent if no time passed
};

class Retention {
 public:
  virtual ~Retention() = default;

  /// What stays of requests that follow no courses.
  [[nodiscard]] virtual core::KeepRule keep_rule() const { return {}; }
  [[nodiscard]] virtual bool follows_courses() const { return true; }
  /// Null: no token is evicted, or the keep rule decides.
  [[nodiscard]] virtual const PlacedPolicy* policy() const { return nullptr; }
  /// Null: no recording drives requests.
  [[nodiscard]] virtual const DrivingRecordings* driving() const { return nullptr; }
  /// Requests that no recording drives are counted: the number of their kept tokens follows from lengths.
  [[nodiscard]] virtual bool counts_undriven() const { return false; }

  /// The course of an admitted request. Errors: a recording that cannot be read or keeps another number of tokens
  /// than lengths say; ranks with different counts that share no tables. REQUIRES: follows_courses().
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

/// Base of the kinds that have a placed policy.
class KeepsByPolicy : public Retention {
 public:
  explicit KeepsByPolicy(PlacedPolicy policy) : policy_(std::move(policy)) {}
  [[nodiscard]] const PlacedPolicy* policy() const override { return &policy_; }
  [[nodiscard]] LogCells log_cells() const override;
  [[nodiscard]] PrefixRule prefix_rule(bool asked) const override { return prefix_rule_of(policy_, asked); }
  /// The sentence about holes, and which rank the figures are of if ranks keep different numbers.
  [[nodiscard]] std::vector<std::string> sentences(const AfterRun& run) const override;
  /// If layers or heads keep different numbers: what a block that spans all of them leaves unused; else empty.
  [[nodiscard]] std::string hole_sentence(const AfterRun& run) const;

 protected:
  /// May layers or heads keep different numbers of tokens?
  [[nodiscard]] virtual bool may_differ() const = 0;
  /// The number of kept tokens follows from lengths.
  [[nodiscard]] virtual bool counted() const { return false; }

  PlacedPolicy policy_;
};

/// Number of requests that are only counted, because their recording is too short.
std::int64_t undriven_requests(const Retention& retention, const core::Workload& workload);

/// Empty if nothing is replayed. Rejected and counted requests are left out.
LongestDriven longest_driven(const Retention& retention, const core::Workload& workload);

}  // namespace kvplan::runs
