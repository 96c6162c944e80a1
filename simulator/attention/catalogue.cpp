#include "simulator/attention/catalogue.h"

// One line per policy; the order is that of `kvplan list eviction`.
#define KVPLAN_TOKEN_POLICIES(POLICY) \
  POLICY(kFull)                       \
  POLICY(kWindow)                     \
  POLICY(kSeedRing)                   \
  POLICY(kStreamingLlm)               \
  POLICY(kH2o)                        \
  POLICY(kH2oMasked)                  \
  POLICY(kTova)                       \
  POLICY(kKeyformer)                  \
  POLICY(kKeyformerGptj)              \
  POLICY(kScissorhands)               \
  POLICY(kObservedAttention)          \
  POLICY(kSnapKv)                     \
  POLICY(kPyramidKvPolicy)            \
  POLICY(kAdaKv)                      \
  POLICY(kPyramidInfer)               \
  POLICY(kFinch)                      \
  POLICY(kFastGen)                    \
  POLICY(kDuoAttention)               \
  POLICY(kRazorAttention)             \
  POLICY(kSeedPyramidSelect)          \
  POLICY(kSeedDynamic)                \
  POLICY(kKeyNorm)                    \
  POLICY(kKeyDiff)                    \
  POLICY(kLagKv)                      \
  POLICY(kRKv)                        \
  POLICY(kExpectedAttention)          \
  POLICY(kCriticalKv)                 \
  POLICY(kSeedThreshold)              \
  POLICY(kSeedProportional)           \
  POLICY(kSeedLfu)                    \
  POLICY(kSeedLru)                    \
  POLICY(kRandom)                     \
  POLICY(kExpression)                 \
  POLICY(kRecorded)                   \
  POLICY(kOracleSuffix)               \
  POLICY(kOracleExact)                \
  POLICY(kOracleTopK)

namespace kvplan::attention {

#define KVPLAN_DECLARE(name) extern const PolicyKind name;
KVPLAN_TOKEN_POLICIES(KVPLAN_DECLARE)

namespace {

#define KVPLAN_KIND(name) &name,
constexpr const PolicyKind* kKinds[]{KVPLAN_TOKEN_POLICIES(KVPLAN_KIND)};
#define KVPLAN_DESCRIPTOR(name) &name.descriptor,
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
