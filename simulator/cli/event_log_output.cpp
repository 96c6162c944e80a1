#include "simulator/cli/event_log_output.h"

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/io/event_log_writer.h"
#include "simulator/plan/report.h"

namespace kvplan::cli {

namespace {

/// What a cell of the log is. Where it is known which tokens go, survivors that move do so track by track: as many
/// cells as the policy tells apart, even if the run need not tell them apart. Else all that counts alike is one.
void tell_courses(const plan::TokenPlan& tokens, io::EventLogOptions& log) {
  log.reuse = tokens.placement == core::Placement::kReuse;
  log.compacts = tokens.counted;
  const std::int64_t cells = log.layout.cells_per_token;
  const std::int64_t tracks = plan::known_tracks(tokens);
  const std::int64_t metadata_bytes = log.layout.metadata_bytes * cells;
  log.counted = tracks == 0 || log.layout.token_bytes % tracks != 0 || metadata_bytes % tracks != 0;
  log.track_units.assign(static_cast<std::size_t>(log.counted ? cells : tracks), 1);
  log.layout.metadata_bytes = metadata_bytes / static_cast<std::int64_t>(log.track_units.size());
}

}  // namespace

EventLogOutput::EventLogOutput(std::string path) : path_(std::move(path)) {}
EventLogOutput::~EventLogOutput() = default;

void EventLogOutput::attach(const plan::Scenario& scenario, const traces::Trace& trace,
                            plan::RunOptions& options) {
  options.extra_observers.push_back(
      [this, &scenario, &trace](const plan::Watched& watched) -> Result<core::Observer*> {
        if (scenario.replicas > 1)
          return bad_input("an event log holds one replica, expected fleet.replicas=1, found " +
                           std::to_string(scenario.replicas))
              .at_field("--events");
        if (!watched.tokens.windows.empty())
          return bad_input(
                     "a log has one placement for all tables of a request, but layers with windows drop in "
                     "place beside a policy: expected memory.allocator=paged:table=all, or a model without "
                     "windows")
              .at_field("--events");
        if (watched.tokens.finds_prefixes && !watched.memory.layout().groups.empty())
          return bad_input(
                     "a log does not tell which blocks are found where layers lie in groups: expected "
                     "engine.prefix_cache=false, or memory.allocator=paged")
              .at_field("--events");
        if (!watched.tokens.encoded.empty())
          return bad_input(
                     "a log has places of tokens, and encoded ones have none: expected a format that stores "
                     "every "
                     "token at once, found " +
                     scenario.text("format"))
              .at_field("--events");
        JsonWriter json(0);
        json.begin_object();
        plan::write_scenario(json, scenario);
        json.end_object();
        io::EventLogOptions log;
        log.workload = &watched.workload;
        log.layout = watched.memory.layout();
        log.null_block = log.layout.null_block;
        log.prefix_cache = scenario.finds_prefixes();
        log.prefills_apart = scenario.engine_traits().prefills_apart;
        log.keep = scenario.keep;
        if (scenario.follows_courses()) tell_courses(watched.tokens, log);
        log.allocator = scenario.allocator.to_string();
        log.scenario = json.take();
        log.trace_digest = trace.digest;
        log.writer = "kvplan " + std::string(kVersion);
        const auto totals = [&ledger = watched.ledger] {
          return ledger.bytes();
        };  // the log's order of states is the ledger's
        KVPLAN_TRY(writer_, io::EventLogWriter::create(path_, log, totals));
        return static_cast<core::Observer*>(writer_.get());
      });
}

Status EventLogOutput::close() {
  return writer_ == nullptr ? Status(Done{}) : writer_->close();
}

}  // namespace kvplan::cli
