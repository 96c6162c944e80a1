// The look of charts, and the chart of shares that comparisons use.
#include <algorithm>
#include <array>
#include <cmath>

#include "simulator/report/chart_frame.h"
#include "simulator/report/charts.h"
#include "simulator/report/number_text.h"

namespace kvplan::report {

using observe::kStateNames;
using observe::State;

namespace {

struct Variable {
  std::string_view name, light, dark;
};
constexpr std::array<Variable, 5> kVariables{{{"--ink", "#1a1a1a", "#e8e8e8"},
                                              {"--quiet", "#595959", "#a8a8a8"},
                                              {"--paper", "#ffffff", "#1e1e1e"},
                                              {"--grid", "#dddddd", "#3a3a3a"},
                                              {"--edge", "#333333", "#1e1e1e"}}};

/// ";--ink:#1a1a1a;..."
std::string declarations(Theme theme) {
  std::string out;
  for (const Variable& variable : kVariables)
    out.append(";")
        .append(variable.name)
        .append(":")
        .append(theme == Theme::kDark ? variable.dark : variable.light);
  return out;
}

}  // namespace

std::string in_theme(std::string_view svg, Theme theme) {
  constexpr std::string_view kBegin = "var(";
  std::string out;
  while (true) {
    const std::size_t begin = svg.find(kBegin);
    out += svg.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    svg.remove_prefix(begin + kBegin.size());
    const std::size_t end = std::min(svg.find(')'), svg.size());
    const auto known = std::find_if(kVariables.begin(), kVariables.end(), [&](const Variable& variable) {
      return variable.name == svg.substr(0, end);
    });
    if (known == kVariables.end()) {
      out += kBegin;  // the number belongs to a title, or to a variable from elsewhere
      continue;
    }
    out += theme == Theme::kDark ? known->dark : known->light;
    svg.remove_prefix(std::min(end + 1, svg.size()));
  }
}

std::string chart_css() {
  std::string css =
      ":root{color-scheme:light dark" + declarations(Theme::kLight) +
      "}\n@media (prefers-color-scheme:dark){:root{" + declarations(Theme::kDark).substr(1) +
      "}}\n"
      ".chart{display:block;width:100%;max-width:860px;height:auto;font:12px system-ui,sans-serif}\n"
      ".chart text{fill:var(--ink)}.chart .axis{fill:var(--quiet)}.chart "
      ".grid,.chart .strip{stroke:var(--grid);stroke-opacity:.7}\n"
      ".chart .hatch{stroke:var(--ink);stroke-width:1;fill:none;opacity:.6}\n"
      ".chart .edge{stroke:var(--edge);stroke-width:.7;fill:none;opacity:.8}\n"
      ".chart .box{stroke:var(--edge);stroke-width:1}\n"
      ".chart .most{stroke:var(--ink);stroke-width:.8;fill:none;opacity:.7}\n"
      ".chart .line{fill:none;stroke-width:1.8}.chart .dashed{stroke-dasharray:6 3}\n"
      ".chart .range{stroke:none;opacity:.28}\n"
      ".chart .target{stroke:var(--ink);stroke-width:1.2;stroke-dasharray:2 3}\n"
      ".chart .point{fill:#0072B2}.chart .knee{fill:#D55E00;stroke:var(--ink);stroke-width:1}\n"
      ".chart .label{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}\n"
      ".chart .name{font-weight:600}\n"
      ".chart .d-TTFT{stroke-dasharray:9 3}.chart .d-TPOT{stroke-dasharray:2 2}"
      ".chart .d-E2E{stroke-dasharray:9 3 2 3}\n";
  for (std::size_t s = 0; s < observe::kStates; ++s) {
    const StateStyle& style = kStateStyles[s];
    css += ".chart .s-" + std::string(kStateNames[s]) +
           "{fill:" + (style.colour.empty() ? "var(--ink)" : std::string(style.colour)) + "}";
  }
  // Padding is shown by its hatch alone; free memory is the plain background.
  css += "\n.chart .s-padding{fill-opacity:.08}.chart .s-free{fill-opacity:.35}\n";
  for (std::size_t i = 0; i < kLineColours.size(); ++i) {
    const std::string name = ".l" + std::to_string(i);
    const std::string colour(kLineColours[i]);
    css.append(".chart .line").append(name).append(",.chart .target").append(name);
    css.append("{stroke:").append(colour).append("}.chart .range").append(name);
    css.append("{fill:").append(colour).append("}\n");
  }
  return css;
}

std::string share_chart(const std::vector<ShareRow>& rows, const std::string& id) {
  constexpr double kRow = 26;
  constexpr std::size_t kLongestLabel = 38;
  std::size_t longest = 8;
  for (const ShareRow& row : rows)
    longest = std::max(longest, std::min(characters(row.label), kLongestLabel));
  const Plot plot{.left = 16 + 6.6 * static_cast<double>(longest),
                  .right = 760,
                  .top = 10,
                  .bottom = 10 + kRow * static_cast<double>(rows.size())};
  std::vector<State> shown;
  for (const State state : kStackOrder)
    for (const ShareRow& row : rows)
      if (row.fractions[index(state)] > 0) {
        shown.push_back(state);
        break;
      }
  Markup svg;
  begin_chart(svg, id, 860, plot.bottom + 48 + 20 * std::ceil(static_cast<double>(shown.size() + 1) / 6),
              "Mean KV memory by state, per variant",
              "One bar per variant: the shares of the KV memory that each state takes, averaged over time.");
  hatches(svg, id);
  const Scale x{0, 1, plot.left, plot.right};
  x_axis(svg, plot, x, {0, 0.25, 0.5, 0.75, 1}, "share of the KV memory, mean over time (%)",
         [](double share) { return grouped(std::llround(share * 100)); });
  double top = plot.top + 3;
  for (const ShareRow& row : rows) {
    std::string label = row.label;
    if (characters(label) > kLongestLabel) {  // cut between characters, not inside one
      std::size_t end = kLongestLabel - 1;
      while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xC0) == 0x80) --end;
      label = label.substr(0, end) + "…";
    }
    svg.leaf("text", label,
             {{"x", coordinate(plot.left - 8)}, {"y", coordinate(top + 14)}, {"text-anchor", "end"}});
    double from = 0;
    for (const State state : shown) {
      const double share = row.fractions[index(state)];
      const std::string left = coordinate(x.at(from));
      const std::string width = coordinate(x.at(from + share) - x.at(from));
      from += share;
      if (share <= 0) continue;
      for (const bool hatch : {false, true}) {
        const std::string fill = hatch_fill(state, id);
        if (hatch && fill.empty()) continue;
        svg.empty("rect", {{"class", hatch ? "hatched" : state_class(state) + " box"},
                           {hatch ? "fill" : "rx", hatch ? fill : "0"},
                           {"x", left},
                           {"y", coordinate(top)},
                           {"width", width},
                           {"height", coordinate(kRow - 6)}});
      }
    }
    svg.leaf("text", "live " + percent(row.fractions[index(State::kLive)]),
             {{"x", coordinate(plot.right + 8)}, {"y", coordinate(top + 14)}});
    svg.line_break();
    top += kRow;
  }
  state_legend(svg, shown, id, plot.left, plot.bottom + 48, plot.right - plot.left);
  svg.end().line_break();
  return svg.take();
}

std::string svg_document(const std::string& chart) {
  // The style goes directly after the opening tag of the chart's element.
  const std::size_t end = chart.find('>');
  Markup style;
  style.leaf("style", chart_css());
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + chart.substr(0, end + 1) + style.take() +
         chart.substr(end + 1);
}

}  // namespace kvplan::report
