// Figures of kvplan's design notes that runs reproduce: slots that a request holds and never uses, and throughput
// compared with times per output token.
#include <gtest/gtest.h>

#include "simulator/observe/ledger_sink.h"
#include "tests/unit/study/millisecond_steps.h"

namespace kvplan::runs::testing {
namespace {

traces::Trace at_once(int requests, int input, int output) {
  std::string rows = "arrival_ns,input_tokens,output_tokens\n";
  for (int i = 0; i < requests; ++i)
    rows += "0," + std::to_string(input) + "," + std::to_string(output) + "\n";
  return traces::testing::import_text(rows).value();
}

/// The ledger's bytes when the first step has ended.
class FirstSettled final : public core::Observer {
 public:
  explicit FirstSettled(const observe::Ledger& ledger) : ledger_(ledger) {}
  void on_settled(SimTime /*time*/, const core::PoolCounts& /*pool*/) override {
    if (!bytes) bytes = ledger_.bytes();
  }
  std::optional<observe::StateCounts> bytes;

 private:
  const observe::Ledger& ledger_;
};

/// The figure of PagedAttention: of 2048 slots 5 are written, and 3 will be. 99.6 % of the request is unused.
TEST(FoundingNotes, PlacesOfARequestThatAreNeverUsed) {
  std::optional<FirstSettled> settled;
  RunOptions options;
  options.step_by_step = true;
  options.extra_observers.push_back([&](const Watched& watched) -> Result<core::Observer*> {
    return static_cast<core::Observer*>(&settled.emplace(watched.ledger));
  });
  std::vector<Setting> settings;
  for (const char* setting : {"memory.allocator=contiguous:fit=first,reserve=max", "memory.pool_tokens=2048",
                              "engine=vllm-v1:max_model_len=2048"})
    settings.push_back(parse_setting(setting).value());
  const auto run = run_scenario(resolve(settings).value(), at_once(1, 5, 4), options);
  ASSERT_TRUE(run.ok()) << run.error().to_string();
  ASSERT_TRUE(settled && settled->bytes);
  const std::int64_t token = run.value().details[0].layout.token_bytes;
  const auto places = [&](observe::State state) { return (*settled->bytes)[observe::index(state)] / token; };
  EXPECT_EQ(places(observe::State::kLive), 5);
  EXPECT_EQ(places(observe::State::kReserved), 3);
  EXPECT_EQ(places(observe::State::kInternal), 2040);
  EXPECT_EQ(run.value().capacity_bytes, 2048 * token);
  EXPECT_NEAR(static_cast<double>(places(observe::State::kInternal)) / 2048, 0.996, 0.0005);
}

/// The design notes have times per output token of 15, 12 and 10 ms next to throughputs of 1, 1.3 and 1.6. Runs with
/// such times have throughputs of 1, 1.25 and 1.5.
TEST(FoundingNotes, ThroughputIsTheInverseOfTheTimes) {
  const auto tokens_per_s = [](int ms) {
    const RunResult found =
        run(at_once(4, 10, 100),
            {{"latency", "affine:base_ns=" + std::to_string(ms * kMs) + ",token_ns=0,context_ns=0"}});
    EXPECT_EQ(found.completed, 4);
    EXPECT_NEAR(found.tpot->mean, ms * 1e-3, 1e-12);
    return *found.output_tokens_per_s;
  };
  const double slow = tokens_per_s(15);
  EXPECT_NEAR(tokens_per_s(12) / slow, 1.25, 1e-9);
  EXPECT_NEAR(tokens_per_s(10) / slow, 1.5, 1e-9);
}

}  // namespace
}  // namespace kvplan::runs::testing
