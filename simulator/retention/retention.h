// Which tokens of its requests a run keeps: one of these kinds, one file each, behind one interface.
//
//   KeepAll       every token, until the request ends
//   KeepByRule    first and newest tokens, one rule for all requests (window, streaming-llm in place)
//   KeepInterval  first and newest tokens of each layer or head, or where slots are used again
//   KeepCounted   the number of kept tokens follows from lengths, and survivors are compacted (placement=compact)
//   KeepRecorded  attention decides, replayed on recordings; or random numbers and positions, on the model's shape
//   KeepSets      a file says which tokens stay (recorded)
//   KeepEncoded   every token, or a counted number, in a format with bytes that follow from all stored tokens
//
// A kind provides: the keep rule or the courses of requests (courses/course.h); which requests it can serve; the
// entries of an event log about evicted tokens; the cost of a prefix hit; and sentences for the report when the run is
// over. Its needs of memory (cells of a token, tables, metadata) are in RunTokens::memory. scenario/combinations.h says
// which kinds work with which other choices of a scenario.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/retention/driving_recordings.h"
#include "simulator/retention/placed_policy.h"

namespace kvplan::runs {

/// What an event log records about evicted tokens. REQUIRES: requests follow courses with cells in slots.
struct LogCells {
  core::Placement placement{core::Placement::kHoles};
  /// Number of sets of cells of a token on the rank that drop the same tokens, if the dropped tokens are known; 0 if
  /// only their number is known, or if other ranks' tracks matter.
  std::int64_t known_tracks{0};
  std::int64_t tables{1};
  /// If not empty: units of the tracks of all tables; 0 for a track that holds blocks for other ranks.
  std::vector<std::int32_t> rank_units{};
  bool others_keep_more{false};  ///< each table has one more track, for the tokens that other ranks keep
};

/// Results of a finished run that the report's sentences need.
struct AfterRun {
  bool paged{false};  ///< its allocator has block tables
  std::optional<double>
      hole_fraction{};  ///< mean fraction of the memory that is holes; absent if no time passed
};

class Retention {
 public:
  virtual ~Retention() = default;

  /// The tokens that requests keep if they follow no courses.
  [[nodiscard]] virtual core::KeepRule keep_rule() const { return {}; }
  [[nodiscard]] virtual bool follows_courses() const { return true; }
  /// Null: no token is evicted, or the keep rule decides.
  [[nodiscard]] virtual const PlacedPolicy* policy() const { return nullptr; }
  /// Null: no recording drives requests.
  [[nodiscard]] virtual const DrivingRecordings* driving() const { return nullptr; }
  /// True: a request that no recording can drive is only counted: the number of its kept tokens follows from lengths.
  [[nodiscard]] virtual bool counts_undriven() const { return false; }

  /// The course of an admitted request. Errors: a recording that cannot be read or keeps another number of tokens
  /// than lengths say; ranks with different counts that share no tables. REQUIRES: follows_courses().
  virtual Result<CoursePtr> course(const CourseAsked& asked, CourseInputs& inputs) const = 0;
  /// Checks that every request that the engine would accept can be served. The error names the first that cannot.
  [[nodiscard]] virtual Status check_requests(const core::Workload& /*workload*/,
                                              const core::Memory& /*memory*/,
                                              std::int64_t /*most_tokens*/) const {
    return Done{};
  }
  [[nodiscard]] virtual LogCells log_cells() const { return {}; }
  /// The cost of a prefix hit. `asked`: the scenario asks for prefix caching, and its allocator offers it.
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
  /// The sentence about holes; if ranks keep different numbers, also which rank the figures describe.
  [[nodiscard]] std::vector<std::string> sentences(const AfterRun& run) const override;
  /// If layers or heads keep different numbers: how much of a block that spans all of them is unused; else empty.
  [[nodiscard]] std::string hole_sentence(const AfterRun& run) const;

 protected:
  /// True: layers or heads may keep different numbers of tokens.
  [[nodiscard]] virtual bool may_differ() const = 0;
  /// True: the number of kept tokens follows from lengths.
  [[nodiscard]] virtual bool counted() const { return false; }

  PlacedPolicy policy_;
};

/// Number of requests that are only counted, because their recording is too short.
std::int64_t undriven_requests(const Retention& retention, const core::Workload& workload);

/// The driven prompts of a run; empty if nothing is replayed. Rejected and counted requests are left out.
LongestDriven longest_driven(const Retention& retention, const core::Workload& workload);

}  // namespace kvplan::runs
