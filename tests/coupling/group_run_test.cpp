// `group` of a policy in runs: how many query heads share stored tokens. A named model states this number; without a
// model, recordings are stored with the policy's number.
#include <gtest/gtest.h>

#include "tests/coupling/small_model.h"

namespace kvplan::small_model {
namespace {

/// All kinds of policies: counted, by position, by position in courses, replayed, and none.
constexpr const char* kPolicies[]{"h2o:hh=16,recent=16,placement=compact",
                                  "snapkv:window=4,capacity=64,placement=compact",
                                  "pyramidkv:window=4,capacity=40,beta=5,placement=compact",
                                  "pyramidinfer:placement=compact",
                                  "window:window=25,placement=compact",
                                  "window:window=25",
                                  "streaming-llm:sink=4,recent=9,placement=reuse",
                                  "full"};

std::string with_group(const std::string& policy, int group) {
  return policy + (policy.find(':') == std::string::npos ? ":" : ",") + "group=" + std::to_string(group);
}

Result<runs::RunResult> outcome(Values values) {
  values.emplace_back("memory.pool_tokens", "4000");
  return runs::run_scenario(resolved(values).value(), trace_of(5, 100), options());
}

TEST(GroupRuns, ANamedModelHasOneGroup) {
  for (const std::string policy : kPolicies) {
    const std::string own = figures(outcome({{"model", "llama-3-8b"}, {"eviction", policy}}).value());
    for (const int group : {0, 1, 2, 3, 4, 8, 32, 999}) {
      SCOPED_TRACE(policy + " " + std::to_string(group));
      const auto r = outcome({{"model", "llama-3-8b"}, {"eviction", with_group(policy, group)}});
      if (group == 0 || group == 4) {
        ASSERT_TRUE(r.ok()) << r.error().to_string();
        EXPECT_EQ(figures(r.value()), own);
        continue;
      }
      ASSERT_FALSE(r.ok());
      EXPECT_EQ(r.error().to_string(),
                "eviction: " + policy.substr(0, policy.find(':')) +
                    ":group: expected 4, the query heads per KV head of llama-3-8b (32 of 8), or 0 for this "
                    "value, found " +
                    std::to_string(group) +
                    "; with model=recording, this parameter of the policy determines the number of KV heads");
    }
  }
  // A latent vector is shared by all heads.
  EXPECT_TRUE(
      outcome({{"model", "deepseek-v3"}, {"eviction", "tova:budget=9,group=128,placement=compact"}}).ok());
  EXPECT_FALSE(
      outcome({{"model", "deepseek-v3"}, {"eviction", "tova:budget=9,group=4,placement=compact"}}).ok());
}

/// Three query heads were recorded: a group of three stores a third of the bytes of a group of one, for every policy.
TEST(GroupRuns, ARecordingIsStoredAsThePolicySays) {
  for (const std::string policy : kPolicies)
    for (const bool replayed : {false, true}) {
      SCOPED_TRACE(policy + (replayed ? " replayed" : ""));
      const std::string name =
          replayed ? policy.substr(0, policy.rfind(",placement")) : policy;  // h2o, snapkv and the like
      if (replayed && name == policy) continue;
      const auto with = [&](int group) {
        return outcome({{"workload.attention", "r.kva"}, {"eviction", with_group(name, group)}});
      };
      const auto one = with(1);
      ASSERT_TRUE(one.ok()) << one.error().to_string();
      const auto three = with(3);
      ASSERT_TRUE(three.ok()) << three.error().to_string();
      const auto& layout = one.value().details[0].layout;
      EXPECT_EQ(layout.token_bytes, 3 * three.value().details[0].layout.token_bytes);
      EXPECT_EQ(figures(with(0).value()), figures(one.value())) << "rows were recorded of one head each";
      const auto two = with(2);
      ASSERT_FALSE(two.ok());
      EXPECT_NE(two.error().to_string().find("expected a divisor of the recording's 3 query heads, found 2"),
                std::string::npos)
          << two.error().to_string();
    }
}

}  // namespace
}  // namespace kvplan::small_model
