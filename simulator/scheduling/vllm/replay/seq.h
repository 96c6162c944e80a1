// Replay `seq` of vLLM V1: one request at a time (v0.15.1, KVCacheManager called directly), over the pool that serves
// `kvplan run`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "simulator/base/ids.h"
#include "simulator/scheduling/replay/engine_replay.h"

namespace kvplan::replays {

/// One request of replay `seq` or `seqswa`. With `seqswa`, blocks are those of both groups; an empty table entry counts
/// in table_len and as id 0. A block is inserted into the cache when it is full, and its content is evicted when the
/// block is handed out again.
struct SeqRow {
  RequestId request{0};
  bool fits{false};                     ///< false: the pool cannot hold it; all other columns are 0
  std::int64_t hit_tokens{0};           ///< tokens of the prefix hit, at most its prompt minus one
  std::int64_t new_blocks_prefill{0};   ///< blocks taken for the rest of the prompt
  std::int64_t new_blocks_decode{0};    ///< blocks taken while it decoded
  std::int64_t evicted_prefill{0};      ///< blocks evicted during the prompt
  std::int64_t evicted_decode{0};       ///< blocks evicted while it decoded
  std::int64_t table_len{0};            ///< blocks of its table at its end, hit ones included
  std::uint32_t table_crc32{0};         ///< checksum of their ids in order (pool.h)
  std::int64_t cached_hashes_after{0};  ///< number of different contents that can be hit after it has left
  std::int64_t free_blocks_after{0};    ///< blocks that no request holds then, cached ones included

  static constexpr std::string_view kColumns =
      "req,input_length,output_length,status,hit_tokens,new_blocks_prefill,new_blocks_decode,evicted_prefill,"
      "evicted_decode,table_len,table_crc32,cached_hashes_after,free_blocks_after\n";
  void append_to(std::string& out, const traces::Trace& trace) const;
};

Status run_vllm_seq(const traces::Trace& trace, const CacheOptions& options,
                    const std::function<void(const SeqRow&)>& sink);

extern const EngineReplay kVllmSeq;

}  // namespace kvplan::replays
