// A sweep: one scenario in combinations of varied values (all of them, random ones, or a list), each combination a
// row of a database.
//
// Life cycle: `prepare` parses every combination once, so that mistakes end it before anything runs, also mistakes in
// price lists and models' configs. It reads the traces, which all cases share like all other files. `run_sweep` runs
// the cases that the database does not have yet.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulator/run/run.h"
#include "simulator/scenario/vary.h"
#include "simulator/study/inputs.h"
#include "simulator/sweep/database.h"
#include "simulator/sweep/shard.h"

namespace kvplan::sweep {

/// Most cases of one sweep.
inline constexpr std::int64_t kMostCases = 10'000'000;

/// The cases of a sweep and their inputs. The functions are called from the calling thread of `prepare`.
struct Request {
  std::vector<runs::Setting> settings;
  std::shared_ptr<const runs::Combinations> cases;
  std::string chosen;  ///< how the cases were chosen: "all combinations", ...; as text
  Shard shard;
  std::shared_ptr<runs::Inputs> inputs;  ///< shared by all cases
  /// The files that a run of a scenario reads, including its trace.
  std::function<std::vector<std::string>(const runs::Scenario&)> files;
  /// Digest of the content of a file that is not a trace.
  std::function<Result<std::string>(const std::string& path)> digest;
  /// Called with each valid scenario before any file is read; an error ends the sweep.
  std::function<Status(const runs::Scenario&)> check;
  core::RunControl* control{nullptr};
};

class Sweep {
 public:
  /// Errors: a value that is valid in no combination; a trace, price list or config that cannot be read; interrupted.
  static Result<Sweep> prepare(Request request);

  /// The head of its database.
  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] const runs::Combinations& cases() const { return *cases_; }
  /// The i-th case of the shard, i from 0 to head().share.
  [[nodiscard]] std::int64_t case_of_share(std::int64_t i) const {
    return head_.shard.count == 1 ? i : share_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] Result<runs::Scenario> scenario(std::int64_t number) const;
  /// The files of the cases; traces have been read.
  [[nodiscard]] runs::Inputs& inputs() const { return *inputs_; }

 private:
  std::vector<runs::Setting> settings_;
  std::shared_ptr<const runs::Combinations> cases_;
  std::shared_ptr<runs::Inputs> inputs_;
  std::vector<std::int64_t> share_;  // cases of the shard; empty with a single shard
  Head head_;
};

struct SweepOptions {
  int threads{1};  ///< concurrent runs; each needs memory for a pool
  core::RunControl* control{nullptr};
  /// Called in the calling thread after each case that was written to the database. May be empty.
  std::function<void()> on_case;
};

/// Runs the cases of the shard that the database does not have. A case that cannot run becomes a row with its error.
/// Errors: the database cannot be written, interrupted; finished cases stay in it. REQUIRES: the database belongs to
/// this shard.
Status run_sweep(const Sweep& sweep, Database& database, const SweepOptions& options);

}  // namespace kvplan::sweep
