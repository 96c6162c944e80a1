#include "simulator/attention/access_policy.h"

namespace kvplan::attention::seed_lru {
namespace {

constexpr auto kParams = access_params("lru");

}  // namespace

extern const PolicyKind kMember;
const PolicyKind kMember{
    .descriptor =
        {.family = kFamily,
         .name = "seed-lru",
         .summary = "Evicts the token that queries used longest ago, before the next token is written",
         .source = "kvplan's design notes on KV caches (access counts)",
         .params = kParams,
         .divergences =
             "The text of the design notes describes this policy; their code implements seed-lfu instead."},
    .golden_name = "seed_lfu_lru",
    .budget = {.param = "budget"},
    .traits = access_traits,
    .make = make_access_policy};

}  // namespace kvplan::attention::seed_lru
