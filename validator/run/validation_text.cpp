// Text and page of a validated run.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "proto/validation.pb.h"
#include "simulator/report/charts.h"
#include "simulator/report/html.h"
#include "simulator/report/number_text.h"
#include "validator/run/validation_report.h"

namespace kvplan::validator {
namespace {

std::string share(double of) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", of * 100);
  return text.data();
}

/// With four significant digits.
std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value == std::floor(value) ? "%.0f" : "%.4g", value);
  return text.data();
}

std::string maybe(bool known, double value, std::string (*text)(double)) {
  return known ? text(value) : "-";
}

std::string us(double ns) {
  return short_number(ns / 1e3);
}
std::string ms(double s) {
  return short_number(s * 1e3);
}

std::string error_of(const v1::ValidatedCall& call) {
  if (!call.has_predicted_ns() || !call.has_measured_ns()) return "-";
  return share(call.predicted_ns() / call.measured_ns() - 1);
}

report::Table quantities_table(const v1::Validation& v) {
  report::Table table{
      .title = "Predicted and measured", .columns = {"predicted", "measured", "unit"}, .rows = {}};
  for (const v1::ValidatedQuantity& q : v.quantities()) {
    // of one replica among many; shown where it differs
    if (q.name().starts_with("replicas[") && q.predicted() == q.measured()) continue;
    table.rows.push_back({.label = q.name(),
                          .cells = {maybe(q.has_predicted(), q.predicted(), short_number),
                                    maybe(q.has_measured(), q.measured(), short_number), q.unit()}});
  }
  return table;
}

report::Table kernels_table(const v1::Validation& v) {
  report::Table table{.title = "Errors of predicted kernel times",
                      .columns = {"calls", "predicted", "median", "90th percentile", "worst", "bias", "rank"},
                      .rows = {}};
  for (const v1::ValidatedKernel& k : v.kernels())
    table.rows.push_back(
        {.label = k.kernel(),
         .cells = {std::to_string(k.calls()), std::to_string(k.predicted_calls()),
                   maybe(k.has_median(), k.median(), share), maybe(k.has_p90(), k.p90(), share),
                   maybe(k.has_worst(), k.worst(), share), maybe(k.has_bias(), k.bias(), share),
                   maybe(k.has_rank_correlation(), k.rank_correlation(), short_number)}});
  return table;
}

report::Table steps_table(const v1::Validation& v) {
  report::Table table{
      .title = "Steps with kernels that ran",
      .columns = {"at, s", "requests", "tokens", "kept", "kernels predicted, ms", "measured, ms"},
      .rows = {}};
  for (const v1::ValidatedStep& s : v.steps())
    table.rows.push_back(
        {.label = "step " + std::to_string(s.step()),
         .cells = {short_number(s.time_s()), std::to_string(s.requests()), std::to_string(s.tokens()),
                   share(s.kept_fraction()), maybe(s.has_predicted_s(), s.predicted_s(), ms),
                   maybe(s.has_measured_s(), s.measured_s(), ms)}});
  return table;
}

report::Table calls_table(const v1::Validation& v) {
  report::Table table{
      .title = "Calls", .columns = {"predicted, us", "measured, us", "error", "source"}, .rows = {}};
  for (const v1::ValidatedStep& s : v.steps())
    for (const v1::ValidatedCall& c : s.kernels())
      table.rows.push_back(
          {.label = std::to_string(s.step()) + ": " + c.call(),
           .cells = {maybe(c.has_predicted_ns(), c.predicted_ns(), us),
                     maybe(c.has_measured_ns(), c.measured_ns(), us), error_of(c), c.source()}});
  return table;
}

std::string as_text(const report::Table& table) {
  std::vector<std::size_t> widths(table.columns.size());
  std::size_t label = 0;
  for (const report::Row& row : table.rows) label = std::max(label, row.label.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    widths[i] = table.columns[i].size();
    for (const report::Row& row : table.rows) widths[i] = std::max(widths[i], row.cells[i].size());
  }
  std::string text = table.title + "\n" + std::string(label, ' ');
  const auto add = [&](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      text += "  " + std::string(widths[i] - cells[i].size(), ' ') + cells[i];
    text += "\n";
  };
  add(table.columns);
  for (const report::Row& row : table.rows) {
    text += row.label + std::string(label - row.label.size(), ' ');
    add(row.cells);
  }
  return text;
}

struct Point {
  double predicted, measured;
  std::string what;
};

