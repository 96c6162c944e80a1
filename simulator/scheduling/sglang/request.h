// A request as SGLang's scheduler sees it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simulator/base/ids.h"
#include "simulator/prefix/radix_pool.h"

namespace kvplan::scheduling::sglang {

struct Request {
  RequestId id{0};
  std::int64_t prompt_tokens{0};
  std::int64_t max_new{0};        ///< most output tokens that its client allows: what admission reserves for
  std::int64_t output_tokens{0};  ///< its actual output tokens; only its end depends on them
  prefix::TokenSequence tokens;   ///< prompt and output

  std::int64_t generated{0};    ///< output tokens so far
  std::int64_t fill_tokens{0};  ///< tokens in the cache after its latest prefill batch
  prefix::Holding held;         ///< its pages of the pool; empty while it waits

  /// Prompt plus output so far. After a retraction all of them are prefilled again.
  [[nodiscard]] std::int64_t all_tokens() const { return prompt_tokens + generated; }
  /// Tokens with a slot in the cache, or that need one: all but the last output token.
  [[nodiscard]] std::int64_t written_tokens() const {
    return prompt_tokens + std::max<std::int64_t>(generated - 1, 0);
  }
  /// Output tokens that it may still generate.
  [[nodiscard]] std::int64_t left_tokens() const { return max_new - generated; }
  [[nodiscard]] bool ended() const { return generated > 0 && generated >= last_token(); }
  /// Output tokens that it has when it ends.
  [[nodiscard]] std::int64_t last_token() const { return std::min(output_tokens, max_new); }
};

}  // namespace kvplan::scheduling::sglang
