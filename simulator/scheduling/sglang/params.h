// Settings of SGLang's scheduler, with its defaults and names (sgl-project/sglang v0.5.5:
// python/sglang/srt/server_args.py, environ.py, managers/schedule_policy.py).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace kvplan::scheduling::sglang {

/// The order in which the scheduler tries to admit queued requests (schedule_policy).
enum class QueueOrder {
  kArrival,        ///< fcfs: first arrival first; retracted requests join the end
  kLongestPrefix,  ///< lpm: longest cached prefix first
};

struct Params {
  QueueOrder order{QueueOrder::kArrival};
  std::int64_t max_running{256};           ///< requests (max_running_requests); the default is not SGLang's
  std::int64_t max_prefill_tokens{16384};  ///< tokens of a prefill batch; the first request may exceed it
  std::optional<std::int64_t>
      chunk_tokens;              ///< most tokens of a prefill batch (chunked_prefill_size); none: no chunking
  bool ignore_eos{false};        ///< of all requests; matters only without a prefix cache (run_to_ends.h)
  double conservativeness{1.0};  ///< schedule_conservativeness
  std::int64_t decay_steps{600};          ///< SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS
  std::int64_t clip_tokens{4096};         ///< SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION
  std::int64_t retract_decode_steps{20};  ///< SGLANG_RETRACT_DECODE_STEPS
};

/// Default context length (the context_length of the models with which SGLang was recorded).
inline constexpr std::int64_t kLongestContext = 262'144;
/// Prompt plus output of a request must be less than this.
constexpr std::int64_t most_tokens(std::int64_t context_tokens, std::int64_t pool_tokens) {
  return std::min(context_tokens, pool_tokens) - 1;
}
/// A prompt is rejected if at most this many tokens of most_tokens would remain after it.
inline constexpr std::int64_t kSparedTokens = 5;

}  // namespace kvplan::scheduling::sglang
