// The charts of one run.
#include "simulator/report/charts.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/chart_bins.h"
#include "simulator/report/chart_frame.h"
#include "simulator/report/number_text.h"

namespace kvplan::report {
namespace {

using observe::kStateNames;
using observe::kStates;
using observe::State;
using runs::RunResult;

void time_axis(Markup& svg, const Plot& plot, const RunResult& r) {
  const AxisUnit unit = time_unit(seconds(r.makespan));
  const double high = seconds(r.makespan) / unit.size;
  x_axis(svg, plot, {0, high, plot.left, plot.right}, round_ticks(high, 8),
         "time since the first arrival (" + unit.name + ")", tick_text);
}

/// Fill, hatch and upper edge of one state's area.
void draw_area(Markup& svg, State state, const std::string& id, const std::string& upper,
               const std::string& lower) {
  const std::string name = id + "-" + std::string(kStateNames[index(state)]);
  svg.begin("defs").empty("path", {{"id", name}, {"d", upper + lower + "Z"}}).end();
  svg.empty("use", {{"class", state_class(state)}, {"href", "#" + name}});
  const std::string hatch = hatch_fill(state, id);
  if (!hatch.empty()) svg.empty("use", {{"fill", hatch}, {"href", "#" + name}});
  svg.empty("path", {{"class", "edge"}, {"d", upper}}).line_break();
}

std::string shares_text(const RunResult& r) {
  std::string out;
  for (const State state : kStackOrder) {
    const double share = r.memory->mean_fraction[index(state)];
    if (share > 0)
      out += (out.empty() ? "" : ", ") + std::string(kStateNames[index(state)]) + " " + percent(share);
  }
  return out;
}

std::optional<double> largest(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}

/// A curve with its label beside it.
struct Curve {
  std::string name, colour_class;
  std::vector<double> sorted_s;
  std::optional<double> target_s;
};

std::vector<Curve> latency_curves(const RunResult& r) {
  std::vector<Curve> curves{{"queue", "l0", {}, {}},
                            {"TTFT", "l1", {}, r.scenario.target_ttft_s},
                            {"TPOT", "l2", {}, r.scenario.target_tpot_s},
                            {"E2E", "l3", {}, r.scenario.target_e2e_s}};
  for (std::size_t i = 0; i < r.records.size(); ++i) {
    const observe::RequestRecord& record = r.records[i];
    if (record.status != observe::RequestStatus::kCompleted) continue;
    curves[0].sorted_s.push_back(seconds(record.first_scheduled - record.arrival));
    curves[1].sorted_s.push_back(seconds(record.first_token - record.arrival));
    if (r.output[i] > 1)
      curves[2].sorted_s.push_back(seconds(record.finish - record.first_token) /
                                   static_cast<double>(r.output[i] - 1));
    curves[3].sorted_s.push_back(seconds(record.finish - record.arrival));
  }
  // in a saturated run the other latencies grow with the trace
  if (runs::is_saturated(r)) curves = {curves[2]};
  for (Curve& curve : curves) std::sort(curve.sorted_s.begin(), curve.sorted_s.end());
  return curves;
}

/// Steps of a distribution function; of many values, those at `kRanks` equal ranks.
std::string distribution_path(const std::vector<double>& sorted, const Scale& x, const Scale& y) {
  constexpr std::size_t kRanks = 400;
  const std::size_t n = sorted.size();
  const std::size_t points = std::min(n, kRanks);
  std::string out = "M" + coordinate(x.at(sorted.front())) + "," + coordinate(y.at(0));
  for (std::size_t k = 1; k <= points; ++k) {
    const std::size_t rank = (k * n + points - 1) / points;
    out += "H" + coordinate(x.at(sorted[rank - 1]));
    out += "V" + coordinate(y.at(static_cast<double>(rank) / static_cast<double>(n)));
  }
  return out;
}

/// Powers of ten between two times, both included as far as they lie inside.
std::vector<double> decades(double low, double high) {
  std::vector<double> ticks;
  for (int power = -9; power <= 9; ++power) {
    const double tick = std::pow(10.0, power);
    if (tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9)) ticks.push_back(tick);
  }
  return ticks;
}

void draw_targets(Markup& svg, const Plot& plot, const Scale& x, const std::vector<Curve>& curves) {
  double y = plot.bottom - 6;
  for (const Curve& curve : curves) {
    if (!curve.target_s) continue;
    const std::string at = coordinate(x.at(*curve.target_s));
    svg.empty("line", {{"class", "target " + curve.colour_class},
                       {"x1", at},
                       {"x2", at},
                       {"y1", coordinate(plot.top)},
                       {"y2", coordinate(plot.bottom)}});
    svg.leaf("text", curve.name + " target " + seconds_text(*curve.target_s),
             {{"class", "label"}, {"x", coordinate(x.at(*curve.target_s) + 5)}, {"y", coordinate(y)}});
    y -= 14;
  }
}

}  // namespace

