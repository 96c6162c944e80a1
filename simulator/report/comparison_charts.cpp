#include "simulator/report/comparison_charts.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/answer.h"
#include "simulator/report/chart_bins.h"
#include "simulator/report/chart_frame.h"
#include "simulator/report/number_text.h"
#include "simulator/report/variant_names.h"

namespace kvplan::report {
namespace {

constexpr double kStrip = 58;  // height of a row, including the gap below it
constexpr double kGap = 14;

/// An axis for values from 0 to `most`, which may be 0.
Scale up_from_zero(double most, double bottom, double top) {
  return {0, most > 0 ? most : 1, bottom, top};
}

double most_running(const std::vector<RunningRow>& rows, const std::vector<Bins>& bins) {
  double most = 0;
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (const double value : bins[k].mean[observe::kStates]) most = std::max(most, value);
  return most;
}

struct KneePoint {
  double pool, value;
};

std::vector<KneePoint> points_of(const runs::Comparison& comparison, const runs::Knee& knee) {
  std::vector<KneePoint> points;
  for (const std::size_t v : knee.variants) {
    const runs::RunResult& result = *comparison.variants[v].result;
    points.push_back(
        {static_cast<double>(runs::pool_size(result)), *runs::answer_metric(knee.metric).value(result)});
  }
  return points;
}

std::string value_axis_title(std::string_view metric) {
  const std::string words(metric_words(metric));
  return metric.ends_with("_s") && !metric.ends_with("_per_s") ? words + " (s)" : words;
}

void draw_knee_label(Markup& svg, const Plot& plot, double x, double y, const std::string& words) {
  const bool right = x > (plot.left + plot.right) / 2;
  svg.leaf("text", words,
           {{"class", "label name"},
            {"x", coordinate(right ? x - 10 : x + 10)},
            {"y", coordinate(y < plot.top + 28 ? y + 22 : y - 14)},
            {"text-anchor", right ? "end" : "start"}});
}

}  // namespace

std::string running_chart(const std::vector<RunningRow>& rows, const std::string& id) {
  const Plot plot{
      .left = 64, .right = 700, .top = 16, .bottom = 16 + kStrip * static_cast<double>(rows.size())};
  std::vector<Bins> bins;
  double longest = 0;
  for (const RunningRow& row : rows) {
    bins.push_back(bins_of(*row.result));
    longest = std::max(longest, seconds(row.result->makespan));
  }
  const double most = most_running(rows, bins);
  Markup svg;
  begin_chart(svg, id, kChartWidth, plot.bottom + 48, "Running requests over time, per variant",
              "One strip per variant: the mean number of running requests per time bin.");
  const AxisUnit unit = time_unit(longest);
  const Scale x{0, longest, plot.left, plot.right};
  x_axis(svg, plot, {0, longest / unit.size, plot.left, plot.right}, round_ticks(longest / unit.size, 8),
         "time since the first arrival (" + unit.name + ")", tick_text);
  double bottom = plot.top;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    bottom += kStrip;
    const Scale y = up_from_zero(most, bottom, bottom - kStrip + kGap);
    const std::vector<double> edges = mapped(bins[k].edges_s, x);
    const std::vector<double> mean = mapped(bins[k].mean[observe::kStates], y);
    for (const double value : {0.0, y.high})
      svg.empty("line", {{"class", value == 0 ? "strip" : "strip top"},
                         {"x1", coordinate(plot.left - 4)},
                         {"x2", coordinate(plot.right)},
                         {"y1", coordinate(y.at(value))},
                         {"y2", coordinate(y.at(value))}});
    svg.leaf("text", tick_text(y.high),
             {{"class", "axis"},
              {"x", coordinate(plot.left - 8)},
              {"y", coordinate(y.at(y.high) + 4)},
              {"text-anchor", "end"}});
    const std::string path = step_path(edges, mean, false);
    svg.empty("path", {{"class", "range l0"},
                       {"d", path + "V" + coordinate(bottom) + "H" + coordinate(edges.front()) + "Z"}});
    svg.empty("path", {{"class", "line l0"}, {"d", path}});
    svg.leaf("text", rows[k].label,
             {{"class", "label name"},
              {"x", coordinate(plot.left + 6)},
              {"y", coordinate(bottom - kStrip + kGap + 12)}});
    svg.leaf("text", "mean " + rounded(rows[k].result->mean_running.value_or(0)),
             {{"x", coordinate(plot.right + 8)}, {"y", coordinate(bottom - 4)}});
    svg.line_break();
  }
  svg.end().line_break();
  return svg.take();
}

std::string knee_chart(const runs::Comparison& comparison, const runs::Knee& knee, const std::string& id) {
  const Plot plot{.left = 84, .right = 780, .top = 16, .bottom = 236};
  const std::vector<KneePoint> points = points_of(comparison, knee);
  const bool in_bytes = runs::varied_pool(comparison) == "memory.pool_bytes";
  const bool in_blocks = runs::varied_pool(comparison) == "memory.pool_blocks";
  const AxisUnit unit =
      in_bytes ? bytes_unit(points.back().pool) : AxisUnit{1, in_blocks ? "blocks" : "tokens"};
  double most = 0;
  for (const KneePoint& point : points) most = std::max(most, point.value);

  const std::string what(metric_words(knee.metric));
  std::string knee_words = "no knee among the pools tried";
  if (knee.at) {
    const bool largest = *knee.at + 1 == points.size();
    knee_words = (largest ? "no knee below " : "knee: ") + rounded(points[*knee.at].pool / unit.size) + " " +
                 unit.name;
  }
  Markup svg;
  begin_chart(svg, id, kChartWidth, plot.bottom + 48, "Size of the pool and " + what,
              "Each point is a variant; " + knee_words + ".");
  const Scale x{0, points.back().pool, plot.left, plot.right};
  const Scale y = up_from_zero(most, plot.bottom, plot.top);
  const double high = points.back().pool / unit.size;
  x_axis(svg, plot, {0, high, plot.left, plot.right}, round_ticks(high, 8), "pool (" + unit.name + ")",
         tick_text);
  y_axis(svg, plot, y, round_ticks(most > 0 ? most : 1, 5), value_axis_title(knee.metric), tick_text);
  std::string path;
  for (const KneePoint& point : points)
    path += (path.empty() ? "M" : "L") + coordinate(x.at(point.pool)) + "," + coordinate(y.at(point.value));
  svg.empty("path", {{"class", "line l0"}, {"d", path}}).line_break();
  for (std::size_t i = 0; i < points.size(); ++i)
    svg.empty("circle", {{"class", knee.at == i ? "point knee" : "point"},
                         {"cx", coordinate(x.at(points[i].pool))},
                         {"cy", coordinate(y.at(points[i].value))},
                         {"r", knee.at == i ? "6" : "3.5"}});
  if (knee.at)
    draw_knee_label(svg, plot, x.at(points[*knee.at].pool), y.at(points[*knee.at].value), knee_words);
  svg.line_break().end().line_break();
  return svg.take();
}

}  // namespace kvplan::report
