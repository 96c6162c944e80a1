#include "simulator/attention/access_policy.h"

namespace kvplan::attention::seed_lfu {
namespace {

constexpr auto kParams = access_params("lfu");

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor = {.family = kFamily,
                   .name = "seed-lfu",
                   .summary =
                       "Evicts the token that queries used least often, before the next token is written",
                   .source = "kvplan's design notes on KV caches (access counts)",
                   .params = kParams,
                   .divergences = "The design notes call this policy H2O and least recently used, but their "
                                  "code counts uses: it is LFU. Without attention rows, a token is used only "
                                  "when it is written, and the policy becomes first in, first out."},
    .golden_name = "seed_lfu_lru",
    .budget = {.param = "budget"},
    .traits = access_traits,
    .make = make_access_policy};

}  // namespace kvplan::attention::seed_lfu
