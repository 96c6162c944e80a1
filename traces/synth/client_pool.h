// A client pool of ServeGen: production traffic summarised by client. Repository alibaba/ServeGen (Y. Xiang et al.,
// "ServeGen: Workload Characterization and Generation of Large Language Model Serving in Production",
// arXiv:2505.09999), servegen/clientpool.py and data/. For each client K:
//
//     chunk-K-trace.csv     no header; a row per window: start (s), requests/s, variation of the gaps, law of the gaps
//                           ("Gamma", "Weibull", empty = idle), its shape, its scale (s)
//     chunk-K-dataset.json  start of a window of lengths (s) -> "input_tokens", "output_tokens" -> a string that holds
//                           a Python dict, tokens -> probability; {} = idle
//
// A window lasts until the next one begins, the last one as long as the one before. The scale of a law is not
// used: gaps are scaled to the window's rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/base/result.h"
#include "traces/io/input.h"
#include "traces/synth/draws.h"
#include "traces/synth/parts.h"

namespace kvplan::traces {

struct PoolWindow {
  std::int64_t begin_ns{0};
  std::int64_t end_ns{0};
  double rate_per_s{0};
  bool weibull{false};  ///< true: Weibull; false: gamma
  double shape{1};
  [[nodiscard]] double requests() const;
};

struct LengthTable {
  std::vector<std::int32_t> tokens;
  Weighted weights;
  [[nodiscard]] bool empty() const { return tokens.empty(); }
  std::int32_t draw(Random& random) const { return tokens[weights.draw(random)]; }
  [[nodiscard]] double mean() const;
};
struct PoolLengths {
  std::int64_t begin_ns{0};
  LengthTable input, output;
};

struct PoolClient {
  std::int32_t number{0};           ///< K
  std::vector<PoolWindow> windows;  ///< ascending
  std::vector<PoolLengths>
      lengths;  ///< ascending; an empty window uses the one before it, so if any is filled none is empty
  /// The lengths at a time of the day. REQUIRES: requests() > 0.
  [[nodiscard]] const PoolLengths& lengths_at(std::int64_t ns) const;
  /// Mean rate over the day.
  [[nodiscard]] double requests() const;
};

struct ClientPool {
  std::vector<PoolClient> clients;  ///< ascending by number
  std::int64_t day_ns{0};           ///< end of the latest window
  [[nodiscard]] double requests() const;
};

/// Reads a pool from a folder with the files, or from a .tar of them, plain or compressed. Other files are ignored.
/// Errors: no client; a client with only one of its two files; a value that is not a number, out of range, or out of
/// order; a client with requests and no lengths.
Result<ClientPool> read_client_pool(const std::string& path, const ReadHook& on_read = {});
/// Reads a pool from an open .tar.
Result<ClientPool> read_client_pool(Input& archive);

}  // namespace kvplan::traces
