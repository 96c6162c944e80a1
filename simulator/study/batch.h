// Runs numbered pieces of work on several threads and hands their outcomes out one by one, as soon as each is there: in
// no order, so that a long piece keeps nobody waiting. Memory does not grow with the number of pieces: a few numbers
// wait for a thread, a few outcomes for being handed out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "simulator/run/run.h"

namespace kvplan::plan {

/// What became of one piece: a result, or why there is none.
struct Outcome {
  std::int64_t number{0};
  std::optional<Error> error{};
  /// It got no memory; it may where nothing runs beside it.
  bool starved{false};
  std::optional<RunResult> result{};
};

struct Batch {
  int threads{1};
  /// The next number, nothing at the end. Asked in the calling thread.
  std::function<Result<std::optional<std::int64_t>>()> next;
  /// Called from several threads. One that is starved runs again alone; an error of kind kInterrupted ends the batch.
  std::function<Outcome(std::int64_t number)> run;
  /// Takes an outcome, in the calling thread.
  std::function<Status(Outcome&&)> done;
  /// Called in the calling thread now and then while nothing comes.
  std::function<Status()> idle;
};

/// Ends when all is done, or early: with the first error of `next`, `done` or `idle`, or interrupted_error(). What
/// finished before an interruption is handed out. All threads have ended on return.
Status run_batch(const Batch& batch);

}  // namespace kvplan::plan
