#include "simulator/frontier/page.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/chart_frame.h"
#include "simulator/report/html.h"
#include "simulator/report/number_text.h"

namespace kvplan::frontier {
namespace {

using report::coordinate;
using report::Markup;

std::string or_none(const std::optional<double>& value) {
  return value ? report::fixed(*value, 4) : "-";
}

std::string with_error(const std::optional<double>& mean, const std::optional<double>& standard_error) {
  return or_none(mean) + (mean && standard_error ? " ±" + report::fixed(*standard_error, 4) : "");
}

/// The name, cut to the length that the legend has room for.
std::string shortened(const std::string& name) {
  constexpr std::size_t kLongest = 38;
  if (report::characters(name) <= kLongest) return name;
  std::size_t end = kLongest - 1;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return name.substr(0, end) + "…";
}

std::string budget_name(const Lane& lane) {
  if (lane.scheme) return lane.scheme->choice.to_string();
  return lane.budget ? report::grouped(*lane.budget) : "-";
}

}  // namespace

std::string line_name(const Request& request, const Point& point) {
  const Lane& lane = request.lanes[point.lane];
  std::string out = lane.text;
  if (lane.scheme) out += ", " + lane.scheme->text;
  if (request.storages.size() > 1) out += ", " + request.storages[point.storage].text;
  return out;
}

std::vector<report::Table> tables(const Request& request, const Frontier& found) {
  report::Table points{
      .title = "What each budget buys",
      .columns = {"budget", "format", "bytes/token", "mass", "least", "oracle", "error", "p95"},
      .rows = {}};
  for (const Point& point : found.points) {
    const Lane& lane = request.lanes[point.lane];
    points.rows.push_back(
        {.label = lane.text,
         .cells = {budget_name(lane), request.storages[point.storage].text,
                   report::fixed(point.bytes_per_token, 1),
                   with_error(point.mass_mean, point.mass_standard_error), or_none(point.mass_min),
                   or_none(point.oracle_mass_mean), with_error(point.error_mean, point.error_standard_error),
                   or_none(point.error_p95)}});
  }
  report::Table oracle{.title = "The oracle: the largest mass that a number of entries can hold",
                       .columns = {"mass"},
                       .rows = {}};
  for (const OraclePoint& point : found.oracle)
    oracle.rows.push_back({.label = report::grouped(point.entries), .cells = {or_none(point.mass_mean)}});
  std::vector<report::Table> out{std::move(points), std::move(oracle)};
  report::Table needles{
      .title = "Planted needles that are kept", .columns = {"budget", "recall"}, .rows = {}};
  for (const Point& point : found.points) {
    if (point.storage > 0 || !point.needle_recall) continue;
    const Lane& lane = request.lanes[point.lane];
    needles.rows.push_back({.label = lane.text, .cells = {budget_name(lane), or_none(point.needle_recall)}});
  }
  if (!needles.rows.empty()) out.push_back(std::move(needles));
  return out;
}

std::vector<std::string> explanations(const Frontier& found) {
  std::vector<std::string> out{
      "Bytes per token: the bytes stored after the last token, over all layers and with the policy's "
      "metadata, divided by the tokens of all " +
          report::grouped(found.sequences) + (found.sequences == 1 ? " sequence; " : " sequences; ") +
          "the full cache has " + report::fixed(found.full_bytes_per_token, 1) + ".",
      "Mass: the share of the full cache's attention weights on the tokens that a query head attends to at a "
      "decode step. Oracle: the largest mass that the same number of entries can hold, chosen anew at every "
      "step; it bounds mass, not error.",
      "Error: |o - o'| / |o|, where o is the attention output with the full cache and o' the output with the "
      "policy and format."};
  if (std::any_of(found.points.begin(), found.points.end(),
                  [](const Point& point) { return point.mass_standard_error.has_value(); }))
    out.emplace_back("±: the standard error of the mean, over sequences.");
  out.insert(out.end(), found.assumptions.begin(), found.assumptions.end());
  return out;
}

std::string chart(const Request& request, const Frontier& found, const std::string& id) {
  const bool errors = std::any_of(found.points.begin(), found.points.end(),
                                  [](const Point& point) { return point.error_mean.has_value(); });
  const auto value_of = [errors](const Point& point) { return errors ? point.error_mean : point.mass_mean; };
  std::vector<std::string> names;
  for (const Point& point : found.points)
    if (const std::string name = line_name(request, point);
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  constexpr double kLegendRow = 18;
  const report::Plot plot{.left = 72,
                          .right = 560,
                          .top = 16,
                          .bottom = std::max(316.0, 16 + kLegendRow * static_cast<double>(names.size()))};
  double widest = 0;
  double highest = 0;
  for (const Point& point : found.points) {
    widest = std::max(widest, point.bytes_per_token);
    if (const auto value = value_of(point); value && std::isfinite(*value))
      highest = std::max(highest, *value);
  }
  if (widest <= 0) widest = 1;
  if (highest <= 0) highest = 1;
  const report::Scale x{0, widest, plot.left, plot.right};
  const report::Scale y{0, highest, plot.bottom, plot.top};
  Markup svg;
  const std::string what = errors ? "mean output error" : "mean attended mass";
  report::begin_chart(svg, id, 860, plot.bottom + 48, what + " over bytes per token",
                      "One line per policy and format, one point per budget.");
  report::x_axis(svg, plot, x, report::round_ticks(widest, 8), "bytes per token", report::tick_text);
  report::y_axis(svg, plot, y, report::round_ticks(highest, 5), what, report::tick_text);
  double label = plot.top + 12;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const std::string colour = "l" + std::to_string(n % report::kLineColours.size());
    std::vector<std::pair<double, double>> at;
    for (const Point& point : found.points)
      if (const auto value = value_of(point);
          value && std::isfinite(*value) && line_name(request, point) == names[n])
        at.emplace_back(point.bytes_per_token, *value);
    std::sort(at.begin(), at.end());
    std::string path;
    for (const auto& [bytes, value] : at)
      path += (path.empty() ? "M" : "L") + coordinate(x.at(bytes)) + "," + coordinate(y.at(value));
    const std::string dashes = n >= report::kLineColours.size() ? " dashed" : "";
    if (at.size() > 1) svg.empty("path", {{"class", "line " + colour + dashes}, {"d", path}});
    for (const auto& [bytes, value] : at)
      svg.empty("circle", {{"class", "line " + colour},
                           {"cx", coordinate(x.at(bytes))},
                           {"cy", coordinate(y.at(value))},
                           {"r", "3.5"}});
    svg.empty("path", {{"class", "line " + colour + dashes},
                       {"d", "M" + coordinate(plot.right + 16) + "," + coordinate(label - 4) + "h20"}});
    svg.leaf("text", shortened(names[n]), {{"x", coordinate(plot.right + 42)}, {"y", coordinate(label)}});
    svg.line_break();
    label += kLegendRow;
  }
  svg.end().line_break();
  return svg.take();
}

std::string page(const Request& request, const Frontier& found, const std::string& command) {
  Markup html;
  std::string inputs;
  for (const Input& input : request.inputs) inputs += (inputs.empty() ? "" : ", ") + input.name;
  report::begin_page(html, "What each budget buys", inputs);
  report::write_list(html, "How to read it", explanations(found));
  report::write_chart(html, "Policies, budgets and formats", chart(request, found, "frontier"));
  for (const report::Table& table : tables(request, found)) report::write_table(html, table);
  report::end_page(html, command);
  return html.take();
}

}  // namespace kvplan::frontier
