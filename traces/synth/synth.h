// A made-up trace from four parts (parts.h): arrivals, lengths, shared beginnings of prompts, turns.
//
// Content. A prompt is the system prompt of its group, if it has one, and tokens of its own; a later turn's
// prompt is the prompt before it, its answer, and new tokens. Full blocks of `block_tokens` tokens have ids,
// equal where the block and everything before it are equal; a part-filled last block has none. So with a cache
// without limit, blocks of a system prompt hit from the group's second request on, and a turn hits in every full
// block of the prompt before it and its answer. Answers are hit only in later prompts: the ids of a request are
// those of its prompt.
//
// Closed loops. A later turn waits for the one before it and then pauses (Trace::waits, think_ns); its arrival time is
// when that would be over if answers took `token_s` a token.
//
// Memory does not grow with the number of requests: it holds the open sessions, the group's block numbers, and
// what the parts hold (a file of lengths, a pool of clients).
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
  // NAME[:key=value,...] of the family.
  std::string arrivals;
  std::string lengths{"given"};
  std::string prefixes{"none"};
  std::string turns{"single"};

  std::int64_t requests{0};     ///< how many; 0 = until the time is over, or the arrivals are
  std::int64_t duration_ns{0};  ///< only what arrives before this, counted from the begin; 0 = without end
  std::uint64_t seed{0};
  std::int64_t block_tokens{16};  ///< tokens of one prefix id, 1 to 2^20; no matter where nothing is shared

  ReadHook on_read{};  ///< told of reads of the files that parts read (traces/io/input.h)
};

/// The trace, by arrival (equal times in the order in which sessions began), as a stream. Errors, here and at
/// the end of the stream: what the parts refuse; neither a number nor a time where arrivals have no end; fewer
/// arrivals than `requests`; none at all; more than 2^20 sessions open at once; a value that does not fit its
/// column.
Result<std::unique_ptr<TraceStream>> make_synth(const SynthOptions& options);

/// The files that the parts read. Errors: as make_synth for what the options say.
Result<std::vector<std::string>> synth_files(const SynthOptions& options);

/// The families of made-up traces, the parts of parts.h and the services of services.h, and their members.
std::span<const std::string_view> synth_families();
Catalogue synth_descriptors(std::string_view family);

}  // namespace kvplan::traces