std::string memory_chart(const RunResult& r, const std::string& id) {
  const Plot plot;
  const Bins bins = bins_of(r);
  const auto capacity = static_cast<double>(r.capacity_bytes);
  const AxisUnit unit = bytes_unit(capacity);
  const Scale x{0, seconds(r.makespan), plot.left, plot.right};
  const Scale y{0, capacity, plot.bottom, plot.top};
  std::vector<State> shown;
  for (const State state : kStackOrder)
    if (largest(bins.greatest[index(state)]).value_or(0) > 0) shown.push_back(state);

  Markup svg;
  begin_chart(svg, id, kChartWidth, plot.bottom + 70 + 20 * std::ceil(static_cast<double>(shown.size()) / 7),
              "KV memory by state over time",
              "Stacked areas of the mean bytes in each state per bin of time. Means over the run: " +
                  shares_text(r) + ".");
  hatches(svg, id);
  const std::vector<double> edges = mapped(bins.edges_s, x);
  std::vector<double> below(bins.edges_s.size() - 1, 0);
  std::string lower = step_path(edges, mapped(below, y), true);
  std::vector<double> labels;
  for (const State state : shown) {
    std::vector<double> above = below;
    for (std::size_t i = 0; i < above.size(); ++i) above[i] += bins.mean[index(state)][i];
    draw_area(svg, state, id, step_path(edges, mapped(above, y), false), lower);
    labels.push_back((y.at(below.back()) + y.at(above.back())) / 2);
    lower = step_path(edges, mapped(above, y), true);
    below = std::move(above);
  }
  if (r.replicas.size() == 1)
    svg.empty("path", {{"class", "most"},
                       {"d", step_path(edges, mapped(bins.greatest[index(State::kLive)], y), false)}})
        .line_break();
  time_axis(svg, plot, r);
  y_axis(svg, plot, {0, capacity / unit.size, plot.bottom, plot.top}, round_ticks(capacity / unit.size, 6),
         "KV memory (" + unit.name + ")", tick_text);

  // Labels are beside the last bin, with the mean over the run: from the top of the stack down.
  std::reverse(labels.begin(), labels.end());
  part_labels(labels, 14, plot.top + 6, plot.bottom - 2);
  for (std::size_t k = 0; k < shown.size(); ++k) {
    const State state = shown[shown.size() - 1 - k];
    svg.leaf("text",
             std::string(kStateNames[index(state)]) + " " + percent(r.memory->mean_fraction[index(state)]),
             {{"x", coordinate(plot.right + 8)}, {"y", coordinate(labels[k] + 4)}});
  }
  const double legend = state_legend(svg, shown, id, plot.left, plot.bottom + 48, plot.right - plot.left);
  if (r.replicas.size() == 1)
    svg.leaf("text", "Thin line: most live bytes at any moment of the bin.",
             {{"x", coordinate(plot.left)}, {"y", coordinate(plot.bottom + 48 + legend + 10)}});
  svg.end().line_break();
  return svg.take();
}

std::string batch_chart(const RunResult& r, const std::string& id) {
  const Plot plot;
  const Bins bins = bins_of(r);
  struct Line {
    const char* name;
    const char* style;
    std::size_t row;
  };
  constexpr std::array<Line, 2> kLines{{{"running", "l0", kStates}, {"waiting", "l1 dashed", kStates + 1}}};
  const bool range = r.replicas.size() == 1;
  double most = 1;
  for (const Line& line : kLines)
    most = std::max(most, largest(range ? bins.greatest[line.row] : bins.mean[line.row]).value_or(0));
  const scheduling::EngineLimit running = r.scenario.engine_traits().running;
  const double slots = static_cast<double>(running.value) * static_cast<double>(r.replicas.size());
  const bool show_slots = slots <= 1.5 * most;
  const double high = show_slots ? std::max(most, slots) : most;

  Markup svg;
  begin_chart(svg, id, kChartWidth, plot.bottom + 48, "Running and waiting requests over time",
              "Mean number of running and waiting requests per bin of time. Mean batch " +
                  rounded(r.mean_running.value_or(0)) + ", largest batch " + grouped(r.max_running) + ".");
  const Scale x{0, seconds(r.makespan), plot.left, plot.right};
  const Scale y{0, high, plot.bottom, plot.top};
  time_axis(svg, plot, r);
  y_axis(svg, plot, y, round_ticks(high, 6), "requests", tick_text);
  const std::vector<double> edges = mapped(bins.edges_s, x);
  std::vector<double> labels;
  for (const Line& line : kLines) {
    if (range)
      svg.empty("path", {{"class", std::string("range ") + line.style},
                         {"d", step_path(edges, mapped(bins.greatest[line.row], y), false) +
                                   step_path(edges, mapped(bins.least[line.row], y), true) + "Z"}})
          .line_break();
    svg.empty("path", {{"class", std::string("line ") + line.style},
                       {"d", step_path(edges, mapped(bins.mean[line.row], y), false)}})
        .line_break();
    labels.push_back(y.at(bins.mean[line.row].back()));
  }
  if (show_slots) {
    svg.empty("line", {{"class", "target"},
                       {"x1", coordinate(plot.left)},
                       {"x2", coordinate(plot.right)},
                       {"y1", coordinate(y.at(slots))},
                       {"y2", coordinate(y.at(slots))}});
    labels.push_back(y.at(slots));
  }
  part_labels(labels, 14, plot.top, plot.bottom - 2);
  for (std::size_t i = 0; i < labels.size(); ++i)
    svg.leaf("text",
             i < kLines.size() ? kLines[i].name
                               : std::string(running.param) + " " + grouped(static_cast<std::int64_t>(slots)),
             {{"class", i < kLines.size() ? "name " + std::string(kLines[i].style, 2) : "name"},
              {"x", coordinate(plot.right + 8)},
              {"y", coordinate(labels[i] + 4)}});
  svg.end().line_break();
  return svg.take();
}

