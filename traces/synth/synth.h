// A synthetic trace made from four parts (parts.h): arrivals, lengths, shared beginnings of prompts, turns.
//
// Content. A prompt is the system prompt of its group, if it has one, and tokens of its own. The prompt of a later turn
// is the prompt before it, its answer, and new tokens. Full blocks of `block_tokens` tokens have ids, which are equal
// if the block and everything before it are equal; a part-filled last block has no id. So with a cache without limit,
// blocks of a system prompt are hit from the group's second request on, and a turn hits every full block of the prompt
// before it and its answer. Answers are hit only in later prompts, because the ids of a request are those of its
// prompt.
//
// Closed loops. A later turn waits for the turn before it and then pauses (Trace::waits, think_ns). Its arrival time is
// the time when the pause would end if answers took `token_s` per token.
//
// Memory does not grow with the number of requests: it holds the open sessions, the groups' block numbers, and the data
// of the parts (a file of lengths, a pool of clients).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "traces/io/input.h"
#include "traces/record/trace_stream.h"

namespace kvplan::traces {

struct SynthOptions {
  // NAME[:key=value,...] of the family, for each part:
  std::string arrivals;
  std::string lengths{"given"};
  std::string prefixes{"none"};
  std::string turns{"single"};

  std::int64_t requests{0};     ///< number of requests; 0 = until the time is over, or the arrivals end
  std::int64_t duration_ns{0};  ///< only arrivals before this time, counted from the beginning; 0 = no limit
  std::uint64_t seed{0};
  std::int64_t block_tokens{16};  ///< tokens of one prefix id, 1 to 2^20; without effect if nothing is shared

  ReadHook on_read{};  ///< called for reads of the files that parts read (traces/io/input.h)
};

/// The trace, by arrival (equal times in the order in which sessions began), as a stream. Errors, here and at
/// the end of the stream: errors of the parts; neither a number nor a time if arrivals have no end; fewer
/// arrivals than `requests`; no arrivals; more than 2^20 sessions open at once; a value that does not fit its
/// column.
Result<std::unique_ptr<TraceStream>> make_synth(const SynthOptions& options);

/// The files that the parts read. Errors: those of make_synth about the options.
Result<std::vector<std::string>> synth_files(const SynthOptions& options);

/// The families of synthetic traces, the parts of parts.h and the services of services.h, and their members.
std::span<const std::string_view> synth_families();
Catalogue synth_descriptors(std::string_view family);

}  // namespace kvplan::traces
