// Options of `kvplan cache`. A replay reads the options that it names (engine_replay.h); the others keep their
// defaults.
#pragma once

#include <cstdint>
#include <optional>

#include "simulator/base/result.h"
#include "simulator/core/engine.h"
#include "simulator/scheduling/sglang/params.h"
#include "simulator/scheduling/vllm/params.h"

namespace kvplan::replays {

struct CacheOptions {
  std::int64_t block_tokens{16};  ///< for SGLang, tokens of a page
  std::int64_t blocks{0};         ///< for vLLM: blocks of the pool, null block included
  std::int64_t pool_tokens{0};    ///< for SGLang: size of the pool; an incomplete last page is not used
  bool prefix_cache{true};
  bool step_by_step{false};                ///< true: the naive engine over the plain models
  std::int64_t window{4096};               ///< tokens that a token of the second group sees, itself included
  std::optional<std::int64_t> chunk;       ///< most tokens of a prompt that get blocks at once
  std::optional<std::int64_t> quantum_ms;  ///< milliseconds of trace time in one step
  scheduling::vllm::Params scheduler;
  /// Used except for settings that vLLM has too: its requests are scheduler.max_seqs, its chunks `chunk`.
  scheduling::sglang::Params sglang;
  bool (*stop_asked)(){nullptr};  ///< returns true to end a run early, with an error of kind kInterrupted
};

/// Error if `value` is below `least`; names the field.
Status check_at_least(std::int64_t value, std::int64_t least, const char* field);

}  // namespace kvplan::replays
