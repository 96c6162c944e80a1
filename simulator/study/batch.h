// Runs numbered pieces of work on several threads and passes on each outcome as soon as it exists, in any order, so a
// long piece delays no other. Memory does not grow with the number of pieces: only a few numbers and outcomes wait at a
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "simulator/run/run.h"

namespace kvplan::runs {

/// The outcome of one piece: a result, or the error.
struct Outcome {
  std::int64_t number{0};
  std::optional<Error> error{};
  /// true: memory ran out; the piece may succeed if it runs alone
  bool starved{false};
  std::optional<RunResult> result{};
};

struct Batch {
  int threads{1};
  /// Returns the next number, nothing at the end. Called in the calling thread.
  std::function<Result<std::optional<std::int64_t>>()> next;
  /// Called from several threads. A piece without memory runs again alone; an error of kind kInterrupted ends the
  /// batch.
  std::function<Outcome(std::int64_t number)> run;
  /// Takes an outcome, in the calling thread.
  std::function<Status(Outcome&&)> done;
  /// Called in the calling thread now and then while there is no outcome.
  std::function<Status()> idle;
};

/// Returns when all pieces are done, or early: with the first error of `next`, `done` or `idle`, or
/// interrupted_error(). Outcomes from before an interruption are still passed on. All threads have ended on return.
Status run_batch(const Batch& batch);

}  // namespace kvplan::runs
