// A paged pool's rule without a policy, as in vLLM: blocks that no request holds are handed out in the order in which
// they were freed, whether a lookup can find their content or not. It does not rank contents, so it makes sense only in
// pools, where requests hold blocks.
#include "simulator/replacement/replacements.h"

namespace kvplan::replacement::vllm_queue {

extern const ReplacementEntry kMember;
const ReplacementEntry kMember{
    .descriptor = {.family = "replacement",
                   .name = "vllm-queue",
                   .summary = "Runs only: takes the block that was freed first, cached or not, as vLLM does.",
                   .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/block_pool.py",
                   .params = {}},
    .replay = nullptr,
    .make = nullptr};

}  // namespace kvplan::replacement::vllm_queue
