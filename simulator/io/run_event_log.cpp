#include "simulator/io/run_event_log.h"

#include "simulator/base/json_writer.h"
#include "simulator/base/version.h"
#include "simulator/results/report.h"
#include "simulator/retention/run_tokens.h"

namespace kvplan::io {

namespace {

/// Defines a cell of the log. If the dropped tokens are known, survivors move track by track: as many cells as the
/// policy tells apart, even if the run does not need that. Otherwise everything with the same count is one cell.
/// Tracks of other ranks are included if they hold blocks.
void tell_courses(const runs::LogCells& cells, EventLogOptions& log) {
  log.reuse = cells.placement == core::Placement::kReuse;
  log.compacts = cells.placement == core::Placement::kCompact;
  const std::int64_t tracks = cells.known_tracks;
  const std::int64_t metadata_bytes = log.layout.metadata_bytes * log.layout.cells_per_token;
  log.counted = tracks == 0 || log.layout.token_bytes % tracks != 0 || metadata_bytes % tracks != 0;
  const std::int64_t told = log.counted ? log.layout.cells_per_token : tracks;
  log.track_units.assign(static_cast<std::size_t>(told), 1);
  if (!cells.rank_units.empty()) log.track_units = cells.rank_units;
  if (cells.others_keep_more) {  // a track of each table stands for the others
    log.track_units.clear();
    for (std::int64_t t = 0; t < cells.tables; ++t) {
      log.track_units.insert(log.track_units.end(), static_cast<std::size_t>(told / cells.tables), 1);
      log.track_units.push_back(0);
    }
  }
  log.layout.metadata_bytes = metadata_bytes / told;
}

/// Errors: the run is one that a log cannot describe.
Status check_run(const runs::Scenario& scenario, const runs::Watched& watched) {
  runs::RunParts parts = watched.tokens.parts;
  parts.add(runs::Part::kEvents);
  KVPLAN_TRY_DO(runs::check_combinations(parts, scenario, runs::Known::kMemory));
  if (runs::undriven_requests(watched.tokens.retention(), watched.workload) > 0)
    return bad_input(
               "an event log records the evicted tokens of all requests or of none: expected recordings that "
               "are long enough for every request (prompt + output - 1 tokens), or no recordings")
        .at_field("--events");
  return Done{};
}

EventLogOptions options_of(const runs::Scenario& scenario, const traces::Trace& trace,
                           const runs::Watched& watched) {
  JsonWriter json(0);
  json.begin_object();
  runs::write_scenario(json, scenario);
  json.end_object();
  const runs::Retention& retention = watched.tokens.retention();
  EventLogOptions log;
  log.workload = &watched.workload;
  log.layout = watched.memory.layout();
  log.null_block = log.layout.null_block;
  log.prefix_cache = watched.tokens.prefixes.finds;
  log.rules = scenario.engine_traits().log;
  log.keep = retention.keep_rule();
  if (retention.follows_courses()) tell_courses(retention.log_cells(), log);
  if (retention.follows_courses() && log.prefix_cache) log.prompt_rows = watched.tokens.prefixes.prompt_rows;
  log.replicas = static_cast<std::int32_t>(scenario.replicas);
  log.allocator = scenario.allocator.to_string();
  log.scenario = json.take();
  log.trace_digest = trace.digest;
  log.writer = "kvplan " + std::string(kVersion);
  return log;
}

}  // namespace

RunEventLog::RunEventLog(std::string path)
    : make_file_([path = std::move(path)](const event_log::Header& header) {
        return EventLogFile::create(path, header);
      }) {}
RunEventLog::RunEventLog(event_log::Encoder::Sink sink)
    : make_file_([sink = std::move(sink)](const event_log::Header& header) {
        return Result<std::unique_ptr<EventLogFile>>(std::make_unique<EventLogFile>(sink, header));
      }) {}

void RunEventLog::attach(const runs::Scenario& scenario, const traces::Trace& trace,
                         runs::RunOptions& options) {
  if (scenario.replicas > 1) {
    fleet_ = std::make_unique<FleetLogWriter>();
    options.fleet_watcher = fleet_.get();
    options.extra_observers_on_threads = options.extra_observers.empty();
  }
  options.extra_observers.push_back(
      [this, &scenario, &trace](const runs::Watched& watched) -> Result<core::Observer*> {
        // The log has its states in the same order as the ledger.
        const auto totals = [&ledger = watched.ledger] { return ledger.bytes(); };
        if (watched.replica > 0) return fleet_->add_replica(totals);
        KVPLAN_TRY_DO(check_run(scenario, watched));
        return begin(options_of(scenario, trace, watched), totals);
      });
}

/// Begins the log with the first replica; all others have the same memory layout.
Result<core::Observer*> RunEventLog::begin(const EventLogOptions& log, EventRecorder::TotalsNow totals) {
  KVPLAN_TRY(auto file, make_file_(header_of(log)));
  if (fleet_ != nullptr) {
    fleet_->begin(std::move(file), log);
    return fleet_->add_replica(std::move(totals));
  }
  alone_ = std::make_unique<EventLogWriter>(std::move(file), log, std::move(totals));
  return static_cast<core::Observer*>(alone_.get());
}

Status RunEventLog::close() {
  if (fleet_ != nullptr) return fleet_->close();
  return alone_ == nullptr ? Status(Done{}) : alone_->close();
}

}  // namespace kvplan::io
