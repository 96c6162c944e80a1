// Runs of an engine that write an event log into memory, and small random workloads for them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/core/engine.h"
#include "simulator/courses/course.h"
#include "simulator/io/log/events.h"
#include "simulator/scheduling/sglang/params.h"
#include "simulator/scheduling/vllm/params.h"
#include "traces/record/trace.h"

namespace kvplan::test {

/// All inputs of a run.
struct LogCase {
  std::string name;
  std::string allocator{"paged:block_tokens=16"};  ///< as in a scenario
  std::int64_t pool_blocks{-1};                    ///< set one of these two
  std::int64_t pool_tokens{-1};
  std::int64_t token_bytes{1};
  bool mixed_model{false};  ///< layers with rows of 6 and 8 KiB; token_bytes is theirs
  /// 7 layers of token_bytes each, 3 with the first window and 2 with the second
  bool windows_model{false};
  std::array<std::int64_t, 2> windows{21, 70};
  std::int64_t state_bytes{0};  ///< above 0: with it, 5 more layers with states of so many bytes
  std::int64_t first_layer{0};  ///< first of these layers: a stage that begins there
  bool prefix_cache{true};
  bool answers{false};  ///< prompts hold the answers of earlier requests, where their ids allow it
  scheduling::vllm::Params scheduler{};
  core::KeepRule keep{};
  /// If set, requests follow courses of random policies; there is no keep rule, and a prefix cache only with courses
  /// that allow hits.
  std::optional<core::Placement> courses{};
  bool courses_find{false};
  std::uint64_t tracks{3};  ///< seed of the number of tracks and their units; with 3 every track has units
  std::int64_t prompt_rows{1};
  /// If not empty: compaction, with units that keep these numbers of tokens; no prefix cache, no keep rule.
  std::vector<core::CountedUnits> counted{};
  bool tells_tokens{false};  ///< with `counted`: it is known which tokens are dropped
  std::int64_t tables{1};    ///< block tables of a request; with counts, as many as units
  std::int64_t metadata_bytes{0};
  bool bent_latency{false};  ///< step times that grow in jumps, reported in short series
  bool unit_latency{false};  ///< every step lasts one tick: the clock of the recorded engines
  /// If set: SGLang's engine, on pages of as many tokens as the allocator's blocks have, in a pool of pool_tokens.
  std::optional<scheduling::sglang::Params> sglang{};
};

/// How the run is stepped; the log must be the same for both.
enum class Stepping { kFast, kNaive };

/// The bytes of the event log. With unit latency, 50 ms of the trace's arrival times are one tick; otherwise times
/// are used unchanged.
std::string log_of_run(const traces::Trace& trace, const LogCase& c, Stepping stepping);

/// A few dozen requests with shared prefixes, in quick succession.
traces::Trace random_trace(std::uint64_t seed);
/// The trace of tests/golden/engines.
const traces::Trace& micro_trace();

/// All records of a log. REQUIRES: it is well-formed.
struct WholeLog {
  event_log::Header header;
  std::vector<event_log::Record> records;
};
WholeLog read_log(const std::string& bytes);
std::string write_log(const WholeLog& log);

/// Paged with and without prefix caching, a threshold, few running slots, contiguous with each reservation, window
/// and streaming-llm on both, courses with holes and with reuse on both, with compaction, counted and by token,
/// ranges that slide, grow and are copied, layer groups with and without prefix hits, SGLang with and without its
/// tree; some of these with answers in later prompts: from roomy to constant preemption. For random_trace.
std::vector<LogCase> small_cases();

}  // namespace kvplan::test
