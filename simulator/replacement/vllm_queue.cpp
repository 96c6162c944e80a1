// What a paged pool does without a policy, as vLLM does: blocks that nobody holds are handed out in the order in which
// they were let go, whether something can be found in them or not. No ranking of contents, so that it means something
// in pools only, where blocks are held.
#include "simulator/replacement/replacements.h"

namespace kvplan::replacement {

extern const ReplacementEntry kVllmQueue;
const ReplacementEntry kVllmQueue{
    .descriptor = {.family = "replacement",
                   .name = "vllm-queue",
                   .summary = "Runs only: the idle block that was let go first is handed out, cached or not, "
                              "as vLLM does.",
                   .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/block_pool.py",
                   .params = {}},
    .replay = nullptr,
    .make = nullptr};

}  // namespace kvplan::replacement