/// Predicted against measured time of every call on logarithmic axes; the line is where both are equal.
std::string times_chart(const std::vector<Point>& points) {
  double low = 1e300, high = 0;
  for (const Point& p : points) {
    low = std::min({low, p.predicted, p.measured});
    high = std::max({high, p.predicted, p.measured});
  }
  low = std::pow(10, std::floor(std::log10(low)));
  high = std::pow(10, std::ceil(std::log10(high * 1.0001)));
  constexpr double kLeft = 70, kRight = 430, kTop = 16, kBottom = 376;
  const auto at = [&](double ns, double from, double to) {
    return from + (to - from) * std::log10(ns / low) / std::log10(high / low);
  };
  report::Markup svg;
  svg.begin("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                    {"viewBox", "0 0 720 430"},
                    {"class", "chart"},
                    {"role", "img"}});
  svg.leaf("title", "Predicted and measured times of calls");
  for (double tick = low; tick <= high * 1.0001; tick *= 10) {
    const std::string x = report::coordinate(at(tick, kLeft, kRight)),
                      y = report::coordinate(at(tick, kBottom, kTop));
    svg.empty("line", {{"x1", x},
                       {"x2", x},
                       {"y1", report::coordinate(kTop)},
                       {"y2", report::coordinate(kBottom)},
                       {"stroke", "var(--grid)"}});
    svg.empty("line", {{"x1", report::coordinate(kLeft)},
                       {"x2", report::coordinate(kRight)},
                       {"y1", y},
                       {"y2", y},
                       {"stroke", "var(--grid)"}});
    svg.leaf(
        "text", us(tick),
        {{"x", x}, {"y", "394"}, {"text-anchor", "middle"}, {"font-size", "12"}, {"fill", "var(--quiet)"}});
    svg.leaf("text", us(tick),
             {{"x", "62"}, {"y", y}, {"text-anchor", "end"}, {"font-size", "12"}, {"fill", "var(--quiet)"}});
  }
  svg.empty("line", {{"x1", report::coordinate(kLeft)},
                     {"y1", report::coordinate(kBottom)},
                     {"x2", report::coordinate(kRight)},
                     {"y2", report::coordinate(kTop)},
                     {"stroke", "var(--ink)"}});
  for (const Point& p : points) {
    svg.begin("circle", {{"cx", report::coordinate(at(p.predicted, kLeft, kRight))},
                         {"cy", report::coordinate(at(p.measured, kBottom, kTop))},
                         {"r", "4"},
                         {"fill", "#0072B2"},
                         {"fill-opacity", "0.7"}});
    svg.leaf("title", p.what).end();
  }
  svg.leaf(
      "text", "predicted, us",
      {{"x", "250"}, {"y", "416"}, {"text-anchor", "middle"}, {"font-size", "12"}, {"fill", "var(--ink)"}});
  svg.leaf("text", "measured, us",
           {{"x", "16"},
            {"y", "196"},
            {"text-anchor", "middle"},
            {"font-size", "12"},
            {"fill", "var(--ink)"},
            {"transform", "rotate(-90 16 196)"}});
  svg.end();
  return svg.take();
}

std::vector<Point> points_of(const v1::Validation& v) {
  std::vector<Point> out;
  for (const v1::ValidatedStep& s : v.steps())
    for (const v1::ValidatedCall& c : s.kernels())
      if (c.predicted_ns() > 0 && c.measured_ns() > 0)
        out.push_back({c.predicted_ns(), c.measured_ns(), c.call() + ": " + error_of(c)});
  return out;
}

std::vector<std::string> lead_of(const v1::Validation& v) {
  std::vector<std::string> lines;
  lines.push_back("verdict: " + v.verdict() +
                  (v.first_problem().empty() ? "" : " (" + v.first_problem() + ")"));
  lines.push_back("memory on " + v.device() + ", kernels on " + v.machine().name() +
                  (v.machine().driver().empty() ? "" : ", driver " + v.machine().driver()));
  lines.push_back(std::to_string(v.events()) + " events replayed, bytes in ten states compared at " +
                  std::to_string(v.moments()) + " moments: " + std::to_string(v.byte_mismatches()) +
                  " totals and " + std::to_string(v.count_mismatches()) + " counts or retained sets differ");
  const v1::ValidationCoverage& c = v.coverage();
  lines.push_back(
      "kernels of " + std::to_string(c.measured_steps()) + " of " + std::to_string(c.decoding_steps()) +
      " runs of decode steps, chosen from " + share(c.time_share()) + " of the simulated time; " +
      std::to_string(c.predicted_calls()) + " of " + std::to_string(c.calls()) + " calls predicted from " +
      (v.machine().calibration().empty()
           ? std::to_string(v.machine().calibrated_rows()) + " calibrated rows, none of which is one of them"
           : v.machine().calibration()));
  for (const v1::ValidatedMethod& m : v.methods())
    lines.push_back("error of keeping a part, step " + std::to_string(m.step()) + ": " +
                    short_number(m.predicted()) + " by definition, " + short_number(m.measured()) +
                    " measured");
  lines.insert(lines.end(), v.notes().begin(), v.notes().end());
  return lines;
}

}  // namespace

std::string validation_text(const v1::Validation& v) {
  std::string text;
  for (const std::string& line : lead_of(v)) text += line + "\n";
  for (const report::Table& table : {quantities_table(v), kernels_table(v), steps_table(v)})
    if (!table.rows.empty()) text += "\n" + as_text(table);
  return text;
}

std::string validation_html(const v1::Validation& v, const std::string& command) {
  report::Markup html;
  report::begin_page(
      html, "Predicted and measured: " + v.verdict(),
      v.scenario().input() + ", " + v.scenario().model() + ", " + v.scenario().allocator() + ", " + v.when());
  report::write_list(html, "What was compared", lead_of(v));
  if (const auto points = points_of(v); !points.empty())
    report::write_chart(html, "Times of calls", times_chart(points));
  for (const report::Table& table : {kernels_table(v), steps_table(v), quantities_table(v), calls_table(v)})
    if (!table.rows.empty()) report::write_table(html, table);
  report::end_page(html, command);
  return html.take();
}

}  // namespace kvplan::validator
