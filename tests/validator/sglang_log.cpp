#include "tests/validator/sglang_log.h"

#include <array>

#include "simulator/base/check.h"
#include "simulator/core/clock.h"
#include "simulator/io/event_log_writer.h"
#include "simulator/memory/allocators.h"
#include "simulator/observe/ledger.h"
#include "simulator/scheduling/sglang/replica.h"
#include "simulator/workload/workload_builder.h"
#include "tests/validator/log_latency.h"

namespace kvplan::test {

std::string log_of_sglang_run(const traces::Trace& trace, const LogCase& c, Stepping stepping) {
  const auto built = workload::build_workload(trace, {}, -1);
  KVPLAN_CHECK(built.ok());
  const core::Workload& workload = built.value();
  const auto choice = parse_component(c.allocator, "allocator", memory::allocator_descriptors());
  KVPLAN_CHECK(choice.ok());
  core::MemoryLayout layout;
  layout.quantum_tokens = choice.value().integer("block_tokens");
  layout.token_bytes = c.token_bytes + c.metadata_bytes;
  layout.metadata_bytes = c.metadata_bytes;
  layout.capacity_bytes = c.pool_tokens * layout.token_bytes;
  layout.quanta = c.pool_tokens / layout.quantum_tokens;
  layout.block_ids = false;
  layout.tree = true;
  scheduling::sglang::RadixMemory memory(workload, layout, 262144, c.prefix_cache);
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
       .prefills_apart = true,
       .allocator = choice.value().to_string(),
       .scenario = "{}",
       .trace_digest = "0123456789abcdef",
       .writer = "test"},
      [&] { return ledger.bytes(); });
  const LogLatency latency(c);
  const std::array<core::Observer*, 2> observers{&ledger, &writer};
  const core::ReplicaSetup setup{
      .workload = &workload, .keep = {}, .latency = &latency.model(), .observers = observers};
  const auto replica =
      scheduling::sglang::make_replica(setup, *c.sglang, memory, stepping == Stepping::kNaive);
  KVPLAN_CHECK(core::run_alone(*replica, workload, workload.order, nullptr).ok());
  KVPLAN_CHECK(writer.close().ok());
  return bytes;
}

}  // namespace kvplan::test
