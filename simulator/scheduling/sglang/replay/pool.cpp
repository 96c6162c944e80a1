#include "simulator/scheduling/sglang/replay/pool.h"

#include <string>

namespace kvplan::replays {

Status check_sglang_pool(const CacheOptions& options) {
  KVPLAN_TRY_DO(check_at_least(options.block_tokens, 1, "--block-tokens"));
  if (options.pool_tokens >= options.block_tokens) return Done{};
  return bad_input("expected at least a page of " + std::to_string(options.block_tokens) + " tokens, found " +
                   std::to_string(options.pool_tokens))
      .at_field("--pool-tokens");
}

scheduling::sglang::Params sglang_params(const CacheOptions& options) {
  scheduling::sglang::Params params = options.sglang;
  params.max_running = options.scheduler.max_seqs;
  params.chunk_tokens = options.chunk;
  return params;
}

}  // namespace kvplan::replays
