// Replay `hold` of vLLM V1: several requests are live at once, each for as many steps as it has output tokens
// (v0.15.1, KVCacheManager called directly), over the pool that serves `kvplan run`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "simulator/base/ids.h"
#include "simulator/scheduling/replay/engine_replay.h"

namespace kvplan::replays {

/// One request. All its blocks, including those for its output, are taken at its admission, and the full blocks of its
/// prompt are inserted into the cache at that time.
struct HoldRow {
  RequestId request{0};
  bool fits{false};  ///< false: an empty pool cannot hold it, or a length is 0; it never joins the queue
  std::int64_t admit_step{-1};
  std::int64_t end_step{-1};                ///< at the beginning of this step it frees everything
  std::int64_t hit_tokens{0};               ///< tokens of the prefix hit, at most its prompt minus one
  std::int64_t new_blocks{0};               ///< blocks taken in addition to the hit ones
  std::int64_t evicted{0};                  ///< contents evicted to take them
  std::int64_t table_len{0};                ///< blocks of its table, hit ones included
  std::uint32_t table_crc32{0};             ///< checksum of their ids in order (pool.h)
  std::int64_t free_blocks_after_admit{0};  ///< blocks that no request holds then, cached ones included
  std::int64_t live_after_admit{0};         ///< requests that hold blocks then

  static constexpr std::string_view kColumns =
      "req,input_length,output_length,status,admit_step,end_step,hit_tokens,new_blocks,evicted,table_len,"
      "table_crc32,free_blocks_after_admit,live_after_admit\n";
  void append_to(std::string& out, const traces::Trace& trace) const;
};

/// Rows come in the order of admission; those of requests that do not fit come first.
Status run_vllm_hold(const traces::Trace& trace, const CacheOptions& options,
                     const std::function<void(const HoldRow&)>& sink);

extern const EngineReplay kVllmHold;

}  // namespace kvplan::replays
