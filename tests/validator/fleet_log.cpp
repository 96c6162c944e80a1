#include "tests/validator/fleet_log.h"

#include <array>

#include "simulator/base/check.h"
#include "simulator/io/run_event_log.h"
#include "simulator/routing/load_measure.h"
#include "simulator/routing/routers.h"
#include "tests/support/fleet_case.h"
#include "tests/support/whole_run.h"

namespace kvplan::test {

FleetRunLog log_of_fleet(const runs::Scenario& scenario, const traces::Trace& trace, Stepping stepping,
                         int threads) {
  FleetRunLog out;
  io::RunEventLog log([&](std::string_view more) -> Status {
    out.bytes += more;
    return Done{};
  });
  runs::RunOptions options;
  options.step_by_step = stepping == Stepping::kNaive;
  options.threads = threads;
  log.attach(scenario, trace, options);
  auto result = runs::run_scenario(scenario, trace, options);
  if (!result.ok()) ADD_FAILURE() << result.error().to_string();
  out.result = std::move(result).value();
  EXPECT_TRUE(log.close().ok());
  return out;
}

runs::Scenario draw_fleet(Random& random, std::int64_t memory, const std::string& router) {
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::to_string(random.between(low, high));
  };
  const bool sglang = memory >= 12;
  std::vector<std::string> texts{"memory.pool_tokens=" + draw(150, 600), fleet_latency(random),
                                 "fleet=replicas=" + draw(2, 6) + ",router=" + router};
  if (sglang) {
    texts.push_back(std::string("engine=sglang:policy=") + (random.chance(1, 2) ? "lpm" : "fcfs") +
                    ",max_running_requests=" + draw(2, 20) + ",schedule_conservativeness=0." + draw(0, 9) +
                    ",retract_decode_steps=" + draw(1, 6) +
                    (random.chance(1, 3) ? ",chunked_prefill_size=32" : "") +
                    (memory == 14 ? ",prefix_cache=false" : ""));
    texts.push_back("memory.allocator=paged:block_tokens=" + std::string(memory == 12 ? "1" : "4"));
    return scenario_of(texts);
  }
  texts.push_back("engine=vllm-v1:token_budget=" + draw(8, 200) + ",max_seqs=" + draw(1, 20));
  const std::string blocks =
      "memory.allocator=paged:block_tokens=" + std::string(random.chance(1, 2) ? "4" : "8");
  static const std::array<std::vector<std::string>, 12> kMemories{{
      {},
      {},
      {"eviction=window:window=24"},
      {"eviction=streaming-llm:sink=3,recent=20"},
      {"eviction=window:window=24,placement=reuse"},
      {"eviction=h2o:hh=10,recent=10,placement=compact"},
      {"eviction=window:window=24,placement=compact", "format=int4"},
      {"memory.allocator=contiguous:fit=first,reserve=oracle"},
      {"memory.allocator=growing:slack=8"},
      {"memory.allocator=vmm:page_kib=64"},
      {"memory.allocator=caching:reserve=pow2"},
      {"memory.allocator=no-cache"},
  }};
  const auto& own = kMemories[static_cast<std::size_t>(memory)];
  if (own.empty() || own.front().find("allocator") == std::string::npos) texts.push_back(blocks);
  texts.insert(texts.end(), own.begin(), own.end());
  return scenario_of(texts);
}

std::vector<std::string> all_routers() {
  std::vector<std::string> out;
  for (const routing::RouterEntry* const entry : routing::routers()) {
    const std::string name(entry->descriptor.name);
    out.push_back(name);
    for (const Param& param : entry->descriptor.params)
      if (param.name == routing::kLoadMeasureParam.name)
        for (const char* measure : {":by=tokens", ":by=blocks"}) out.push_back(name + measure);
  }
  return out;
}

}  // namespace kvplan::test
