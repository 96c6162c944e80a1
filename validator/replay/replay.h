// Replays an event log on memory. It uses only the facts: its own allocator places granted memory wherever it likes,
// steps write stamps, freed memory is poisoned, every hit is read and compared with the content that was looked up, and
// the states of the ledger are recounted from memory. Then the claims of the log are compared: the bytes in each state,
// and whether its addresses are possible. This is for one replica; fleet_replay.h is for several.
//
// Contradicting facts end the replay: a grant of memory that is not free, a hit of a block that was never inserted, a
// token without a slot, a missing end, ... (README.md lists the rules.)
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
  /// Every claim of totals is checked against the totals that follow from the events, and every `full_scan_every`-th
  /// claim also against a recount of all memory. 0: kvplan chooses: every claim if memory has at most 16,384 cells;
  /// else so rarely that a claim reads about as many cells on average.
  std::int64_t full_scan_every{0};
  /// Larger memories are errors.
  std::int64_t most_cells{std::int64_t{1} << 28};
};

struct Quantity {
  std::string name;
  std::int64_t predicted;  ///< by the simulator
  std::int64_t measured;   ///< in the replay
  std::string unit;
};

struct Report {
  std::int64_t events{0};   ///< facts replayed
  std::int64_t moments{0};  ///< moments at which all ten totals were compared
  /// Totals that differ, and cells with contents that no request wrote there
  std::int64_t byte_mismatches{0};
  std::int64_t place_mismatches{0};  ///< impossible block ids or addresses
  std::int64_t count_mismatches{0};  ///< running or waiting requests, kept tokens and moments that differ
  bool contradiction{false};         ///< the facts contradict each other
  std::string first_problem;         ///< empty if all is well
  std::int64_t full_scan_every{1};
  std::int64_t full_scans{0};
  std::vector<Quantity> quantities;
  std::vector<Report> replicas;  ///< empty if there is only one

  [[nodiscard]] bool clean() const { return first_problem.empty(); }
};

/// Life cycle: `create`, `apply` each record in order until `stopped`, `finish` once.
class Replay {
 public:
  /// REQUIRES: a log of one replica. Errors: more cells than allowed, or a backend without memory.
  static Result<std::unique_ptr<Replay>> create(const event_log::Header& header, Backend& backend,
                                                const ReplayOptions& options = {});
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Errors: those of the backend. Errors in the log go into the report.
  Status apply(const event_log::Record& record);
  /// True: the facts contradict each other, so nothing further can be replayed.
  [[nodiscard]] bool stopped() const;
  Result<Report> finish();

  class Impl;

 private:
  explicit Replay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvplan::validator
