#include "simulator/report/comparison.h"

#include <algorithm>
#include <iterator>

#include "simulator/base/version.h"
#include "simulator/report/answer.h"
#include "simulator/report/charts.h"
#include "simulator/report/comparison_charts.h"
#include "simulator/report/html.h"
#include "simulator/report/number_text.h"
#include "simulator/report/overview.h"
#include "simulator/report/palette.h"
#include "simulator/report/partings.h"
#include "simulator/report/text.h"
#include "simulator/report/variant_names.h"
#include "simulator/results/report.h"

namespace kvplan::report {
namespace {

using observe::kStateNames;
using observe::State;
using runs::Comparison;
using runs::RunResult;
using runs::Variant;

std::size_t index_of(const Comparison& comparison, const Variant& variant) {
  return static_cast<std::size_t>(&variant - comparison.variants.data());
}

/// The first variant that ran: its scenario has what all have in common.
const RunResult& first_result(const Comparison& comparison) {
  return *std::find_if(comparison.variants.begin(), comparison.variants.end(), [](const Variant& v) {
            return v.result.has_value();
          })->result;
}

/// States that some variant has at any time, from the bottom of a stack to its top.
std::vector<State> states_seen(const Comparison& comparison) {
  std::vector<State> seen;
  for (const State state : kStackOrder)
    for (const Variant& variant : comparison.variants)
      if (variant.result && variant.result->memory && variant.result->memory->timed &&
          variant.result->memory->mean_fraction[index(state)] > 0) {
        seen.push_back(state);
        break;
      }
  return seen;
}

Table variants_table(const Comparison& comparison, const VariantNames& names) {
  Table table{.title = "Variants", .columns = {""}, .rows = {}, .numbers = false};
  for (const Variant& variant : comparison.variants)
    table.rows.push_back({.label = names.label(index_of(comparison, variant)), .cells = {variant.name()}});
  return table;
}

Table memory_table(const Comparison& comparison, const VariantNames& names) {
  Table table{.title = "Memory by state, mean share", .columns = {"capacity"}, .rows = {}};
  const std::vector<State> states = states_seen(comparison);
  for (const State state : states) table.columns.emplace_back(kStateNames[index(state)]);
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    const RunResult& r = *variant.result;
    Row row{.label = names.label(index_of(comparison, variant)),
            .cells = {bytes_text(static_cast<double>(r.capacity_bytes))}};
    for (const State state : states)
      row.cells.push_back(r.memory && r.memory->timed ? percent(r.memory->mean_fraction[index(state)])
                                                      : kNoNumber);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table service_table(const Comparison& comparison, const VariantNames& names) {
  Table table{.title = "Service",
              .columns = {"mean batch", "largest", "preemptions", "completed", "TTFT p50", "TTFT p99",
                          "TPOT p50", "out tok/s"},
              .rows = {}};
  const bool targets = std::any_of(comparison.variants.begin(), comparison.variants.end(),
                                   [](const Variant& v) { return v.result && v.result->slo_met_fraction; });
  const bool percentiles =
      std::any_of(comparison.variants.begin(), comparison.variants.end(),
                  [](const Variant& v) { return v.result && !v.result->percentiles.empty(); });
  if (targets) table.columns.insert(table.columns.end(), {"met", "goodput/s"});
  if (percentiles) table.columns.emplace_back("targets hold");
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    const RunResult& r = *variant.result;
    const bool waits = r.ttft && !runs::is_saturated(r);  // otherwise it grows with the trace
    Row row{
        .label = names.label(index_of(comparison, variant)),
        .cells = {or_none(r.mean_running, rounded), grouped(r.max_running), grouped(r.preemptions),
                  grouped(r.completed), waits ? seconds_text(r.ttft->p50) : kNoNumber,
                  waits ? seconds_text(r.ttft->p99) : kNoNumber,
                  r.tpot ? seconds_text(r.tpot->p50) : kNoNumber, or_none(r.output_tokens_per_s, rounded)}};
    if (targets) {
      row.cells.push_back(or_none(r.slo_met_fraction, percent));
      row.cells.push_back(or_none(r.goodput_per_s, rounded));
    }
    if (percentiles) row.cells.push_back(!r.slo_met ? kNoNumber : *r.slo_met ? "yes" : "no");
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Number of devices, and results per device. Empty if all variants have the same number.
std::optional<Table> gpu_table(const Comparison& comparison, const VariantNames& names) {
  Table table{.title = "Results per GPU", .columns = {"GPUs", "out tok/s"}, .rows = {}};
  const auto has = [&](const auto& what) {
    return std::any_of(comparison.variants.begin(), comparison.variants.end(),
                       [&](const Variant& v) { return v.result && what(*v.result); });
  };
  const std::int64_t first = runs::gpus_of(first_result(comparison));
  if (!has([&](const RunResult& r) { return runs::gpus_of(r) != first; })) return std::nullopt;
  const bool targets = has([](const RunResult& r) { return r.goodput_per_s.has_value(); });
  if (targets) table.columns.emplace_back("goodput/s");
  const auto cell = [](const char* metric, const RunResult& r) {
    return or_none(runs::answer_metric(metric).value(r), rounded);
  };
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    const RunResult& r = *variant.result;
    Row row{.label = names.label(index_of(comparison, variant)),
            .cells = {grouped(runs::gpus_of(r)), cell("output_tokens_per_s_per_gpu", r)}};
    if (targets) row.cells.push_back(cell("goodput_per_s_per_gpu", r));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// What variants cost. Empty without prices.
std::optional<Table> cost_table(const Comparison& comparison, const VariantNames& names) {
  Table table{.title = "Cost", .columns = {"nodes", "an hour", "per million output tokens", ""}, .rows = {}};
  for (const Variant& variant : comparison.variants) {
    if (!variant.result || !variant.result->cost) continue;
    const RunResult& r = *variant.result;
    table.rows.push_back(
        {.label = names.label(index_of(comparison, variant)),
         .cells = {grouped(r.cost->nodes), rounded(r.cost->per_hour),
                   or_none(runs::cost_per_million_output_tokens(r), rounded), r.cost->currency}});
  }
  if (table.rows.empty()) return std::nullopt;
  return table;
}

std::vector<std::string> failures(const Comparison& comparison) {
  const VariantNames names(comparison);
  std::vector<std::string> out;
  for (const Variant& variant : comparison.variants)
    if (variant.error)
      out.push_back(names.label(index_of(comparison, variant)) + ": " + variant.error->to_string());
  return out;
}

/// "replicas=1: ", "variant 2, variant 3 and 4 others: ", "all but variant 2: "; empty if these are all that ran.
std::string of_variants(const VariantNames& names, const std::vector<std::size_t>& said_by,
                        const std::vector<std::size_t>& ran) {
  if (said_by.size() == ran.size()) return {};
  std::vector<std::size_t> rest;
  std::set_difference(ran.begin(), ran.end(), said_by.begin(), said_by.end(), std::back_inserter(rest));
  constexpr std::size_t kMost = 4;
  const bool all_but = rest.size() * 2 < said_by.size() && rest.size() <= kMost;
  const std::vector<std::size_t>& named = all_but ? rest : said_by;
  const std::size_t shown = named.size() <= kMost ? named.size() : kMost - 1;
  std::string out = all_but ? "all but " : "";
  for (std::size_t i = 0; i < shown; ++i)
    out.append(i == 0 ? "" : i + 1 == named.size() ? " and " : ", ").append(names.label(named[i]));
  if (shown < named.size())
    out += " and " + grouped(static_cast<std::int64_t>(named.size() - shown)) + " others";
  return out + ": ";
}

/// Each note once, preceded by the variants that it applies to unless it applies to all.
std::vector<std::string> notes(const Comparison& comparison,
                               const std::vector<std::string> RunResult::*lines) {
  std::vector<std::string> out;
  std::vector<std::vector<std::size_t>> said_by;
  std::vector<std::size_t> ran;
  for (std::size_t v = 0; v < comparison.variants.size(); ++v) {
    const Variant& variant = comparison.variants[v];
    if (!variant.result) continue;
    ran.push_back(v);
    for (const std::string& line : (*variant.result).*lines) {
      const auto place = static_cast<std::size_t>(std::find(out.begin(), out.end(), line) - out.begin());
      if (place == out.size()) {
        out.push_back(line);
        said_by.emplace_back();
      }
      if (said_by[place].empty() || said_by[place].back() != v) said_by[place].push_back(v);
    }
  }
  const VariantNames names(comparison);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].insert(0, of_variants(names, said_by[i], ran));
  return out;
}

/// For comparisons without a given latency model, in which variants got different ones: they then differ by more than
/// the varied values. Says which latency models they got.
std::string ways_of_step_times(const Comparison& comparison) {
  std::vector<std::string> ways;
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    const runs::Scenario& scenario = variant.result->scenario;
    std::string name(scenario.latency.name());
    if (scenario.origin("latency") != runs::Origin::kDefault) return {};
    if (std::find(ways.begin(), ways.end(), name) == ways.end()) ways.push_back(std::move(name));
  }
  if (ways.size() < 2) return {};
  std::string names;
  for (const std::string& way : ways) names += (names.empty() ? "" : " and ") + way;
  return "Step times come from different latency models (" + names +
         "), because devices or models differ: set latency to compare only the varied paths.";
}

std::string title_of(const Comparison& comparison) {
  const auto count = static_cast<std::int64_t>(comparison.variants.size());
  return grouped(count) + (count == 1 ? " variant" : " variants") + " of one scenario";
}

/// Settings of the first variant that ran: all of them, or those of the short form. Settings that differ read "varied".
Table common_scenario(const Comparison& comparison, bool all) {
  const RunResult& first = first_result(comparison);
  Table table = all ? run_content(first).scenario : settings_table(first.scenario);
  table.title = "Scenario of " +
                std::find_if(comparison.variants.begin(), comparison.variants.end(), [](const Variant& v) {
                  return v.result.has_value();
                })->name();
  for (Row& row : table.rows)
    for (const runs::Vary& vary : comparison.varies)
      if (vary.path == row.label || vary.path.rfind(row.label + ".", 0) == 0) row.cells[0] = "varied";
  return table;
}

}  // namespace

std::vector<Table> comparison_tables(const Comparison& comparison) {
  std::vector<Table> tables;
  const VariantNames names(comparison);
  if (names.numbered()) tables.push_back(variants_table(comparison, names));
  tables.push_back(memory_table(comparison, names));
  tables.push_back(service_table(comparison, names));
  if (auto gpus = gpu_table(comparison, names)) tables.push_back(std::move(*gpus));
  if (auto cost = cost_table(comparison, names)) tables.push_back(std::move(*cost));
  return tables;
}

std::vector<std::string> comparison_warnings(const Comparison& comparison) {
  std::vector<std::string> out;
  for (const std::string& failure : failures(comparison)) out.push_back("could not run: " + failure);
  for (const std::string& warning : notes(comparison, &RunResult::warnings)) out.push_back(warning);
  if (std::string ways = ways_of_step_times(comparison); !ways.empty()) out.push_back(std::move(ways));
  return out;
}

std::string comparison_json(const Comparison& comparison) {
  JsonWriter json;
  json.begin_object().member("version", kVersion).key("varied").begin_array();
  for (const runs::Vary& vary : comparison.varies) {
    json.begin_object().member("path", vary.path).key("values").begin_array();
    for (const std::string& value : vary.values) json.value(value);
    json.end_array().end_object();
  }
  json.end_array();
  write_answer(json, comparison);
  write_first_parting(json, comparison);
  json.key("variants").begin_array();
  for (const Variant& variant : comparison.variants) {
    json.begin_object().member("name", variant.name()).key("varied").begin_object();
    for (const auto& [path, value] : variant.varied) json.member(path, value);
    json.end_object().key("error");
    variant.error ? json.value(variant.error->to_string()) : json.null();
    write_parting(json, comparison, variant);
    if (variant.result) {
      runs::write_report(json, *variant.result);
    } else {
      json.key("gpus").null();
    }
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string comparison_text(const Comparison& comparison, std::size_t width, bool verbose) {
  std::string out = title_of(comparison) + "\n";
  const auto part = [&](const std::string& text) { out += text.empty() ? "" : "\n" + text; };
  const auto sentences = verbose ? answer_sentences(comparison) : short_answer_sentences(comparison);
  part(list_text("Answer", sentences, width));
  for (const Table& table : comparison_tables(comparison)) part(table_text(table, width));
  part(list_text("Where decisions part", parting_sentences(comparison), width));
  part(list_text("Could not run", failures(comparison), width));
  part(table_text(common_scenario(comparison, verbose), width));
  part(list_text("Warnings", notes(comparison, &RunResult::warnings), width));
  const std::vector<std::string> assumed = notes(comparison, &RunResult::assumptions);
  if (verbose) {
    part(list_text("Assumed", assumed, width));
    return out;
  }
  const std::size_t used = lines_of(out) + 3;
  part(fitting_list("Assumed", assumed, width, std::max(kOverviewLines, used) - used));
  part("--verbose prints a sentence about each variant, every setting and every assumption.\n");
  return out;
}

namespace {

void write_charts(Markup& html, const Comparison& comparison, const VariantNames& names) {
  std::vector<ShareRow> shares;
  std::vector<RunningRow> running;
  for (std::size_t v = 0; v < comparison.variants.size(); ++v) {
    const Variant& variant = comparison.variants[v];
    if (!variant.result || !variant.result->memory || !variant.result->memory->timed) continue;
    shares.push_back({names.label(v), variant.result->memory->mean_fraction});
    if (!variant.result->details.front().timeline.empty())
      running.push_back({names.label(v), &*variant.result});
  }
  if (!shares.empty()) write_chart(html, "Where the memory goes", share_chart(shares, "shares"));
  if (!running.empty()) {
    write_chart(html, "How many requests run", running_chart(running, "running"));
    if (running.size() < shares.size())
      html.leaf("p", "The first " + grouped(static_cast<std::int64_t>(running.size())) + " variants.",
                {{"class", "lead"}});
  }
  constexpr std::size_t kMostKnees = 12;
  const std::vector<runs::Knee> knees = runs::knees_of(comparison);
  for (std::size_t k = 0; k < std::min(knees.size(), kMostKnees); ++k) {
    const std::size_t first = knees[k].variants.front();
    std::string title = "Pool and " + std::string(metric_words(knees[k].metric));
    for (const auto& [path, value] : comparison.variants[first].varied)
      if (path != runs::varied_pool(comparison)) title += ", " + value;
    write_chart(html, title, knee_chart(comparison, knees[k], "knee" + std::to_string(k)));
  }
}

}  // namespace

std::string comparison_html(const Comparison& comparison, const std::string& command) {
  const RunResult& first = first_result(comparison);
  const VariantNames names(comparison);
  Markup html;
  begin_page(html, title_of(comparison),
             "Trace " + first.trace_digest + ", " + grouped(first.trace_requests) + " requests.");
  write_list(html, "Answer", answer_sentences(comparison));
  write_list(html, "Where decisions part", parting_sentences(comparison));
  write_list(html, "Could not run", failures(comparison));
  write_list(html, "Warnings", notes(comparison, &RunResult::warnings));
  write_charts(html, comparison, names);
  for (const Table& table : comparison_tables(comparison)) write_table(html, table);
  write_table(html, common_scenario(comparison, true));
  write_list(html, "Assumed", notes(comparison, &RunResult::assumptions));
  end_page(html, command);
  return html.take();
}

}  // namespace kvplan::report
