#include "tests/validator/sglang_log.h"

#include <array>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/core/clock.h"
#include "simulator/io/event_log_writer.h"
#include "simulator/memory/allocators.h"
#include "simulator/observe/ledger.h"
#include "simulator/workload/workload_builder.h"
#include "tests/support/held_answers.h"
#include "tests/support/sglang_twin.h"
#include "tests/validator/log_latency.h"

namespace kvplan::test {

std::string log_of_sglang_run(const traces::Trace& trace, const LogCase& c, Stepping stepping) {
  auto built = workload::build_workload(trace, {}, -1);
  KVPLAN_CHECK(built.ok());
  core::Workload workload = std::move(built).value();
  if (c.answers) hold_answers(trace.prefix, workload);
  const auto choice = parse_component(c.allocator, "allocator", memory::allocator_descriptors());
  KVPLAN_CHECK(choice.ok());
  const core::MemoryLayout layout =
      sglang_layout(choice.value().integer("block_tokens"), c.pool_tokens, c.token_bytes, c.metadata_bytes);
  SglangTwin twin(stepping == Stepping::kNaive, workload, layout, c.prefix_cache);
  observe::Ledger ledger(workload, layout, {}, {});
  std::string bytes;
  io::EventLogWriter writer(
      [&](std::string_view more) -> Status {
        bytes += more;
        return Done{};
      },
      {.workload = &workload,
       .layout = layout,
       .null_block = false,
       .prefix_cache = c.prefix_cache,
       .rules = {.prefills_apart = true},
       .allocator = choice.value().to_string(),
       .scenario = "{}",
       .trace_digest = "0123456789abcdef",
       .writer = "test"},
      [&] { return ledger.bytes(); });
  const LogLatency latency(c);
  const std::array<core::Observer*, 2> observers{&ledger, &writer};
  const core::ReplicaSetup setup{
      .workload = &workload, .keep = {}, .latency = &latency.model(), .observers = observers};
  const auto replica = twin.replica(setup, *c.sglang);
  KVPLAN_CHECK(core::run_alone(*replica, workload, workload.order, nullptr).ok());
  KVPLAN_CHECK(writer.close().ok());
  return bytes;
}

}  // namespace kvplan::test
