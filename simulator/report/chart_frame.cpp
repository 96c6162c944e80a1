#include "simulator/report/chart_frame.h"

#include <algorithm>
#include <cmath>

#include "simulator/report/number_text.h"

namespace kvplan::report {
namespace {

using observe::State;

constexpr double kCharacter = 6.6;  // mean width of a character at 12 px

std::string hatch_name(Hatch hatch) {
  switch (hatch) {
    case Hatch::kDiagonal:
      return "diagonal";
    case Hatch::kCross:
      return "cross";
    case Hatch::kHorizontal:
      return "horizontal";
    case Hatch::kDots:
      return "dots";
    case Hatch::kNone:
      break;
  }
  return {};
}

}  // namespace

double Scale::at(double value) const {
  const double share = logarithmic ? (std::log(std::clamp(value, low, high)) - std::log(low)) /
                                         (std::log(high) - std::log(low))
                                   : (value - low) / (high - low);
  return begin + share * (end - begin);
}

AxisUnit time_unit(double longest_s) {
  if (longest_s < 1e-3) return {1e-6, "µs"};
  if (longest_s < 1) return {1e-3, "ms"};
  if (longest_s < 600) return {1, "s"};
  if (longest_s < 3 * 3600) return {60, "min"};
  return {3600, "h"};
}

AxisUnit bytes_unit(double most_bytes) {
  AxisUnit unit{1, "B"};
  for (const char* name : {"KiB", "MiB", "GiB", "TiB"}) {
    if (most_bytes < unit.size * 1024) break;
    unit = {unit.size * 1024, name};
  }
  return unit;
}

std::vector<double> round_ticks(double high, int count) {
  const double rough = high / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = power;
  for (const double times : {1.0, 2.0, 5.0, 10.0}) {
    step = power * times;
    if (step >= rough) break;
  }
  std::vector<double> ticks;
  for (int i = 0; static_cast<double>(i) * step <= high * (1 + 1e-9); ++i)
    ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

std::string tick_text(double value) {
  std::string text = value == 0 ? "0" : rounded(value);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

void begin_chart(Markup& svg, const std::string& id, double width, double height, const std::string& title,
                 const std::string& description) {
  svg.begin("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                    {"class", "chart"},
                    {"viewBox", "0 0 " + coordinate(width) + " " + coordinate(height)},
                    {"role", "img"},
                    {"aria-labelledby", id + "-title " + id + "-desc"}});
  svg.line_break().leaf("title", title, {{"id", id + "-title"}});
  svg.line_break().leaf("desc", description, {{"id", id + "-desc"}}).line_break();
}

void x_axis(Markup& svg, const Plot& plot, const Scale& scale, const std::vector<double>& ticks,
            const std::string& title, const std::function<std::string(double)>& text) {
  for (const double tick : ticks) {
    const std::string x = coordinate(scale.at(tick));
    svg.empty("line", {{"class", "grid"},
                       {"x1", x},
                       {"x2", x},
                       {"y1", coordinate(plot.top)},
                       {"y2", coordinate(plot.bottom + 4)}});
    svg.leaf("text", text(tick), {{"x", x}, {"y", coordinate(plot.bottom + 18)}, {"text-anchor", "middle"}});
  }
  svg.line_break().leaf("text", title,
                        {{"class", "axis"},
                         {"x", coordinate((plot.left + plot.right) / 2)},
                         {"y", coordinate(plot.bottom + 36)},
                         {"text-anchor", "middle"}});
  svg.line_break();
}

void y_axis(Markup& svg, const Plot& plot, const Scale& scale, const std::vector<double>& ticks,
            const std::string& title, const std::function<std::string(double)>& text) {
  for (const double tick : ticks) {
    const double y = scale.at(tick);
    svg.empty("line", {{"class", "grid"},
                       {"x1", coordinate(plot.left - 4)},
                       {"x2", coordinate(plot.right)},
                       {"y1", coordinate(y)},
                       {"y2", coordinate(y)}});
    svg.leaf("text", text(tick),
             {{"x", coordinate(plot.left - 8)}, {"y", coordinate(y + 4)}, {"text-anchor", "end"}});
  }
  const double middle = (plot.top + plot.bottom) / 2;
  svg.line_break().leaf("text", title,
                        {{"class", "axis"},
                         {"transform", "translate(14 " + coordinate(middle) + ") rotate(-90)"},
                         {"text-anchor", "middle"}});
  svg.line_break();
}

void hatches(Markup& svg, const std::string& id) {
  svg.begin("defs");
  const auto pattern = [&](Hatch hatch, const char* path) {
    svg.begin("pattern", {{"id", id + "-" + hatch_name(hatch)},
                          {"width", "6"},
                          {"height", "6"},
                          {"patternUnits", "userSpaceOnUse"}});
    svg.empty("path", {{"class", "hatch"}, {"d", path}}).end();
  };
  pattern(Hatch::kDiagonal, "M-1,1L1,-1M0,6L6,0M5,7L7,5");
  pattern(Hatch::kCross, "M0,0L6,6M0,6L6,0");
  pattern(Hatch::kHorizontal, "M0,1.5H6M0,4.5H6");
  pattern(Hatch::kDots, "M1,1.5h1.4M4,4.5h1.4");
  svg.end().line_break();
}

std::string state_class(State state) {
  return "state s-" + std::string(observe::kStateNames[index(state)]);
}

std::string hatch_fill(State state, const std::string& id) {
  const std::string name = hatch_name(kStateStyles[index(state)].hatch);
  return name.empty() ? std::string() : "url(#" + id + "-" + name + ")";
}

double state_legend(Markup& svg, const std::vector<State>& states, const std::string& id, double left,
                    double top, double width) {
  constexpr double kRow = 20;
  double x = left;
  double y = top;
  for (const State state : states) {
    const std::string name(observe::kStateNames[index(state)]);
    const double wide = 22 + kCharacter * static_cast<double>(name.size()) + 14;
    if (x > left && x + wide > left + width) {
      x = left;
      y += kRow;
    }
    for (const bool hatch : {false, true}) {
      const std::string fill = hatch_fill(state, id);
      if (hatch && fill.empty()) continue;
      svg.empty("rect", {{"class", hatch ? "hatched" : state_class(state) + " box"},
                         {hatch ? "fill" : "rx", hatch ? fill : "1"},
                         {"x", coordinate(x)},
                         {"y", coordinate(y)},
                         {"width", "14"},
                         {"height", "12"}});
    }
    svg.leaf("text", name, {{"x", coordinate(x + 20)}, {"y", coordinate(y + 10)}});
    x += wide;
  }
  svg.line_break();
  return y + kRow - top;
}

void part_labels(std::vector<double>& positions, double gap, double low, double high) {
  std::vector<std::size_t> order(positions.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return positions[a] < positions[b]; });
  double least = low;
  for (const std::size_t i : order) {
    positions[i] = std::max(positions[i], least);
    least = positions[i] + gap;
  }
  double most = high;
  for (std::size_t k = order.size(); k > 0; --k) {
    double& position = positions[order[k - 1]];
    position = std::min(position, most);
    most = position - gap;
  }
}

std::string step_path(const std::vector<double>& edges, const std::vector<double>& values, bool reverse) {
  std::string out;
  const std::size_t n = values.size();
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = reverse ? n - 1 - k : k;
    const double from = edges[reverse ? i + 1 : i];
    if (k == 0) {
      out += (reverse ? "L" : "M") + coordinate(from) + "," + coordinate(values[i]);
    } else if (const std::string y = coordinate(values[i]);
               y != coordinate(values[reverse ? i + 1 : i - 1])) {
      out += "H" + coordinate(from) + "V" + y;
    }
  }
  if (n > 0) out += "H" + coordinate(edges[reverse ? 0 : n]);
  return out;
}

}  // namespace kvplan::report
