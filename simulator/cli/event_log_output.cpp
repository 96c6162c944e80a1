#include "simulator/cli/event_log_output.h"

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/io/event_log_writer.h"
#include "simulator/plan/report.h"

namespace kvplan::cli {

EventLogOutput::EventLogOutput(std::string path) : path_(std::move(path)) {}
EventLogOutput::~EventLogOutput() = default;

void EventLogOutput::attach(const plan::Scenario& scenario, const traces::Trace& trace,
                            plan::RunOptions& options) {
  options.extra_observers.push_back([this, &scenario, &trace](
                                        std::int64_t /*replica*/, const core::Workload& workload,
                                        const observe::Ledger& ledger,
                                        const core::Memory& memory) -> Result<core::Observer*> {
    if (scenario.replicas > 1)
      return bad_input("an event log holds one replica, expected fleet.replicas=1, found " +
                       std::to_string(scenario.replicas))
          .at_field("--events");
    if (!scenario.engine_traits().leaves_a_log)
      return bad_input("the memory of the engine \"" + std::string(scenario.engine.name()) +
                       "\" is counted, not told block by block: no event log can be written")
          .at_field("--events");
    if (scenario.evicts_by == plan::EvictsBy::kCounts)
      return bad_input(
                 "an event log tells cells by their tokens, expected placement=holes or reuse, found "
                 "compact, "
                 "where only their number is known")
          .at_field("--events");
    JsonWriter json(0);
    json.begin_object();
    plan::write_scenario(json, scenario);
    json.end_object();
    io::EventLogOptions log;
    log.workload = &workload;
    log.layout = memory.layout();
    log.null_block = memory.layout().null_block;
    log.prefix_cache = scenario.finds_prefixes();
    log.keep = scenario.keep;
    if (scenario.follows_courses()) {
      log.track_units.assign(static_cast<std::size_t>(memory.layout().cells_per_token), 1);
      log.reuse = scenario.eviction->text("placement") == "reuse";
    }
    log.allocator = scenario.allocator.to_string();
    log.scenario = json.take();
    log.trace_digest = trace.digest;
    log.writer = "kvplan " + std::string(kVersion);
    const auto totals = [&ledger] { return ledger.bytes(); };  // the log's order of states is the ledger's
    KVPLAN_TRY(writer_, io::EventLogWriter::create(path_, log, totals));
    return static_cast<core::Observer*>(writer_.get());
  });
}

Status EventLogOutput::close() {
  return writer_ == nullptr ? Status(Done{}) : writer_->close();
}

}  // namespace kvplan::cli
