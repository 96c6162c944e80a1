#include "validator/kernels/stage_files.h"

#include <cstdio>
#include <fstream>
#include <map>

#include "simulator/base/file_output.h"
#include "simulator/base/number_input.h"
#include "simulator/base/version.h"

namespace kvplan::validator {
namespace {

void put_telemetry(JsonWriter& json, std::string_view name, const std::optional<Telemetry>& seen) {
  json.key(name);
  if (!seen) {
    json.null();
    return;
  }
  json.begin_object()
      .member("sm_clock_mhz", seen->sm_clock_mhz)
      .member("memory_clock_mhz", seen->memory_clock_mhz);
  json.member("temperature_c", seen->temperature_c).member("power_mw", seen->power_mw);
  json.member("throttle_reasons", static_cast<std::int64_t>(seen->throttle_reasons)).end_object();
}

void put_notes(JsonWriter& json, const std::vector<std::pair<std::string, double>>& notes) {
  for (const auto& [name, value] : notes) json.member(name, value);
}

double note(const Timing& timing, std::string_view name) {
  for (const auto& [own, value] : timing.notes)
    if (own == name) return value;
  return 0;
}

MeasuredTable attention_table() {
  return MeasuredTable("decode-attention", {{"sequences", "count"},
                                            {"kv_length", "tokens"},
                                            {"query_heads", "count"},
                                            {"kv_heads", "count"},
                                            {"head_size", "count"},
                                            {"format", "text"},
                                            {"read", "bytes"},
                                            {"page_tokens", "count"},
                                            {"window", "tokens"},
                                            {"sinks", "tokens"},
                                            {"retained", "text"},
                                            {"kept", "ratio"},
                                            {"splits", "count"},
                                            {"grid", "count"},
                                            {"samples", "count"},
                                            {"median", "ns"},
                                            {"p10", "ns"},
                                            {"p90", "ns"},
                                            {"low", "ns"},
                                            {"high", "ns"}});
}

MeasuredTable plain_table(const std::string& kernel) {
  return MeasuredTable(kernel, {{"what", "text"},
                                {"batch", "count"},
                                {"length", "count"},
                                {"moved", "bytes"},
                                {"samples", "count"},
                                {"median", "ns"},
                                {"p10", "ns"},
                                {"p90", "ns"},
                                {"low", "ns"},
                                {"high", "ns"}});
}

MeasuredTable swap_table() {
  return MeasuredTable("swap", {{"descriptor", "bytes"},
                                {"descriptors", "count"},
                                {"direction", "text"},
                                {"method", "text"},
                                {"samples", "count"},
                                {"median", "ns"},
                                {"p10", "ns"},
                                {"p90", "ns"}});
}

void add_row(MeasuredTable& table, const TimedRow& row) {
  const Case& of = row.of;
  const OrderStatistics& ns = row.timing.ns;
  const Axes at = axes_of(of);
  if (of.kernel == "swap") {
    table.add({of.descriptor_bytes, of.descriptors, name_of(of.direction), name_of(of.path), ns.samples,
               ns.median, ns.p10, ns.p90});
  } else if (of.kernel == "decode-attention") {
    const double read =
        2.0 * at.batch * at.length * of.kv_heads * of.head_size * static_cast<double>(bytes_of(of.stored));
    table.add({at.batch,
               at.length,
               std::int64_t{of.query_heads},
               std::int64_t{of.kv_heads},
               std::int64_t{of.head_size},
               name_of(of.stored),
               read,
               std::int64_t{of.page_tokens},
               of.window,
               of.sinks,
               name_of(of.retained),
               of.kept_of_1000 / 1000.0,
               note(row.timing, "splits"),
               note(row.timing, "grid"),
               ns.samples,
               ns.median,
               ns.p10,
               ns.p90,
               ns.low,
               ns.high});
  } else {
    const std::string group = group_of(of);
    table.add({std::string_view(group), at.batch, at.length, row.timing.roofline.bytes, ns.samples, ns.median,
               ns.p10, ns.p90, ns.low, ns.high});
  }
}

/// Nothing is fitted: the parameters are the errors of predicting rows that were kept out.
void put_fit(JsonWriter& json, const UnseenErrors& unseen) {
  const PredictionErrors& errors = unseen.errors;
  json.begin_object().member("table", unseen.kernel).member("form", unseen.method);
  json.key("parameters").begin_array();
  for (const auto& [name, value] :
       {std::pair("error_median", errors.median), std::pair("error_p90", errors.p90),
        std::pair("error_worst", errors.worst), std::pair("bias", errors.bias),
        std::pair("rank_correlation", errors.rank_correlation)})
    json.begin_object().member("name", name).member("value", value).member("unit", "ratio").end_object();
  json.end_array().member("held_out_error", errors.mean).member("held_out_rows", errors.predicted);
  json.end_object();
}

}  // namespace

void put_facts(JsonWriter& json, const MachineFacts& machine, const StageFacts& facts) {
  json.member("stage", facts.stage).member("when", facts.when);
  json.member("made_by", "kvplan-validate " + std::string(kVersion));
  json.key("device").begin_object().member("name", machine.name).member("driver", machine.driver);
  json.member("toolkit", machine.toolkit).member("kernel_build", machine.kernel_build);
  json.member("sm_count", machine.sm_count).member("cache_bytes", machine.cache_bytes);
  json.member("memory_bytes", machine.memory_bytes).member("sm_clock_mhz", machine.sm_clock_mhz);
  json.member("memory_clock_mhz", machine.memory_clock_mhz).member("peak_bandwidth", machine.peak_bandwidth);
  json.end_object();
  put_telemetry(json, "before", facts.before);
  put_telemetry(json, "after", facts.after);
  json.member("drift", facts.drift).member("seconds", facts.seconds).member("rows_left", facts.rows_left);
}

void put_case(JsonWriter& json, const Case& of) {
  json.member("kernel", of.kernel)
      .member("case", describe(of))
      .member("seed", static_cast<std::int64_t>(of.seed));
}

void put_timing(JsonWriter& json, const Timing& timing, const MachineFacts& machine) {
  const OrderStatistics& ns = timing.ns;
  json.member("cold", timing.cold).member("copies", timing.copies).member("samples", ns.samples);
  json.member("median_ns", ns.median).member("p10_ns", ns.p10).member("p90_ns", ns.p90);
  json.member("low_ns", ns.low).member("high_ns", ns.high);
  json.member("bytes", timing.roofline.bytes).member("flops", timing.roofline.flops);
  const double rate = ns.median > 0 ? timing.roofline.bytes / ns.median * 1e9 : 0;
  json.member("bytes_per_s", rate);
  if (machine.peak_bandwidth > 0) json.member("of_peak", rate / machine.peak_bandwidth);
  put_notes(json, timing.notes);
}

std::string checked_json(const MachineFacts& machine, const StageFacts& facts,
                         const std::vector<CheckedRow>& rows) {
  JsonWriter json;
  json.begin_object();
  put_facts(json, machine, facts);
  std::int64_t wrong = 0;
  for (const CheckedRow& row : rows) wrong += row.checked.comparison.good ? 0 : 1;
  json.member("cases", static_cast<std::int64_t>(rows.size())).member("wrong", wrong);
  json.key("rows").begin_array();
  for (const auto& [of, checked] : rows) {
    const Comparison& found = checked.comparison;
    json.begin_object();
    put_case(json, of);
    json.member("good", found.good).member("error", found.error).member("tolerance", found.tolerance);
    json.member("worst_cosine", found.worst_cosine).member("worst_over_rms", found.worst_over_rms);
    json.member("differing", found.differing);
    if (!found.good) json.member("first_problem", found.first_problem);
    put_notes(json, checked.notes);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string timed_json(const MachineFacts& machine, const StageFacts& facts,
                       const std::vector<TimedRow>& rows) {
  JsonWriter json;
  json.begin_object();
  put_facts(json, machine, facts);
  json.key("rows").begin_array();
  for (const auto& [of, timing] : rows) {
    json.begin_object();
    put_case(json, of);
    put_timing(json, timing, machine);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string calibration_json(const MachineFacts& machine, const StageFacts& facts,
                             const std::vector<TimedRow>& rows, const Sampling& sampling,
                             const BesideRows& beside) {
  std::map<std::string, MeasuredTable> tables;
  for (const TimedRow& row : rows) {
    const std::string& kernel = row.of.kernel;
    auto found = tables.find(kernel);
    if (found == tables.end())
      found = tables
                  .emplace(kernel, kernel == "decode-attention" ? attention_table()
                                   : kernel == "swap"           ? swap_table()
                                                                : plain_table(kernel))
                  .first;
    add_row(found->second, row);
  }
  JsonWriter json;
  json.begin_object().member("schema", "kvplan-calibration-1");
  json.member("made_by", "kvplan-validate " + std::string(kVersion)).member("when", facts.when);
  json.key("device").begin_object().member("name", machine.name).member("sm_count", machine.sm_count);
  json.member("l2_bytes", machine.cache_bytes).member("visible_bytes", machine.memory_bytes);
  json.member("sm_clock_mhz", machine.sm_clock_mhz).member("memory_clock_mhz", machine.memory_clock_mhz);
  json.end_object().key("software").begin_object().member("driver", machine.driver);
  json.member("toolkit", machine.toolkit).member("engine", "kvplan").member("engine_version", kVersion);
  json.member("kernel_build", machine.kernel_build).end_object();
  json.key("method").begin_object().member("cold", true).member("graph", !machine.toolkit.empty());
  json.member("least_samples", sampling.least);
  json.member("stop_rule", std::to_string(sampling.least) +
                               " samples, and the 95 % interval of the median within " +
                               shortest(sampling.interval * 100) + " % of it, or " +
                               shortest(sampling.enough_ns / 1e6) + " ms of them");
  json.end_object().key("tables").begin_array();
  for (const MeasuredTable& table : beside.tables) table.write(json);
  for (const auto& [name, table] : tables) table.write(json);
  json.end_array().key("fits").begin_array();
  for (const UnseenErrors& unseen : beside.errors) put_fit(json, unseen);
  json.end_array().end_object();
  return json.take();
}

std::string grid_text(const std::vector<GridRow>& rows) {
  std::string text = "group\tbatch\tlength\tnanoseconds\n";
  for (const GridRow& row : rows)
    text +=
        row.group + "\t" + shortest(row.batch) + "\t" + shortest(row.length) + "\t" + shortest(row.ns) + "\n";
  return text;
}

Result<std::vector<GridRow>> read_grid(const std::string& path) {
  std::ifstream file(path);
  if (!file) return bad_input("cannot be read").at_file(path);
  std::vector<GridRow> rows;
  std::string line;
  std::getline(file, line);  // of names
  for (std::int64_t number = 2; std::getline(file, line); ++number) {
    GridRow row;
    std::size_t from = line.find('\t');
    row.group = line.substr(0, from);
    for (double* const to : {&row.batch, &row.length, &row.ns}) {
      if (from == std::string::npos) return bad_input("expected four columns").at_file(path).at_line(number);
      const std::size_t end = std::min(line.find('\t', from + 1), line.size());
      auto read = read_number(line.substr(from + 1, end - from - 1), {0, 1e18});
      if (!read.ok()) return std::move(read).error().at_file(path).at_line(number);
      *to = read.value();
      from = end == line.size() ? std::string::npos : end;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Status write_whole(const std::string& path, const std::string& text) {
  KVPLAN_TRY(const std::unique_ptr<Output> output, create_file_output(path));
  KVPLAN_TRY_DO(output->write(text));
  return output->commit();
}

}  // namespace kvplan::validator
