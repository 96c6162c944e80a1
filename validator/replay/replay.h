// Replays an event log on memory. Built from the facts alone: an allocator of its own places what was granted
// wherever it likes, steps write stamps, what is given back is poisoned, what a lookup found is read and held
// against the content it was looked up as, and the states of the ledger are recounted from memory. Then the
// claims of the log are compared: bytes in each state, and whether its places could be. This is of one replica;
// fleet_replay.h is of several.
//
// Facts that contradict each other end the replay: a grant of what is not free, a hit on what nobody
// published, a token without a place, an end that does not come, ... (README.md lists the rules.)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"
#include "validator/replay/backend.h"

namespace kvplan::validator {

struct ReplayOptions {
  /// All of memory is recounted at every `full_scan_every`-th claim of totals, what an event touched at each.
  /// 0: every one while memory has at most 16,384 cells, and so that about as many cells are looked at per
  /// claim where it has more.
  std::int64_t full_scan_every{0};
  /// Larger memories are refused.
  std::int64_t most_cells{std::int64_t{1} << 28};
};

struct Quantity {
  std::string name;
  std::int64_t predicted;  ///< by the simulator
  std::int64_t measured;   ///< in the replay
  std::string unit;
};

struct Report {
  std::int64_t events{0};            ///< facts replayed
  std::int64_t moments{0};           ///< at which all ten totals were compared
  std::int64_t byte_mismatches{0};   ///< totals that differ, and cells that hold what nobody wrote there
  std::int64_t place_mismatches{0};  ///< block ids or addresses that cannot be
  std::int64_t count_mismatches{0};  ///< requests running or waiting, kept tokens and moments that differ
  bool contradiction{false};         ///< the facts contradict each other
  std::string first_problem;         ///< empty where all is well
  std::int64_t full_scan_every{1};
  std::int64_t full_scans{0};
  std::vector<Quantity> quantities;
  std::vector<Report> replicas;  ///< where there are several

  [[nodiscard]] bool clean() const { return first_problem.empty(); }
};

/// Life cycle: `create`, `apply` each record in order until `stopped`, `finish` once.
class Replay {
 public:
  /// REQUIRES: a log of one replica. Errors: more cells than allowed, or the backend has no memory.
  static Result<std::unique_ptr<Replay>> create(const event_log::Header& header, Backend& backend,
                                                const ReplayOptions& options = {});
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Errors: those of the backend. What is wrong with the log goes into the report.
  Status apply(const event_log::Record& record);
  /// The facts contradict each other: nothing further can be replayed.
  [[nodiscard]] bool stopped() const;
  Result<Report> finish();

  class Impl;

 private:
  explicit Replay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvplan::validator
