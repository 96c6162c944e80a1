// Replay `seq` of SGLang: one request at a time through its radix cache (v0.5.5, RadixCache and the allocation
// functions called directly, no scheduler).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "simulator/base/ids.h"
#include "simulator/scheduling/replay/engine_replay.h"

namespace kvplan::replays {

/// One request. Its whole pages are inserted into the tree when its prompt is computed and when it ends.
struct SglangSeqRow {
  RequestId request{0};
  bool fits{false};  ///< false: an empty pool cannot hold it, or a length is 0; all other columns are 0
  /// Tokens of the prefix hit: whole pages, at most its prompt minus one token
  std::int64_t hit_tokens{0};
  std::int64_t evicted_tokens_prefill{0};  ///< tokens evicted to make room for the rest of the prompt
  std::int64_t evicted_tokens_decode{0};   ///< tokens evicted while it decoded
  std::int64_t evicted_nodes{0};           ///< number of leaves evicted by both
  std::int64_t evict_calls{0};             ///< number of times that there was less room than needed
  std::int64_t available_after{0};         ///< free tokens of the pool after the request has left
  std::int64_t evictable_after{0};         ///< tokens of the tree then; no request holds any

  static constexpr std::string_view kColumns =
      "req,input_length,output_length,status,hit_tokens,evicted_tokens_prefill,evicted_tokens_decode,"
      "evicted_nodes,evict_calls,available_after,evictable_after\n";
  void append_to(std::string& out, const traces::Trace& trace) const;
};

Status run_sglang_seq(const traces::Trace& trace, const CacheOptions& options,
                      const std::function<void(const SglangSeqRow&)>& sink);

extern const EngineReplay kSglangSeq;

}  // namespace kvplan::replays