std::string latency_chart(const RunResult& r, const std::string& id) {
  const Plot plot;
  const std::vector<Curve> curves = latency_curves(r);
  double low = 1e9;
  double high = 0;
  for (const Curve& curve : curves) {
    // The shortest queueing time can be next to nothing: the axis begins where the curves begin to rise.
    const std::size_t hundredth = curve.sorted_s.size() / 100;
    if (!curve.sorted_s.empty() && curve.sorted_s[hundredth] > 0)
      low = std::min(low, curve.sorted_s[hundredth]);
    high = std::max({high, largest(curve.sorted_s).value_or(0), curve.target_s.value_or(0)});
    low = std::min(low, curve.target_s.value_or(low));
  }
  if (high <= 0) high = 1;
  low = std::clamp(low, 1e-6, high);
  // The axis covers whole decades, so that it begins and ends with a tick; shorter times are drawn at its beginning.
  low = std::pow(10.0, std::floor(std::log10(low)));
  high = std::max(std::pow(10.0, std::ceil(std::log10(high) - 1e-9)), low * 10);

  Markup svg;
  std::string description = "Share of completed requests with a latency of at most the time on the x axis.";
  for (const Curve& curve : curves)
    if (!curve.sorted_s.empty())
      description += " " + curve.name + ": median " +
                     seconds_text(curve.sorted_s[(curve.sorted_s.size() + 1) / 2 - 1]) + ", longest " +
                     seconds_text(curve.sorted_s.back()) + ".";
  begin_chart(svg, id, kChartWidth, plot.bottom + 48, "Distribution of latencies", description);
  const Scale x{low, high, plot.left, plot.right, true};
  const Scale y{0, 1, plot.bottom, plot.top};
  x_axis(svg, plot, x, decades(low, high), "time (logarithmic; shorter times are at the left edge)",
         [](double s) {
           const double shown = s < 1e-3 ? s * 1e6 : s < 1 ? s * 1e3 : s;
           return grouped(std::llround(shown)) + (s < 0.9e-3 ? " µs" : s < 0.9 ? " ms" : " s");
         });
  y_axis(svg, plot, y, {0, 0.2, 0.4, 0.6, 0.8, 1}, "requests (%)",
         [](double share) { return grouped(std::llround(share * 100)); });
  for (const Curve& curve : curves)
    if (!curve.sorted_s.empty())
      svg.empty("path", {{"class", "line " + curve.colour_class + " d-" + curve.name},
                         {"d", distribution_path(curve.sorted_s, x, y)}})
          .line_break();
  draw_targets(svg, plot, x, curves);
  // Names are drawn beside their curves, each at a height of its own.
  double at = 0.86;
  for (const Curve& curve : curves) {
    if (curve.sorted_s.empty()) continue;
    const auto n = static_cast<double>(curve.sorted_s.size());
    const auto rank = static_cast<std::size_t>(std::max(1.0, std::ceil(at * n)));
    svg.leaf("text", curve.name,
             {{"class", "label name " + curve.colour_class},
              {"x", coordinate(x.at(curve.sorted_s[rank - 1]) + 6)},
              {"y", coordinate(y.at(at) + 12)}});
    at -= 0.22;
  }
  svg.end().line_break();
  return svg.take();
}

}  // namespace kvplan::report
