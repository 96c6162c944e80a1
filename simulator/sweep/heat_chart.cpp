// The drawing of a heat map.
#include <algorithm>

#include "simulator/report/chart_frame.h"
#include "simulator/report/heat_colours.h"
#include "simulator/report/number_text.h"
#include "simulator/sweep/heat.h"

namespace kvplan::sweep {
namespace {

using report::Colour;
using report::coordinate;
using report::heat_colour;
using report::hex;
using report::ink_on;

constexpr double kCharacter = 6.6;  // mean width of a character at 12 px
constexpr double kRow = 26;
constexpr std::size_t kLongestLabel = 30;

/// Shortens a label; never cuts inside a character.
std::string short_label(const std::string& label) {
  if (report::characters(label) <= kLongestLabel) return label;
  std::size_t end = kLongestLabel - 1;
  while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xC0) == 0x80) --end;
  return label.substr(0, end) + "…";
}

struct Range {
  double least{0}, greatest{0};
  bool any{false};
  [[nodiscard]] double share(double value) const {
    return greatest > least ? (value - least) / (greatest - least) : 0;
  }
};

Range range_of(const HeatMap& map) {
  Range range;
  for (const HeatCell& cell : map.cells) {
    if (!cell.mean) continue;
    range.least = range.any ? std::min(range.least, *cell.mean) : *cell.mean;
    range.greatest = range.any ? std::max(range.greatest, *cell.mean) : *cell.mean;
    range.any = true;
  }
  return range;
}

struct Frame {
  double left, top, cell;
};

void draw_cells(report::Markup& svg, const HeatMap& map, const Range& range, const Frame& frame) {
  const bool lower = map.figure.better == runs::Better::kLower;
  const double best = lower ? range.least : range.greatest;
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const HeatCell& cell = map.at(row, column);
      const double x = frame.left + frame.cell * static_cast<double>(column);
      const double y = frame.top + kRow * static_cast<double>(row);
      const bool marked = cell.mean && *cell.mean == best && map.figure.better != runs::Better::kNeither;
      const Colour colour = heat_colour(cell.mean ? range.share(*cell.mean) : 0);
      svg.begin("rect", {{"x", coordinate(x + 1)},
                         {"y", coordinate(y + 1)},
                         {"width", coordinate(frame.cell - 2)},
                         {"height", coordinate(kRow - 2)},
                         {"fill", cell.mean ? hex(colour) : "none"},
                         {"stroke", marked ? "var(--ink)" : "var(--grid)"},
                         {"stroke-width", marked ? "2.5" : "1"},
                         {"stroke-dasharray", cell.mean ? "none" : "3 3"}});
      svg.leaf("title", map.across + "=" + map.columns[column] + ", " + map.down + "=" + map.rows[row] +
                            ": " +
                            (cell.mean ? cell_text(*cell.mean) + ", mean of " + report::grouped(cell.cases) +
                                             (cell.cases == 1 ? " case" : " cases")
                                       : "no case"));
      svg.end();
      if (cell.mean)
        svg.leaf("text", value_text(map.figure.unit, *cell.mean),
                 {{"x", coordinate(x + frame.cell / 2)},
                  {"y", coordinate(y + kRow / 2 + 4)},
                  {"text-anchor", "middle"},
                  {"style", "fill:" + ink_on(colour)}});
    }
    svg.line_break();
  }
}

void draw_scale(report::Markup& svg, const HeatMap& map, const Range& range, double left, double top) {
  constexpr int kSteps = 20;
  constexpr double kStep = 9;
  const std::string least = value_text(map.figure.unit, range.least);
  svg.leaf("text", least, {{"x", coordinate(left)}, {"y", coordinate(top + 11)}});
  const double from = left + kCharacter * static_cast<double>(report::characters(least)) + 8;
  for (int i = 0; i < kSteps; ++i)
    svg.empty("rect", {{"x", coordinate(from + kStep * i)},
                       {"y", coordinate(top)},
                       {"width", coordinate(kStep)},
                       {"height", "14"},
                       {"fill", hex(heat_colour(static_cast<double>(i) / (kSteps - 1)))}});
  svg.leaf("text", value_text(map.figure.unit, range.greatest),
           {{"x", coordinate(from + kStep * kSteps + 8)}, {"y", coordinate(top + 11)}});
  svg.line_break();
}

}  // namespace

std::string heat_chart(const HeatMap& map, const std::string& id) {
  std::size_t longest = 4, widest = 6;
  for (const std::string& row : map.rows) longest = std::max(longest, report::characters(short_label(row)));
  for (const std::string& column : map.columns)
    widest = std::max(widest, report::characters(short_label(column)));
  for (const HeatCell& cell : map.cells)
    if (cell.mean) widest = std::max(widest, report::characters(value_text(map.figure.unit, *cell.mean)));
  const Frame frame{24 + kCharacter * static_cast<double>(longest), 46,
                    14 + kCharacter * static_cast<double>(widest)};
  const Range range = range_of(map);
  const double right = frame.left + frame.cell * static_cast<double>(map.columns.size());
  const double bottom = frame.top + kRow * static_cast<double>(map.rows.size());
  report::Markup svg;
  report::begin_chart(svg, id, std::max(860.0, right + 16), bottom + 44, "Mean " + map.figure.name,
                      "One field per pair of values of " + map.across + " (horizontal) and " + map.down +
                          " (vertical): the mean of " + map.figure.name +
                          " over the cases of this pair; darker means more.");
  svg.leaf("text", "horizontal: " + map.across + ", vertical: " + map.down,
           {{"class", "axis"}, {"x", "8"}, {"y", "14"}});
  for (std::size_t column = 0; column < map.columns.size(); ++column)
    svg.leaf("text", short_label(map.columns[column]),
             {{"x", coordinate(frame.left + frame.cell * (static_cast<double>(column) + 0.5))},
              {"y", coordinate(frame.top - 10)},
              {"text-anchor", "middle"}});
  for (std::size_t row = 0; row < map.rows.size(); ++row)
    svg.leaf("text", short_label(map.rows[row]),
             {{"x", coordinate(frame.left - 8)},
              {"y", coordinate(frame.top + kRow * (static_cast<double>(row) + 0.5) + 4)},
              {"text-anchor", "end"}});
  svg.line_break();
  draw_cells(svg, map, range, frame);
  if (range.any) draw_scale(svg, map, range, frame.left, bottom + 16);
  svg.end().line_break();
  return svg.take();
}

}  // namespace kvplan::sweep
