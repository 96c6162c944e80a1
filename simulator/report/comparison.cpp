#include "simulator/report/comparison.h"

#include <algorithm>
#include <functional>

#include "simulator/report/charts.h"
#include "simulator/report/html.h"
#include "simulator/report/number_text.h"
#include "simulator/report/palette.h"
#include "simulator/report/text.h"

namespace kvplan::report {
namespace {

using observe::kStateNames;
using observe::State;
using plan::Comparison;
using plan::RunResult;
using plan::Variant;

constexpr const char* kNone = "-";

std::string or_none(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : kNone;
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

/// Long names are said once, in a table of their own; elsewhere variants are numbers then.
bool numbered(const Comparison& comparison) {
  constexpr std::size_t kLongest = 20;
  return std::any_of(comparison.variants.begin(), comparison.variants.end(),
                     [](const Variant& v) { return characters(v.name()) > kLongest; });
}

std::string label_of(const Comparison& comparison, const Variant& variant) {
  if (!numbered(comparison)) return variant.name();
  return "variant " + grouped(&variant - comparison.variants.data() + 1);
}

Table variants_table(const Comparison& comparison) {
  Table table{.title = "Variants", .columns = {""}, .rows = {}, .numbers = false};
  for (const Variant& variant : comparison.variants)
    table.rows.push_back({.label = label_of(comparison, variant), .cells = {variant.name()}});
  return table;
}

Table memory_table(const Comparison& comparison) {
  Table table{.title = "Memory by state, mean share", .columns = {"capacity"}, .rows = {}};
  const std::vector<State> states = states_seen(comparison);
  for (const State state : states) table.columns.emplace_back(kStateNames[index(state)]);
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    const RunResult& r = *variant.result;
    Row row{.label = label_of(comparison, variant),
            .cells = {bytes_text(static_cast<double>(r.capacity_bytes))}};
    for (const State state : states)
      row.cells.push_back(r.memory && r.memory->timed ? percent(r.memory->mean_fraction[index(state)])
                                                      : kNone);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table service_table(const Comparison& comparison) {
  Table table{.title = "Service",
              .columns = {"mean batch", "largest", "preemptions", "completed", "TTFT p50", "TTFT p99",
                          "TPOT p50", "out tok/s"},
              .rows = {}};
  const bool targets = std::any_of(comparison.variants.begin(), comparison.variants.end(),
                                   [](const Variant& v) { return v.result && v.result->slo_met_fraction; });
  if (targets) table.columns.insert(table.columns.end(), {"met", "goodput/s"});
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    const RunResult& r = *variant.result;
    Row row{.label = label_of(comparison, variant),
            .cells = {or_none(r.mean_running, rounded), grouped(r.max_running), grouped(r.preemptions),
                      grouped(r.completed), r.ttft ? seconds_text(r.ttft->p50) : kNone,
                      r.ttft ? seconds_text(r.ttft->p99) : kNone, r.tpot ? seconds_text(r.tpot->p50) : kNone,
                      or_none(r.output_tokens_per_s, rounded)}};
    if (targets) {
      row.cells.push_back(or_none(r.slo_met_fraction, percent));
      row.cells.push_back(or_none(r.goodput_per_s, rounded));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "X is lowest (or highest) with VARIANT: a; the other end is b". Empty where the printed values do not
/// differ or fewer than two variants have one. Values that print alike are a tie, and the first of them is
/// named.
std::string best_sentence(const Comparison& comparison, const std::string& what, bool least,
                          const std::function<std::optional<double>(const RunResult&)>& value,
                          std::string (*text)(double)) {
  std::vector<std::pair<double, const Variant*>> values;
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    if (const std::optional<double> x = value(*variant.result)) values.emplace_back(*x, &variant);
  }
  if (values.size() < 2) return {};
  const auto [low, high] = std::minmax_element(
      values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::string best = text(least ? low->first : high->first);
  const std::string other = text(least ? high->first : low->first);
  if (best == other) return {};
  std::int64_t ties = -1;
  const Variant* named = nullptr;
  for (const auto& [x, variant] : values) {
    if (text(x) != best) continue;
    ++ties;
    if (named == nullptr) named = variant;
  }
  return what + " is " + (least ? "lowest" : "highest") + " with " + label_of(comparison, *named) +
         (ties > 0 ? " and " + grouped(ties) + (ties == 1 ? " other" : " others") : std::string()) + ": " +
         best + "; the other end is " + other + ".";
}

std::vector<std::string> failures(const Comparison& comparison) {
  std::vector<std::string> out;
  for (const Variant& variant : comparison.variants)
    if (variant.error) out.push_back(label_of(comparison, variant) + ": " + variant.error->to_string());
  return out;
}

std::vector<std::string> notes(const Comparison& comparison,
                               const std::vector<std::string> RunResult::*lines) {
  std::vector<std::string> out;
  for (const Variant& variant : comparison.variants) {
    if (!variant.result) continue;
    for (const std::string& line : (*variant.result).*lines)
      if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
  }
  return out;
}

std::string title_of(const Comparison& comparison) {
  const auto count = static_cast<std::int64_t>(comparison.variants.size());
  return grouped(count) + (count == 1 ? " variant" : " variants") + " of one scenario";
}

/// The first variant that ran: what all have in common stands in its scenario.
const RunResult& first_result(const Comparison& comparison) {
  return *std::find_if(comparison.variants.begin(), comparison.variants.end(), [](const Variant& v) {
            return v.result.has_value();
          })->result;
}

Table common_scenario(const Comparison& comparison) {
  Table table = run_content(first_result(comparison)).scenario;
  table.title = "Scenario of " +
                std::find_if(comparison.variants.begin(), comparison.variants.end(), [](const Variant& v) {
                  return v.result.has_value();
                })->name();
  for (Row& row : table.rows)
    for (const plan::Vary& vary : comparison.varies)
      if (vary.path == row.label || vary.path.rfind(row.label + ".", 0) == 0) row.cells[0] = "varied";
  return table;
}

}  // namespace

std::vector<Table> comparison_tables(const Comparison& comparison) {
  std::vector<Table> tables;
  if (numbered(comparison)) tables.push_back(variants_table(comparison));
  tables.push_back(memory_table(comparison));
  tables.push_back(service_table(comparison));
  return tables;
}

std::vector<std::string> comparison_meaning(const Comparison& comparison) {
  std::vector<std::string> out;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) out.push_back(std::move(sentence));
  };
  const auto share_of = [](std::initializer_list<State> states) {
    return [states = std::vector<State>(states)](const RunResult& r) -> std::optional<double> {
      if (!r.memory || !r.memory->timed) return std::nullopt;
      double sum = 0;
      for (const State state : states) sum += r.memory->mean_fraction[index(state)];
      return sum;
    };
  };
  add(best_sentence(comparison, "Idle memory (free or cached)", false,
                    share_of({State::kFree, State::kCached}), percent));
  add(best_sentence(comparison,
                    "Memory that is neither used nor usable (all but live, metadata, cached and free)", true,
                    share_of({State::kReserved, State::kHole, State::kTail, State::kPadding, State::kInternal,
                              State::kStranded}),
                    percent));
  add(best_sentence(
      comparison, "TTFT p99", true,
      [](const RunResult& r) { return r.ttft ? std::optional(r.ttft->p99) : std::nullopt; }, seconds_text));
  add(best_sentence(
      comparison, "Output per second", false, [](const RunResult& r) { return r.output_tokens_per_s; },
      rounded));
  add(best_sentence(
      comparison, "Goodput per second", false, [](const RunResult& r) { return r.goodput_per_s; }, rounded));
  std::size_t served = 0;
  for (const Variant& variant : comparison.variants) {
    if (variant.result && variant.result->completed > 0) ++served;
    if (variant.result && variant.result->arrived > 0 && variant.result->rejected == variant.result->arrived)
      out.push_back(label_of(comparison, variant) + " rejected every request on arrival.");
  }
  if (served < 2) {
    out.emplace_back("Fewer than two variants served a request, so there is nothing to compare.");
  } else if (out.empty()) {
    out.emplace_back("The variants do not differ in idle memory, TTFT p99 or output per second.");
  }
  return out;
}

std::vector<std::string> comparison_warnings(const Comparison& comparison) {
  std::vector<std::string> out;
  for (const std::string& failure : failures(comparison)) out.push_back("could not run: " + failure);
  for (const std::string& warning : notes(comparison, &RunResult::warnings)) out.push_back(warning);
  return out;
}

std::string comparison_text(const Comparison& comparison, std::size_t width) {
  std::string out = title_of(comparison) + "\n\n" + table_text(common_scenario(comparison), width);
  for (const Table& table : comparison_tables(comparison)) out += "\n" + table_text(table, width);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += std::string("\n") + title + "\n";
    for (const std::string& line : lines) out += "  " + wrapped(line, width - 2, "  ") + "\n";
  };
  list("Could not run", failures(comparison));
  list("Warnings", notes(comparison, &RunResult::warnings));
  list("Assumed", notes(comparison, &RunResult::assumptions));
  list("What it means", comparison_meaning(comparison));
  return out;
}

std::string comparison_html(const Comparison& comparison, const std::string& command) {
  const RunResult& first = first_result(comparison);
  Markup html;
  begin_page(html, title_of(comparison),
             "Trace " + first.trace_digest + ", " + grouped(first.trace_requests) + " requests.");
  write_table(html, common_scenario(comparison));
  if (numbered(comparison)) write_table(html, variants_table(comparison));
  write_list(html, "What it means", comparison_meaning(comparison));
  write_list(html, "Could not run", failures(comparison));
  write_list(html, "Warnings", notes(comparison, &RunResult::warnings));
  std::vector<ShareRow> rows;
  for (const Variant& variant : comparison.variants)
    if (variant.result && variant.result->memory && variant.result->memory->timed)
      rows.push_back({label_of(comparison, variant), variant.result->memory->mean_fraction});
  if (!rows.empty()) write_chart(html, "Where the memory goes", share_chart(rows, "shares"));
  write_table(html, memory_table(comparison));
  write_table(html, service_table(comparison));
  write_list(html, "Assumed", notes(comparison, &RunResult::assumptions));
  end_page(html, command);
  return html.take();
}

}  // namespace kvplan::report
