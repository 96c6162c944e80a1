// Prefix caches without time: the drivers that the recorded behaviour of vLLM V1 is defined by. `seq` and `sched` run
// the same scheduler and pool that serve `kvplan run`.
//   seq     one request at a time (vllm v0.15.1 KVCacheManager called directly)
//   seqswa  the same with two groups of layers in one pool, the second with a window (memory/grouped_prefixes.h)
//   sched   the whole V1 scheduler on an integer clock
// tests/golden/README.md has their definitions and what was recorded.
// A driver hands its rows to a sink, so that a caller can time it without writing anything.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "simulator/base/result.h"
#include "simulator/core/engine.h"
#include "traces/record/trace.h"

namespace kvplan::drivers {

struct CacheOptions {
  std::int64_t block_tokens{16};
  std::int64_t blocks{0};  ///< the pool, null block included
  bool prefix_cache{true};
  bool step_by_step{false};   ///< naive engine over the plain models; `seqswa` has but one
  std::int64_t window{4096};  ///< seqswa: tokens that a token of the second group sees, itself included
  std::int64_t chunk{8192};   ///< seqswa: tokens of a prompt that are placed at once, at most
  std::int64_t quantum_ms{50};
  core::SchedulerParams scheduler;
  bool (*stop_asked)(){nullptr};  ///< ends a run early, with an error of kind kInterrupted
};

/// One request of driver `seq` or `seqswa`; there blocks are those of both groups, and an entry that is empty counts
/// in table_len and as id 0. A content is published when its block is full, and evicted when the block is handed out
/// for another.
struct SeqRow {
  RequestId request{0};
  bool fits{false};                    ///< false: the pool cannot hold it; all other columns are 0
  std::int64_t hit_tokens{0};          ///< tokens found cached, at most its prompt less one
  std::int64_t new_blocks_prefill{0};  ///< blocks taken for the rest of the prompt
  std::int64_t new_blocks_decode{0};   ///< blocks taken while it decoded
  std::int64_t evicted_prefill{0};     ///< contents evicted by the former
  std::int64_t evicted_decode{0};      ///< contents evicted by the latter
  std::int64_t table_len{0};           ///< blocks of its table at its end, found ones included
  std::uint32_t table_crc32{0};        ///< zlib's CRC-32 of their ids in order, each as 4 little-endian bytes
  std::int64_t cached_hashes_after{0};  ///< different contents that can be found when it has gone
  std::int64_t free_blocks_after{0};    ///< blocks that nobody holds then, cached ones included
};

/// One request of driver `sched`, in file order. Steps are numbers of the integer clock; -1 where it never
/// came to that.
struct SchedRequestRow {
  std::int64_t arrival_step{-1};      ///< the step that sees it first
  std::int64_t first_sched_step{-1};  ///< of its first admission
  std::int64_t first_token_step{-1};  ///< whose end gave its first token
  std::int64_t finish_step{-1};       ///< whose end gave its last
  std::int64_t first_hit_tokens{0};   ///< tokens found cached at its first admission
  std::int64_t all_hit_tokens{0};     ///< tokens found cached, all admissions together
  std::int64_t admissions{0};         ///< one more than it was preempted, if it ended
  std::int64_t preemptions{0};        ///< times
  std::int64_t computed_tokens{0};    ///< tokens scheduled for it, again after each preemption
  bool rejected{false};               ///< never admitted: too long, too large for the pool, or a length of 0
};

/// One executed step of driver `sched`, as the pass at its beginning left it; nothing that its end frees is
/// free yet.
struct SchedStepRow {
  std::int64_t step;              ///< number of the integer clock
  std::int64_t running;           ///< requests in the running list
  std::int64_t waiting;           ///< requests in the queue
  std::int64_t scheduled_tokens;  ///< tokens that the step computes
  std::int64_t scheduled_reqs;    ///< requests that get any of them
  std::int64_t sampled;           ///< requests that get a new token at its end
  std::int64_t preempted;         ///< requests that the pass preempted
  std::int64_t used_blocks;       ///< blocks that some request holds, the null block aside
  std::int64_t evicted;           ///< contents evicted by the pass
  std::int64_t cached_hashes;     ///< different contents that can be found
};

Status run_seq_driver(const traces::Trace& trace, const CacheOptions& options,
                      const std::function<void(const SeqRow&)>& sink);

/// Errors: as the others, and a window or chunk below 1.
Status run_seqswa_driver(const traces::Trace& trace, const CacheOptions& options,
                         const std::function<void(const SeqRow&)>& sink);

/// `steps` may be empty. Returns the request rows.
Result<std::vector<SchedRequestRow>> run_sched_driver(const traces::Trace& trace, const CacheOptions& options,
                                                      const std::function<void(const SchedStepRow&)>& steps);

}  // namespace kvplan::drivers
