#include "simulator/attention/catalogue.h"

// One line per policy, its namespace; the order is that of `kvplan list eviction`.
#define KVPLAN_TOKEN_POLICIES(POLICY) \
  POLICY(full)                        \
  POLICY(window)                      \
  POLICY(seed_ring)                   \
  POLICY(streaming_llm)               \
  POLICY(h2o)                         \
  POLICY(h2o_masked)                  \
  POLICY(tova)                        \
  POLICY(keyformer)                   \
  POLICY(keyformer_gptj)              \
  POLICY(scissorhands)                \
  POLICY(observed_attention)          \
  POLICY(snapkv)                      \
  POLICY(pyramid_kv)                  \
  POLICY(ada_kv)                      \
  POLICY(pyramid_infer)               \
  POLICY(finch)                       \
  POLICY(fastgen)                     \
  POLICY(duo_attention)               \
  POLICY(razor_attention)             \
  POLICY(seed_pyramid_select)         \
  POLICY(seed_dynamic)                \
  POLICY(knorm)                       \
  POLICY(keydiff)                     \
  POLICY(lagkv)                       \
  POLICY(r_kv)                        \
  POLICY(expected_attention)          \
  POLICY(critical_kv)                 \
  POLICY(seed_threshold)              \
  POLICY(seed_proportional)           \
  POLICY(seed_lfu)                    \
  POLICY(seed_lru)                    \
  POLICY(random)                      \
  POLICY(expression)                  \
  POLICY(recorded)                    \
  POLICY(oracle_suffix)               \
  POLICY(oracle_exact)                \
  POLICY(oracle_topk)

namespace kvplan::attention {

#define KVPLAN_DECLARE(name)       \
  namespace name {                 \
  extern const PolicyKind kMember; \
  }
KVPLAN_TOKEN_POLICIES(KVPLAN_DECLARE)

namespace {

#define KVPLAN_KIND(name) &name::kMember,
constexpr const PolicyKind* kKinds[]{KVPLAN_TOKEN_POLICIES(KVPLAN_KIND)};
#define KVPLAN_DESCRIPTOR(name) &name::kMember.descriptor,
constexpr const Descriptor* kDescriptors[]{KVPLAN_TOKEN_POLICIES(KVPLAN_DESCRIPTOR)};

}  // namespace

std::span<const PolicyKind* const> policies() {
  return kKinds;
}

Catalogue policy_descriptors() {
  return kDescriptors;
}

PolicyChoice policy_of(Choice choice) {
  for (const PolicyKind* kind : kKinds)
    if (&kind->descriptor == &choice.descriptor()) return {kind, std::move(choice)};
  check_failed("the choice was made from policy_descriptors()", __FILE__, __LINE__);
}

Status check_policy(const PolicyChoice& policy) {
  return policy.kind->check == nullptr ? Status(Done{}) : policy.kind->check(policy.choice);
}

Result<PolicyChoice> parse_policy(std::string_view text) {
  KVPLAN_TRY(Choice choice, parse_component(text, kFamily, policy_descriptors()));
  PolicyChoice policy = policy_of(std::move(choice));
  KVPLAN_TRY_DO(check_policy(policy));
  return policy;
}

}  // namespace kvplan::attention
