// Replay `sched` of SGLang: the whole scheduler on an integer clock (v0.5.5, overlap scheduling off).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/scheduling/replay/engine_replay.h"
#include "simulator/scheduling/sglang/scheduler.h"

namespace kvplan::replays {

/// One request, in file order. Steps are counted on the integer clock; -1 if the request never got that far.
struct SglangRequestRow {
  std::int64_t max_new_tokens{0};     ///< tokens that it may generate, as admission sees it
  std::int64_t arrival_step{-1};      ///< first step that sees it
  std::int64_t first_sched_step{-1};  ///< step of its first prefill batch
  std::int64_t first_token_step{-1};  ///< step that produced its first token
  std::int64_t finish_step{-1};       ///< step that produced its last token
  std::int64_t first_hit_tokens{0};   ///< tokens of the prefix hit at its first admission
  std::int64_t all_hit_tokens{0};     ///< tokens of the prefix hits at all admissions
  std::int64_t admissions{0};         ///< times that it was taken from the queue
  std::int64_t retractions{0};        ///< times that it was retracted into the queue
  std::int64_t prefill_batches{0};    ///< batches with a chunk of it
  std::int64_t prefill_tokens{0};     ///< tokens computed for it in those batches
  std::int64_t decode_steps{0};       ///< steps in which it decoded
  bool rejected{false};               ///< never queued: too long for the pool or the limit, or a length of 0

  static constexpr std::string_view kColumns =
      "req,input_length,output_length,max_new_tokens,arrival_step,first_sched_step,first_token_step,finish_"
      "step,"
      "first_hit_tokens,all_hit_tokens,admissions,retractions,prefill_batches,prefill_tokens,decode_steps,"
      "cached_tokens\n";
  /// The last column is SGLang's own count of hit tokens: all_hit_tokens.
  void append_to(std::string& out, const traces::Trace& trace, RequestId request) const;
};

/// One executed step, when its batch is formed and has its memory, before any request gets a token. The last two
/// columns are from the end of the step.
struct SglangStepRow {
  std::int64_t step{0};  ///< number of the integer clock
  scheduling::sglang::StepKind kind{};
  std::int64_t batch_reqs{0};      ///< requests of the batch
  std::int64_t batch_tokens{0};    ///< tokens that it computes
  std::int64_t hit_tokens{0};      ///< hit tokens of the requests taken from the queue
  std::int64_t chunked_req{-1};    ///< the request with an unfinished chunked prefill, or -1
  std::int64_t running{0};         ///< running requests, including those that ended in the decode step before
  std::int64_t waiting{0};         ///< requests in the queue
  std::int64_t retracted{0};       ///< requests retracted into the queue
  std::int64_t evicted_tokens{0};  ///< tokens evicted in it
  std::int64_t evicted_nodes{0};   ///< number of leaves evicted in it
  std::int64_t available{0};       ///< free tokens of the pool
  std::int64_t evictable{0};       ///< tokens of the tree that no request holds
  std::int64_t protected_tokens{0};  ///< other tokens of the tree; without a tree, settled tokens
  bool full{false};                  ///< batch_is_full
  double new_token_ratio{0};       ///< reserved share of the tokens that running requests may still generate
  std::uint32_t batch_crc32{0};    ///< ids of the batch's requests, in its order; 0 if there is none
  std::uint32_t waiting_crc32{0};  ///< ids of the queue; 0 if it is empty
  std::int64_t finished{0};        ///< requests that it ended
  std::int64_t available_end{0};   ///< free tokens after finished requests have left
  std::int64_t evictable_end{0};   ///< tokens of the tree that no request holds then

  static constexpr std::string_view kColumns =
      "step,kind,batch_reqs,batch_tokens,hit_tokens,chunked_req,running,waiting,retracted,evicted_tokens,"
      "evicted_nodes,available,evictable,protected,batch_is_full,new_token_ratio,batch_crc32,waiting_crc32,"
      "finished,"
      "available_end,evictable_end\n";
  void append_to(std::string& out) const;
};

/// `steps` may be empty. Returns the request rows. Errors: settings out of range; a request that waits although
/// nothing runs.
Result<std::vector<SglangRequestRow>> run_sglang_sched(
    const traces::Trace& trace, const CacheOptions& options,
    const std::function<void(const SglangStepRow&)>& steps);

extern const EngineReplay kSglangSched;

}  // namespace kvplan::replays
