// kvplan trace info: look at traces.
#include <CLI/CLI.hpp>
#include <memory>

#include "simulator/base/json_writer.h"
#include "simulator/cli/command.h"
#include "traces/import/open_trace.h"
#include "traces/record/statistics.h"

namespace kvplan::cli {
namespace {

struct InfoOptions {
  std::string path;
  std::string json;
  traces::ImportOptions import;
};

void write_tokens(JsonWriter& json, std::string_view key, const traces::TokenStatistics& tokens) {
  json.key(key).begin_object();
  json.member("mean", tokens.mean).member("p50", tokens.p50).member("p95", tokens.p95);
  json.member("p99", tokens.p99).member("max", tokens.max).end_object();
}

std::string info_json(const traces::Trace& trace, const traces::Statistics& statistics) {
  JsonWriter json;
  json.begin_object();
  json.member("requests", statistics.requests).member("sessions", statistics.sessions);
  json.member("span_s", statistics.span_s).member("rate_per_s", statistics.rate_per_s);
  json.member("interarrival_cv", statistics.interarrival_cv);
  write_tokens(json, "input_tokens", statistics.input);
  write_tokens(json, "output_tokens", statistics.output);
  json.key("prefix");
  if (statistics.prefix) {
    const traces::PrefixStatistics& prefix = *statistics.prefix;
    json.begin_object().member("block_tokens", prefix.block_tokens).member("references", prefix.references);
    json.member("distinct", prefix.distinct).member("infinite_hit_blocks", prefix.infinite_hit_blocks);
    json.member("infinite_hit_tokens", prefix.infinite_hit_tokens).end_object();
  } else {
    json.null();
  }
  json.key("warnings").begin_array();
  for (const std::string& warning : trace.provenance.warnings) json.value(warning);
  json.end_array().member("digest", trace.digest).member("format", trace.provenance.format).end_object();
  return json.take();
}

Status run_info(const InfoOptions& options) {
  KVPLAN_TRY(const traces::Trace trace, traces::open_trace(options.path, options.import));
  const traces::Statistics statistics = traces::compute_statistics(trace);
  return write_text(options.json.empty() ? "-" : options.json, info_json(trace, statistics));
}

}  // namespace

void add_trace(CLI::App& app, Outcome& outcome) {
  CLI::App* const trace = app.add_subcommand("trace", "Import, inspect and convert request traces");
  trace->require_subcommand(1);

  auto info = std::make_shared<InfoOptions>();
  CLI::App* const command =
      trace->add_subcommand("info", "Size, rate, lengths and prefix sharing of a trace");
  command->add_option("TRACE", info->path, "A .kvt or any importable file")->required();
  command->add_option("--json", info->json, "Write the result as JSON to this file, - for standard output");
  command->add_option("--format", info->import.format, "Importer to use instead of what the content says");
  command->add_option("--map", info->import.map,
                      "Columns of a table: arrival=COLUMN[:UNIT],input=COLUMN,output=COLUMN");
  command->add_option("--block", info->import.block_tokens, "Tokens of one prefix id");
  run_as(*command, outcome, [info] { return run_info(*info); });
}

}  // namespace kvplan::cli
