// A sweep: one scenario in combinations of varied values (all of them, some drawn by chance, or listed ones), each a
// row of a database.
//
// Life cycle: `prepare` reads every combination once, so that slips end it before anything runs, those in price lists
// and models' configs too, and reads the traces, which all cases share as they do all other files; `run_sweep` runs
// what the database does not have yet.
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

/// What is swept. The functions are called from the calling thread of `prepare`.
struct Request {
  std::vector<plan::Setting> settings;
  std::shared_ptr<const plan::Combinations> cases;
  std::string chosen;  ///< how the cases were: "all combinations", ...; for people
  Shard shard;
  std::shared_ptr<plan::Inputs> inputs;  ///< of all cases
  /// The files that a run of a scenario reads, its trace among them.
  std::function<std::vector<std::string>(const plan::Scenario&)> files;
  /// Of the content of a file that is no trace.
  std::function<Result<std::string>(const std::string& path)> digest;
  /// Asked of each scenario that can be read, before any file is; an error ends the sweep.
  std::function<Status(const plan::Scenario&)> check;
  core::RunControl* control{nullptr};
};

class Sweep {
 public:
  /// Errors: a value that no combination can be read with, a trace, price list or config that cannot be read,
  /// interrupted.
  static Result<Sweep> prepare(Request request);

  /// For the database.
  [[nodiscard]] const Head& head() const { return head_; }
  [[nodiscard]] const plan::Combinations& cases() const { return *cases_; }
  /// The i-th case of the shard, i from 0 to head().share.
  [[nodiscard]] std::int64_t case_of_share(std::int64_t i) const {
    return head_.shard.count == 1 ? i : share_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] Result<plan::Scenario> scenario(std::int64_t number) const;
  /// The files of the cases, their traces among what has been read.
  [[nodiscard]] plan::Inputs& inputs() const { return *inputs_; }

 private:
  std::vector<plan::Setting> settings_;
  std::shared_ptr<const plan::Combinations> cases_;
  std::shared_ptr<plan::Inputs> inputs_;
  std::vector<std::int64_t> share_;  // cases of the shard; empty where there is one shard
  Head head_;
};

struct SweepOptions {
  int threads{1};  ///< runs at once; each holds a pool and the books of it
  core::RunControl* control{nullptr};
  /// Told in the calling thread of each case that is in the database. May be empty.
  std::function<void()> on_case;
};

/// Runs the cases of the shard that the database does not have. A case that cannot run is a row with its error. Errors:
/// the database cannot be written, interrupted. What was done by then is kept. REQUIRES: the database is of this shard.
Status run_sweep(const Sweep& sweep, Database& database, const SweepOptions& options);

}  // namespace kvplan::sweep
