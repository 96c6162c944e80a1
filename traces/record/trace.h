// A request trace in memory: plain columns, one entry per request, in the order of the file it came from.
// This is what the engine, the statistics and the desktop program read; files and Protobuf live in traces/io.
//
// Life cycle: an importer or the .kvt reader fills it once; after that it is read only and may be shared by
// any number of simulations and threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/base/units.h"

namespace kvplan::traces {

/// Prefix-chained content ids of prompts: equal id = equal block and equal everything before it.
/// Ids are interned: dense, 0-based, in order of first appearance. Request i owns ids[offsets[i] ..
/// offsets[i+1]).
struct PrefixHashes {
  std::int64_t block_tokens{0};        ///< tokens that one id stands for; 0 = the trace has no hashes
  std::vector<std::uint64_t> offsets;  ///< [requests + 1], ascending, first is 0; empty without hashes
  std::vector<std::uint32_t> ids;      ///< [references]
  std::int64_t distinct{0};            ///< ids are in [0, distinct)
  /// True: the last id of a prompt may stand for a part-filled block (Mooncake: count is the ceiling).
  /// False: only full blocks have ids (the count is the floor).
  bool last_may_be_partial{true};

  [[nodiscard]] bool present() const { return block_tokens > 0; }
};

/// Waits between requests: request[k] arrives only after before[k] has ended. Positions in the trace. Ordered by (the
/// later of the two, request, before), no pair twice; so the waits of a piece of a stream are those known at its last
/// request.
struct Waits {
  std::vector<std::int32_t> request;
  std::vector<std::int32_t> before;  ///< parallel to `request`

  [[nodiscard]] std::size_t size() const { return request.size(); }
  [[nodiscard]] bool empty() const { return request.empty(); }
  /// The position at which wait k is known.
  [[nodiscard]] std::int32_t later(std::size_t k) const {
    return request[k] > before[k] ? request[k] : before[k];
  }
};

/// The source of a trace, and what was noticed while it was imported; printed by reports.
struct Provenance {
  std::string format;                ///< importer name ("azure", "mooncake", "csv", ...)
  std::vector<std::string> sources;  ///< file names without folders
  std::vector<std::string>
      options;  ///< "name=value" for each given or assumed option (time unit, block size, ...)
  std::vector<std::string> warnings;  ///< whole sentences, with counts
};

/// All requests of a trace. The columns of required fields have equal length; optional columns are empty or
/// full.
struct Trace {
  std::vector<std::int64_t> arrival_ns;     ///< since a moment that only the source knows; any order
  std::vector<std::int32_t> input_tokens;   ///< prompt length, >= 0
  std::vector<std::int32_t> output_tokens;  ///< generated length, >= 0
  PrefixHashes prefix;

  std::vector<std::int32_t> session;  ///< index into session_names
  std::vector<std::string> session_names;
  std::vector<std::int32_t> tenant;  ///< index into tenant_names
  std::vector<std::string> tenant_names;
  std::vector<std::int32_t> max_tokens;  ///< output tokens that the client allowed; -1 = not stated
  std::vector<std::int32_t> priority;    ///< a lower number is served earlier, as in vLLM; -1 = not stated
  std::vector<std::int64_t> ttft_ns;     ///< measured by the source; -1 = not stated
  std::vector<std::int64_t> e2e_ns;      ///< measured by the source; -1 = not stated

  Waits waits;
  /// Pause from the end of the last request that it waits for to its arrival; -1 = not stated.
  std::vector<std::int64_t> think_ns;

  /// False: times are per session or not recorded, so span and rate have no meaning
  bool shares_clock{true};
  std::string digest;  ///< 16 hex digits over the columns above, made when read or imported
  Provenance provenance;

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(arrival_ns.size()); }
};

}  // namespace kvplan::traces
