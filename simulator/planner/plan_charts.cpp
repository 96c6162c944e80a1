#include "simulator/planner/plan_charts.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/chart_frame.h"
#include "simulator/report/number_text.h"

namespace kvplan::planner {
namespace {

using report::coordinate;
using report::Markup;
using report::Plot;
using report::Scale;

constexpr std::array<const char*, 4> kColours{"l0", "l1", "l2", "l3"};

void draw_level(Markup& svg, const Plot& plot, double y, const std::string& words) {
  svg.empty("line", {{"class", "target"},
                     {"x1", coordinate(plot.left)},
                     {"x2", coordinate(plot.right)},
                     {"y1", coordinate(y)},
                     {"y2", coordinate(y)}});
  svg.leaf("text", words, {{"class", "name"}, {"x", coordinate(plot.right + 8)}, {"y", coordinate(y + 4)}});
}

void time_axis(Markup& svg, const Plot& plot, double longest_s) {
  const report::AxisUnit unit = report::time_unit(longest_s);
  const double high = longest_s / unit.size;
  report::x_axis(svg, plot, {0, high, plot.left, plot.right}, report::round_ticks(high, 8),
                 "time since the first arrival (" + unit.name + ")", report::tick_text);
}

/// Deployments with a cost and a share of requests in time that are not overloaded, by cost.
std::vector<const Tried*> drawn_of(const RatePlan& rate) {
  std::vector<const Tried*> out;
  for (const Tried& each : rate.tried)
    if (each.met && !each.overloaded) out.push_back(&each);
  std::stable_sort(out.begin(), out.end(), [](const Tried* a, const Tried* b) { return a->cost < b->cost; });
  return out;
}

}  // namespace

std::string cost_chart(const Plan& plan, const RatePlan& rate, const std::string& id) {
  const std::vector<const Tried*> drawn = drawn_of(rate);
  if (drawn.size() < 2 || !rate.best) return {};
  constexpr double kTenth = 0.1;
  double low = 1;
  for (const Tried* each : drawn) low = std::min(low, *each->met);
  low = std::min(0.9, std::floor(low / kTenth + 1e-9) * kTenth);
  const double most = drawn.back()->cost;
  const Plot plot{.left = 64, .right = 780, .top = 16, .bottom = 276};
  Markup svg;
  report::begin_chart(svg, id, report::kChartWidth, plot.bottom + 48, "Requests in time over cost",
                      "Each point is a deployment that the search ran on the whole trace and that is not "
                      "overloaded. The line is the largest share that a cost buys. The answer is " +
                          rate.best->name() + ".");
  const Scale x{0, most, plot.left, plot.right};
  const Scale y{low, 1, plot.bottom, plot.top};
  report::x_axis(svg, plot, x, report::round_ticks(most, 8),
                 plan.currency.empty() ? "GPUs" : "cost (" + plan.currency + " an hour)", report::tick_text);
  std::vector<double> ticks;
  for (double tick = low; tick < 1 + 1e-9; tick += (1 - low) / 5) ticks.push_back(std::min(tick, 1.0));
  report::y_axis(svg, plot, y, ticks, "requests in time (%)",
                 [](double share) { return report::tick_text(share * 100); });
  std::string front;
  double best = -1;
  for (const Tried* each : drawn) {
    if (*each->met <= best) continue;
    best = *each->met;
    const std::string at = coordinate(x.at(each->cost));
    front += (front.empty() ? "M" + at + "," : "H" + at + "V") + coordinate(y.at(best));
  }
  svg.empty("path", {{"class", "line l2"}, {"d", front + "H" + coordinate(plot.right)}}).line_break();
  const std::string answer = rate.best->name();
  for (const Tried* each : drawn) {
    svg.begin("circle", {{"class", each->name == answer ? "point knee" : "point"},
                         {"cx", coordinate(x.at(each->cost))},
                         {"cy", coordinate(y.at(*each->met))},
                         {"r", each->name == answer ? "6" : "3.5"}});
    svg.leaf("title", each->name + ": " + report::percent(*each->met) + " in time" +
                          (each->meets ? "" : ", misses the targets"));
    svg.end().line_break();
    if (each->name != answer) continue;
    const bool right = x.at(each->cost) > (plot.left + plot.right) / 2;
    svg.leaf("text", "the answer: " + answer,
             {{"class", "label name"},
              {"x", coordinate(x.at(each->cost) + (right ? -10 : 10))},
              {"y", coordinate(y.at(*each->met) + 22)},
              {"text-anchor", right ? "end" : "start"}});
  }
  svg.end().line_break();
  return svg.take();
}

std::string pressure_chart(const RatePlan& rate, const std::string& id) {
  if (rate.pressure.empty()) return {};
  // Values above are drawn at the upper edge.
  constexpr double kMost = 1.5;
  const Plot plot;
  const std::size_t parts = rate.pressure.front().shares.size();
  const double longest = rate.pressure_part_s * static_cast<double>(parts);
  Markup svg;
  report::begin_chart(
      svg, id, report::kChartWidth, plot.bottom + 48, "What binds over time",
      "Each line is the share of a limit that is in use; at 100 % the limit binds. Values above "
      "150 % are drawn there.");
  time_axis(svg, plot, longest);
  const Scale x{0, longest, plot.left, plot.right}, y{0, kMost, plot.bottom, plot.top};
  report::y_axis(svg, plot, y, {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5}, "share of the limit (%)",
                 [](double share) { return report::tick_text(share * 100); });
  draw_level(svg, plot, y.at(1), "limit");
  std::vector<double> labels;
  for (std::size_t i = 0; i < rate.pressure.size(); ++i) {
    std::string path;
    bool open = false;
    double last = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      const auto& share = rate.pressure[i].shares[part];
      if (share) {
        last = y.at(std::min(*share, kMost));
        path +=
            (open ? "V" : "M" + coordinate(x.at(rate.pressure_part_s * static_cast<double>(part))) + ",") +
            coordinate(last) + "H" + coordinate(x.at(rate.pressure_part_s * static_cast<double>(part + 1)));
      }
      open = share.has_value();
    }
    labels.push_back(last);
    if (path.empty()) continue;
    svg.empty("path", {{"class", std::string("line ") + kColours[i % kColours.size()] +
                                     (i >= kColours.size() ? " dashed" : "")},
                       {"d", path}})
        .line_break();
  }
  std::vector<std::size_t> order(labels.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
  std::vector<double> sorted;
  for (const std::size_t i : order) sorted.push_back(labels[i]);
  report::part_labels(sorted, 14, plot.top, plot.bottom - 2);
  for (std::size_t k = 0; k < order.size(); ++k)
    svg.leaf("text", rate.pressure[order[k]].what,
             {{"class", std::string("name ") + kColours[order[k] % kColours.size()]},
              {"x", coordinate(plot.right + 8)},
              {"y", coordinate(sorted[k] + 4)}});
  svg.end().line_break();
  return svg.take();
}

std::string tornado_chart(const RatePlan& rate, const std::string& id) {
  if (rate.sensitivity.empty()) return {};
  constexpr double kRow = 26, kMost = 2;
  const Plot plot{.left = 230,
                  .right = 780,
                  .top = 10,
                  .bottom = 10 + kRow * static_cast<double>(rate.sensitivity.size())};
  double high = 1;
  for (const Sensitivity& each : rate.sensitivity) high = std::max({high, each.less, each.more});
  high = std::min(high * 1.05, kMost);
  Markup svg;
  report::begin_chart(
      svg, id, report::kChartWidth, plot.bottom + 48, "What the answer rests on",
      "The tightest target as a share of its limit, from more to less of each resource; the targets "
      "are missed beyond 100 %.");
  const Scale x{0, high, plot.left, plot.right};
  report::x_axis(svg, plot, x, report::round_ticks(high, 6), "tightest target (% of its limit)",
                 [](double share) { return report::tick_text(share * 100); });
  double top = plot.top + 4;
  for (const Sensitivity& each : rate.sensitivity) {
    const double from = x.at(std::clamp(std::min(each.less, each.more), 0.0, high));
    const double to = x.at(std::clamp(std::max(each.less, each.more), 0.0, high));
    svg.leaf("text", each.what,
             {{"x", coordinate(plot.left - 8)}, {"y", coordinate(top + 13)}, {"text-anchor", "end"}});
    svg.empty("rect", {{"class", each.less_flips || each.more_flips ? "point knee" : "point"},
                       {"x", coordinate(from)},
                       {"y", coordinate(top)},
                       {"width", coordinate(std::max(1.0, to - from))},
                       {"height", coordinate(kRow - 8)}})
        .line_break();
    top += kRow;
  }
  for (const auto& [share, words] : {std::pair(rate.tightest, "now"), std::pair(1.0, "limit")})
    if (share <= high)
      svg.empty("line", {{"class", "target"},
                         {"x1", coordinate(x.at(share))},
                         {"x2", coordinate(x.at(share))},
                         {"y1", coordinate(plot.top)},
                         {"y2", coordinate(plot.bottom)}})
          .leaf("text", words,
                {{"class", "label"}, {"x", coordinate(x.at(share) + 4)}, {"y", coordinate(plot.bottom - 4)}});
  svg.end().line_break();
  return svg.take();
}

std::string day_chart(const RatePlan& rate, const std::string& id) {
  if (rate.day.size() < 2 || !rate.best) return {};
  const Plot plot{.left = 64, .right = 700, .top = 16, .bottom = 176};
  const double part_s = rate.day[1].begin_s - rate.day[0].begin_s;
  const double longest = part_s * static_cast<double>(rate.day.size());
  const auto fixed = static_cast<double>(rate.best->gpus);
  double most = fixed;
  for (const DayPart& part : rate.day) most = std::max(most, static_cast<double>(part.gpus));
  Markup svg;
  report::begin_chart(
      svg, id, report::kChartWidth, plot.bottom + 48, "GPUs needed over the trace",
      "The fewest GPUs of the answer's shape that meet the targets in each part of the trace, "
      "held from before the part for the start-up time.");
  time_axis(svg, plot, longest);
  const Scale x{0, longest, plot.left, plot.right}, y{0, most, plot.bottom, plot.top};
  report::y_axis(svg, plot, y, report::round_ticks(most, 4), "GPUs", report::tick_text);
  std::vector<double> edges, values;
  for (const DayPart& part : rate.day) {
    edges.push_back(x.at(part.begin_s));
    values.push_back(y.at(static_cast<double>(part.gpus)));
  }
  edges.push_back(x.at(longest));
  const std::string path = report::step_path(edges, values, false);
  svg.empty("path", {{"class", "range l0"},
                     {"d", path + "V" + coordinate(plot.bottom) + "H" + coordinate(edges.front()) + "Z"}});
  svg.empty("path", {{"class", "line l0"}, {"d", path}}).line_break();
  draw_level(svg, plot, y.at(fixed), "the answer");
  svg.end().line_break();
  return svg.take();
}

}  // namespace kvplan::planner
