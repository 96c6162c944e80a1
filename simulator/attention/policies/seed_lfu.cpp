#include "simulator/attention/access_policy.h"

namespace kvplan::attention {
namespace {

constexpr auto kParams = access_params("lfu");

}  // namespace

extern const PolicyKind kSeedLfu;
const PolicyKind kSeedLfu{
    .descriptor = {.family = kFamily,
                   .name = "seed-lfu",
                   .summary = "Drops the token that queries used least often, before the next one comes",
                   .source = "kvplan's founding notes on KV caches (access counts)",
                   .params = kParams,
                   .divergences =
                       "The notes call it H2O and least recently used; its code counts uses, so it is this. "
                       "Without rows a token is used only when it comes, and this is first in, first out."},
    .golden_name = "seed_lfu_lru",
    .budget = {.param = "budget"},
    .traits = access_traits,
    .make = make_access_policy};

}  // namespace kvplan::attention
