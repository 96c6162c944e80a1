// Prefix caches without time: the drivers that the recorded behaviour of vLLM V1 is defined by. Each runs the
// same scheduler and pool that serve `kvplan run`.
//   seq    one request at a time (vllm v0.15.1 KVCacheManager called directly)
//   sched  the whole V1 scheduler on an integer clock
// A driver hands its rows to a sink, so that a caller can time it without writing anything.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/core/engine.h"
#include "traces/record/trace.h"

namespace kvplan::plan {

struct CacheOptions {
  std::int64_t block_tokens{16};
  std::int64_t blocks{0};  ///< the pool, null block included
  bool prefix_cache{true};
  bool step_by_step{false};  ///< naive engine over the plain models
  std::int64_t quantum_ms{50};
  core::SchedulerParams scheduler;
  bool (*stop_asked)(){nullptr};  ///< ends a run early, with an error of kind kInterrupted
};

/// One request of driver `seq`.
struct SeqRow {
  RequestId request{0};
  bool fits{false};  ///< false: the pool cannot hold it; all other columns are 0
  std::int64_t hit_tokens{0}, new_blocks_prefill{0}, new_blocks_decode{0}, evicted_prefill{0},
      evicted_decode{0};
  std::int64_t table_len{0};
  std::uint32_t table_crc32{0};
  std::int64_t cached_hashes_after{0}, free_blocks_after{0};
};

/// One request of driver `sched`, in file order; -1 where it never came to that.
struct SchedRequestRow {
  std::int64_t arrival_step{-1}, first_sched_step{-1}, first_token_step{-1}, finish_step{-1};
  std::int64_t first_hit_tokens{0}, all_hit_tokens{0}, admissions{0}, preemptions{0}, computed_tokens{0};
  bool rejected{false};
};

/// One executed step of driver `sched`.
struct SchedStepRow {
  std::int64_t step, running, waiting, scheduled_tokens, scheduled_reqs, sampled, preempted, used_blocks,
      evicted, cached_hashes;
};

Status run_seq_driver(const traces::Trace& trace, const CacheOptions& options,
                      const std::function<void(const SeqRow&)>& sink);

/// `steps` may be empty. Returns the request rows.
Result<std::vector<SchedRequestRow>> run_sched_driver(const traces::Trace& trace, const CacheOptions& options,
                                                      const std::function<void(const SchedStepRow&)>& steps);

}  // namespace kvplan::plan
