// Replay `sched` of vLLM V1: the whole scheduler on an integer clock, with the engine and the pool that serve `kvplan
// run`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/scheduling/replay/engine_replay.h"

namespace kvplan::replays {

/// One request, in file order. Steps are counted on the integer clock; -1 if the request never got that far.
struct SchedRequestRow {
  std::int64_t arrival_step{-1};      ///< first step that sees it
  std::int64_t first_sched_step{-1};  ///< step of its first admission
  std::int64_t first_token_step{-1};  ///< step at the end of which it got its first token
  std::int64_t finish_step{-1};       ///< step at the end of which it got its last token
  std::int64_t first_hit_tokens{0};   ///< tokens of the prefix hit at its first admission
  std::int64_t all_hit_tokens{0};     ///< tokens of the prefix hits at all admissions
  std::int64_t admissions{0};         ///< number of preemptions plus one, if it ended
  std::int64_t preemptions{0};        ///< number of preemptions
  std::int64_t computed_tokens{0};    ///< tokens scheduled for it; recomputed tokens count again
  bool rejected{false};               ///< never admitted: too long, too large for the pool, or a length of 0

  static constexpr std::string_view kColumns =
      "req,input_length,output_length,arrival_step,first_sched_step,first_token_step,finish_step,"
      "first_hit_tokens,all_hit_tokens,admissions,preemptions,computed_tokens\n";
  void append_to(std::string& out, const traces::Trace& trace, RequestId request) const;
};

/// One executed step, after scheduling at its beginning; what the end of the step frees is not free yet.
struct SchedStepRow {
  std::int64_t step;              ///< number of the integer clock
  std::int64_t running;           ///< requests in the running list
  std::int64_t waiting;           ///< requests in the queue
  std::int64_t scheduled_tokens;  ///< tokens that the step computes
  std::int64_t scheduled_reqs;    ///< requests with scheduled tokens
  std::int64_t sampled;           ///< requests that get a new token at its end
  std::int64_t preempted;         ///< requests preempted in this step
  std::int64_t used_blocks;       ///< blocks that some request holds, without the null block
  std::int64_t evicted;           ///< blocks evicted in this step
  std::int64_t cached_hashes;     ///< number of different contents that can be hit

  static constexpr std::string_view kColumns =
      "step,running,waiting,scheduled_tokens,scheduled_reqs,sampled,preempted,used_blocks,evicted,"
      "cached_hashes\n";
  void append_to(std::string& out) const;
};

/// `steps` may be empty. Returns the request rows.
Result<std::vector<SchedRequestRow>> run_vllm_sched(const traces::Trace& trace, const CacheOptions& options,
                                                    const std::function<void(const SchedStepRow&)>& steps);

extern const EngineReplay kVllmSched;

}  // namespace kvplan::replays
