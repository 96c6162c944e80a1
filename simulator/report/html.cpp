#include "simulator/report/html.h"

#include <algorithm>

#include "simulator/base/version.h"
#include "simulator/report/charts.h"
#include "simulator/report/number_text.h"

namespace kvplan::report {
namespace {

constexpr std::string_view kPageCss =
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:900px;"
    "margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.1rem;margin-top:2rem}\n"
    ".lead{color:var(--quiet)}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.15rem .7rem;text-align:right;border-bottom:1px solid var(--grid);font-weight:400;"
    "vertical-align:top;white-space:nowrap}\n"
    "thead th{color:var(--quiet)}th[scope=row]{text-align:left;padding-left:0}\n"
    "td.words{text-align:left;color:var(--quiet)}td.text{text-align:left}td.text:last-child{white-space:"
    "normal;overflow-wrap:anywhere}\n"
    "td.bar{width:12rem;text-align:left}td.bar span{display:block;height:.8rem;margin-top:.35rem;"
    "background:#0072B2;min-width:1px}\n"
    ".scroll{overflow-x:auto}pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid var(--grid);"
    "padding:.6rem}\n"
    "@media print{body{max-width:none;margin:0}h2{break-after:avoid}.chart{break-inside:avoid}}\n";

std::string bar_width(double share) {
  return "width:" + coordinate(std::clamp(share, 0.0, 1.0) * 100) + "%";
}

/// A cell of text that may break after commas, for parameters of components.
void write_words(Markup& html, std::string_view cell) {
  html.begin("td", {{"class", "text"}});
  while (!cell.empty()) {
    const std::size_t comma = std::min(cell.find(','), cell.size() - 1);
    html.text(cell.substr(0, comma + 1));
    cell.remove_prefix(comma + 1);
    if (!cell.empty()) html.empty("wbr");
  }
  html.end();
}

}  // namespace

void begin_page(Markup& html, const std::string& title, const std::string& lead) {
  html.raw("<!DOCTYPE html>\n").begin("html", {{"xmlns", "http://www.w3.org/1999/xhtml"}, {"lang", "en"}});
  html.line_break().begin("head").empty("meta", {{"charset", "utf-8"}});
  html.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.leaf("title", "kvplan: " + title).line_break();
  html.begin("style").raw(chart_css()).raw(kPageCss).end().end().line_break();
  html.begin("body").begin("main").leaf("h1", title).line_break();
  if (!lead.empty()) html.leaf("p", lead, {{"class", "lead"}}).line_break();
}

void end_page(Markup& html, const std::string& command) {
  html.leaf("h2", "The same again").leaf("pre", command).line_break();
  html.leaf("p", "kvplan " + std::string(kVersion), {{"class", "lead"}});
  html.end().end().end().line_break();
}

void write_table(Markup& html, const Table& table) {
  html.leaf("h2", table.title).begin("div", {{"class", "scroll"}}).begin("table").line_break();
  const bool bars =
      std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return row.bar >= 0; });
  const bool notes =
      std::any_of(table.rows.begin(), table.rows.end(), [](const Row& row) { return !row.note.empty(); });
  if (table.numbers &&
      std::any_of(table.columns.begin(), table.columns.end(), [](const auto& c) { return !c.empty(); })) {
    html.begin("thead").begin("tr").leaf("td", "");
    for (const std::string& column : table.columns) html.leaf("th", column, {{"scope", "col"}});
    if (bars) html.leaf("td", "");
    if (notes) html.leaf("td", "");
    html.end().end().line_break();
  }
  html.begin("tbody");
  for (const Row& row : table.rows) {
    html.begin("tr").leaf("th", row.label, {{"scope", "row"}});
    for (const std::string& cell : row.cells) {
      if (table.numbers) {
        html.leaf("td", cell);
      } else {
        write_words(html, cell);
      }
    }
    if (bars) {
      html.begin("td", {{"class", "bar"}});
      if (row.bar > 0) html.leaf("span", "", {{"style", bar_width(row.bar)}});
      html.end();
    }
    if (notes) html.leaf("td", row.note, {{"class", "words"}});
    html.end().line_break();
  }
  html.end().end().end().line_break();
}

void write_list(Markup& html, const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  html.leaf("h2", title).begin("ul");
  for (const std::string& line : lines) html.leaf("li", line);
  html.end().line_break();
}

void write_chart(Markup& html, const std::string& title, const std::string& chart) {
  html.leaf("h2", title).line_break().raw(chart);
}

std::string run_html(const runs::RunResult& result, const std::string& command) {
  const Content content = run_content(result);
  Markup html;
  begin_page(html, content.title,
             "Trace " + result.trace_digest + ", " + grouped(result.trace_requests) + " requests.");
  write_list(html, "Verdict", content.verdict);
  write_list(html, "What it means", content.meaning);
  write_list(html, "Warnings", content.warnings);
  const bool timeline = !result.details.empty() && !result.details.front().timeline.empty() &&
                        result.memory && result.memory->timed;
  if (timeline) {
    write_chart(html, "KV memory over time", memory_chart(result, "memory"));
    write_chart(html, "Running and waiting requests", batch_chart(result, "batch"));
  }
  if (result.completed > 0) write_chart(html, "Latencies", latency_chart(result, "latency"));
  for (const Table& table : content.tables) write_table(html, table);
  write_table(html, content.scenario);
  write_list(html, "Assumed", content.assumptions);
  end_page(html, command);
  return html.take();
}

}  // namespace kvplan::report
