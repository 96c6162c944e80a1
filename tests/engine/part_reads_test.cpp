// Decode steps that read a part of the kept tokens: fast runs compared with naive ones on random problems, and the read
// tokens with the lengths of requests.
#include <gtest/gtest.h>

#include <algorithm>

#include "simulator/modelfile/device_catalogue.h"
#include "simulator/observe/read_sums.h"
#include "tests/support/observed_run.h"
#include "tests/support/random_cases.h"

namespace kvplan {
namespace {

using core::ReadRule;
using observe::DecodeReads;
using observe::ReadSums;
using test::RandomCase;

/// A random problem with step times that depend on what each layer reads.
std::unique_ptr<RandomCase> draw_part_case(std::uint64_t seed) {
  auto c = test::draw_case(seed);
  Random random(seed, "parts");
  c->keep = {};
  if (!random.chance(1, 6)) c->reads.fetched = random.between(1, random.chance(1, 2) ? 20 : 150);
  if (c->reads.fetched == ReadRule::kAll || random.chance(2, 3))
    c->reads.ranked_beyond = random.chance(1, 4) ? 0 : random.between(1, 120);

  const model::ModelShape& shape = *model::find_model("llama-2-7b").value();
  latency::PartlyRead partly;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer)
    partly.layers.push_back(static_cast<double>(random.between(0, 4)) / 4);
  partly.ranked_token_bytes = random.between(0, 60'000);
  latency::LatencyRequest request = latency::LatencyRequest::one_rank(shape);
  request.partly = &partly;
  request.device = model::find_device("H100").value();
  const std::string choices[] = {
      "affine:base_ns=" + std::to_string(random.between(1, 300)) + ",token_ns=7,context_ns=3.3",
      "roofline:flops=" + std::to_string(random.between(1, 40)) +
          "e13,bandwidth=" + std::to_string(random.between(1, 80)) + "e11,overhead_ns=20",
      "distserve:prefill_base_ns=20,decode_base_ns=30,decode_context_ns=" +
          std::to_string(random.between(0, 9)),
      "composed:overhead_ns=0,kernel_ns=0"};
  const Choice choice =
      parse_component(choices[random.below(std::size(choices))], "latency", latency::latency_descriptors())
          .value();
  c->latency = latency::latency_entry(choice).make(choice, request).value();
  return c;
}

TEST(PartReads, FastEqualsNaive) {
  test::Coverage coverage;
  Wide unread = 0;
  for (std::int64_t seed = 1; seed <= test::random_cases(1200, 300); ++seed) {
    const auto c = draw_part_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    ReadSums slow, fast;
    const auto beside = [](ReadSums& sums) {
      return [&sums](const core::MemoryLayout&, const observe::Ledger&) {
        return std::vector<core::Observer*>{&sums};
      };
    };
    ASSERT_EQ(test::observe_run(*c, true, nullptr, nullptr, beside(slow)),
              test::observe_run(*c, false, nullptr, &coverage, beside(fast)));
    ASSERT_TRUE(slow.sums().seen == fast.sums().seen);
    ASSERT_TRUE(slow.sums().unread == fast.sums().unread);
    ASSERT_TRUE(slow.sums().ranked == fast.sums().ranked);
    unread += fast.sums().unread;
  }
  for (const std::int64_t count :
       {coverage.preempted, coverage.hits, coverage.in_runs, coverage.in_decode_runs})
    EXPECT_GT(count, 100);
  EXPECT_TRUE(unread > 10'000);
}

/// Without preemption, a request decodes once with each number of tokens after its prompt.
TEST(PartReads, AreThoseOfTheLengths) {
  std::int64_t compared = 0;
  for (std::int64_t seed = 1; seed <= test::random_cases(300, 150); ++seed) {
    const auto c = draw_part_case(static_cast<std::uint64_t>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + " " + c->allocator);
    test::Coverage coverage;
    ReadSums sums;
    test::observe_run(*c, false, nullptr, &coverage, [&](const core::MemoryLayout&, const observe::Ledger&) {
      return std::vector<core::Observer*>{&sums};
    });
    if (coverage.preempted > 0 || coverage.rejected > 0) continue;
    DecodeReads expected;
    for (const RequestId r : ids_below<RequestId>(c->workload.size())) {
      const std::size_t i = index(r);
      for (std::int64_t n = c->workload.input[i] + std::int64_t{1}; n <= c->workload.final_tokens(r); ++n) {
        expected.seen += n;
        if (n > c->reads.ranked_beyond) expected.ranked += n;
        if (c->reads.fetched != ReadRule::kAll)
          expected.unread += std::max<std::int64_t>(n - c->reads.fetched, 0);
      }
    }
    EXPECT_TRUE(sums.sums().seen == expected.seen);
    EXPECT_TRUE(sums.sums().unread == expected.unread);
    EXPECT_TRUE(sums.sums().ranked == expected.ranked);
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace kvplan
