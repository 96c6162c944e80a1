#include "simulator/survey/drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "simulator/report/chart_frame.h"
#include "simulator/report/heat_colours.h"
#include "simulator/report/number_text.h"

namespace kvplan::survey {
namespace {

using report::coordinate;
using report::heat_colour;
using report::Markup;

constexpr double kCharacter = 6.6;  // mean width of a character at 12 px
constexpr double kLeft = 52;
constexpr double kTop = 58;
constexpr double kRow = 22;
constexpr double kLegend = 44;
/// Maps with more columns show no numbers in their fields.
constexpr std::size_t kMostNumbered = 16;
constexpr double kAttentionSide = 512;
constexpr double kLeastWeight = 1e-4;

struct Range {
  double least{0}, greatest{0};
  bool any{false};
  void add(double value) {
    least = any ? std::min(least, value) : value;
    greatest = any ? std::max(greatest, value) : value;
    any = true;
  }
  [[nodiscard]] double share(double value) const {
    return greatest > least ? (value - least) / (greatest - least) : 0;
  }
};

Range range_of(const Map& map) {
  Range range;
  for (const auto& row : map.cells)
    for (const Pooled& value : row)
      if (value) range.add(*value);
  return range;
}

std::string full_title(const Map& map) {
  return map.title + " (" + map.unit + ")";
}

double cell_width(const Map& map) {
  if (map.columns.size() > kMostNumbered) return 16;
  std::size_t widest = 4;
  for (const auto& row : map.cells)
    for (const Pooled& value : row)
      if (value) widest = std::max(widest, field_text(map.scale, *value).size());
  for (const std::string& name : map.columns) widest = std::max(widest, name.size());
  return 10 + kCharacter * static_cast<double>(widest);
}

void text(Markup& svg, const std::string& content, double x, double y, std::string_view anchor = "start",
          std::string_view kind = "axis") {
  svg.leaf("text", content,
           {{"class", std::string(kind)},
            {"x", coordinate(x)},
            {"y", coordinate(y)},
            {"text-anchor", std::string(anchor)}});
}

/// Names of rows and columns; if there are many, only every n-th.
void draw_labels(Markup& svg, const Map& map, double cell) {
  text(svg, map.down + " down, " + map.across + " across", 8, 34);
  const std::size_t each = map.columns.size() > kMostNumbered ? 4 : 1;
  for (std::size_t c = 0; c < map.columns.size(); c += each)
    text(svg, map.columns[c], kLeft + cell * (static_cast<double>(c) + 0.5), kTop - 8, "middle");
  for (std::size_t r = 0; r < map.rows.size(); ++r)
    text(svg, map.rows[r], kLeft - 8, kTop + kRow * (static_cast<double>(r) + 0.5) + 4, "end");
  svg.line_break();
}

void draw_field(Markup& svg, const Map& map, const Range& range, std::size_t r, std::size_t c, double cell) {
  const Pooled& value = map.cells[r][c];
  const double x = kLeft + cell * static_cast<double>(c);
  const double y = kTop + kRow * static_cast<double>(r);
  const report::Colour colour = heat_colour(value ? range.share(*value) : 0);
  svg.begin("rect", {{"x", coordinate(x + 0.5)},
                     {"y", coordinate(y + 0.5)},
                     {"width", coordinate(cell - 1)},
                     {"height", coordinate(kRow - 1)},
                     {"fill", value ? report::hex(colour) : "none"},
                     {"stroke", "var(--grid)"},
                     {"stroke-dasharray", value ? "none" : "3 3"}});
  svg.leaf("title", map.down + " " + map.rows[r] + ", " + map.across + " " + map.columns[c] + ": " +
                        (value ? field_text(map.scale, *value) + " " + map.unit : "no value"));
  svg.end();
  if (value && map.columns.size() <= kMostNumbered)
    svg.leaf("text", field_text(map.scale, *value),
             {{"x", coordinate(x + cell / 2)},
              {"y", coordinate(y + kRow / 2 + 4)},
              {"text-anchor", "middle"},
              {"style", "fill:" + report::ink_on(colour)}});
}

/// Draws a bar with all colours of the scale, and labels at both ends. Returns its left end.
double draw_bar(Markup& svg, double left, double top, double step) {
  constexpr int kSteps = 20;
  for (int i = 0; i < kSteps; ++i)
    svg.empty("rect", {{"x", coordinate(left + step * i)},
                       {"y", coordinate(top)},
                       {"width", coordinate(step)},
                       {"height", "12"},
                       {"shape-rendering", "crispEdges"},
                       {"fill", report::hex(heat_colour(static_cast<double>(i) / (kSteps - 1)))}});
  return left + step * kSteps;
}

std::string percent_of_log(int power) {
  static constexpr std::array<const char*, 5> kTexts{"≤ 0.01 %", "0.1 %", "1 %", "10 %", "100 %"};
  return kTexts[static_cast<std::size_t>(power)];
}

/// The position of a weight on the logarithmic scale: from 0 (at most kLeastWeight) to 1 (weight 1).
double log_share(double weight) {
  if (weight <= kLeastWeight) return 0;
  return std::min(1.0, 1 - std::log10(weight) / std::log10(kLeastWeight));
}

std::string attention_title(const AttentionMap& map) {
  return "Attention of sequence " + std::to_string(map.at.sequence) + ", layer " +
         std::to_string(map.at.layer) + ", query head " + std::to_string(map.head) + " (%)";
}

std::string cells_text(const AttentionMap& map) {
  return map.tokens_per_cell == 1 ? "one cell per token"
                                  : "cells of " + std::to_string(map.tokens_per_cell) + " x " +
                                        std::to_string(map.tokens_per_cell) + " tokens per cell, mean weight";
}

template <class Drawn>
std::string chart_of(const Drawn& map, const std::string& id, const std::string& title,
                     const std::string& words) {
  const Size size = size_of(map);
  Markup svg;
  // Small maps are not scaled up to the page's width, so that all maps of a page have fields of one size.
  report::begin_chart(svg, id, std::max(860.0, size.width), size.height, title, words);
  draw(svg, map);
  svg.end().line_break();
  return svg.take();
}

}  // namespace

Size size_of(const Map& map) {
  const double fields = cell_width(map) * static_cast<double>(map.columns.size());
  const double title = kCharacter * 1.1 * static_cast<double>(report::characters(full_title(map)));
  return {std::max({kLeft + fields + 16, title + 16, 320.0}),
          kTop + kRow * static_cast<double>(map.rows.size()) + kLegend};
}

Size size_of(const AttentionMap& /*map*/) {
  return {kLeft + kAttentionSide + 24, kTop + kAttentionSide + kLegend + 20};
}

void draw(Markup& svg, const Map& map) {
  const Range range = range_of(map);
  const double cell = cell_width(map);
  text(svg, full_title(map), 8, 16, "start", "name");
  draw_labels(svg, map, cell);
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    for (std::size_t c = 0; c < map.cells[r].size(); ++c) draw_field(svg, map, range, r, c, cell);
    svg.line_break();
  }
  if (!range.any) return;
  const double top = kTop + kRow * static_cast<double>(map.rows.size()) + 14;
  const std::string least = field_text(map.scale, range.least);
  text(svg, least, kLeft, top + 10);
  const double end = draw_bar(svg, kLeft + kCharacter * static_cast<double>(least.size()) + 8, top, 6);
  text(svg, field_text(map.scale, range.greatest) + " " + map.unit, end + 8, top + 10);
  svg.line_break();
}

void draw(Markup& svg, const AttentionMap& map) {
  constexpr int kLevels = 64;
  const double side = kAttentionSide / static_cast<double>(map.cells.size());
  text(svg, attention_title(map), 8, 16, "start", "name");
  text(svg, "queries top to bottom, tokens left to right; " + cells_text(map), 8, 34);
  // All cells of one colour are drawn as one path.
  std::map<int, std::string> paths;
  for (std::size_t r = 0; r < map.cells.size(); ++r)
    for (std::size_t c = 0; c < map.cells[r].size(); ++c) {
      const auto level = static_cast<int>(std::lround(log_share(map.cells[r][c]) * (kLevels - 1)));
      const std::string width = coordinate(side);
      paths[level] += "M" + coordinate(kLeft + side * static_cast<double>(c)) + "," +
                      coordinate(kTop + side * static_cast<double>(r)) + "h" + width + "v" + width + "h-" +
                      width + "z";
    }
  for (const auto& [level, path] : paths)
    svg.empty("path", {{"class", "cells"},
                       {"fill", report::hex(heat_colour(static_cast<double>(level) / (kLevels - 1)))},
                       {"shape-rendering", "crispEdges"},
                       {"d", path}})
        .line_break();
  const double bottom = kTop + kAttentionSide;
  const auto covered = static_cast<double>(static_cast<std::int64_t>(map.cells.size()) * map.tokens_per_cell);
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const std::int64_t token = map.tokens * quarter / 4;
    const double at = kAttentionSide * static_cast<double>(token) / covered;
    text(svg, report::grouped(token), kLeft + at, kTop - 8, quarter < 4 ? "middle" : "end");
    text(svg, report::grouped(token), kLeft - 8, kTop + at + (quarter == 0 ? 10 : 4), "end");
  }
  const double end = draw_bar(svg, kLeft, bottom + 14, kAttentionSide / 20);
  for (int power = 0; power < 5; ++power)
    text(svg, percent_of_log(power), kLeft + (end - kLeft) * power / 4, bottom + 42,
         power == 0 ? "start" : (power == 4 ? "end" : "middle"));
  svg.line_break();
}

std::string chart(const Map& map, const std::string& id) {
  return chart_of(map, id, full_title(map), map.definition);
}

std::string chart(const AttentionMap& map, const std::string& id) {
  return chart_of(map, id, attention_title(map),
                  "Queries run from top to bottom, tokens from left to right; " + cells_text(map) + ".");
}

Sheet sheet(const std::vector<Map>& maps, const std::optional<AttentionMap>& attention,
            const std::string& title) {
  constexpr double kWidest = 1400;
  constexpr double kGap = 24;
  struct At {
    double x, y;
  };
  double widest = 0;
  double x = 0;
  double y = 32;
  double row = 0;
  const auto place = [&](const Size& size) {
    if (x > 0 && x + size.width > kWidest) {
      x = 0;
      y += row + kGap;
      row = 0;
    }
    const At at{x, y};
    x += size.width + kGap;
    row = std::max(row, size.height);
    widest = std::max(widest, x - kGap);
    return at;
  };
  std::vector<At> places;
  places.reserve(maps.size() + 1);
  for (const Map& map : maps) places.push_back(place(size_of(map)));
  if (attention) places.push_back(place(size_of(*attention)));
  Sheet out;
  out.size = {std::ceil(std::max(widest, 16 + 8 * static_cast<double>(report::characters(title)))),
              std::ceil(y + row + 8)};
  Markup svg;
  report::begin_chart(svg, "sheet", out.size.width, out.size.height, title,
                      "Maps of recorded attention: one field per layer and head; darker means more.");
  // A sheet is as wide as its drawing, not as the column of a page.
  svg.leaf("style", ".chart{max-width:" + coordinate(out.size.width) + "px}");
  svg.empty("rect", {{"width", coordinate(out.size.width)},
                     {"height", coordinate(out.size.height)},
                     {"fill", "var(--paper)"}});
  text(svg, title, 8, 18, "start", "name");
  const auto shift = [](const At& at) {
    return "translate(" + coordinate(at.x) + "," + coordinate(at.y) + ")";
  };
  for (std::size_t i = 0; i < maps.size(); ++i) {
    svg.begin("g", {{"transform", shift(places[i])}}).line_break();
    draw(svg, maps[i]);
    svg.end().line_break();
  }
  if (attention) {
    svg.begin("g", {{"transform", shift(places.back())}}).line_break();
    draw(svg, *attention);
    svg.end().line_break();
  }
  svg.end().line_break();
  out.chart = svg.take();
  return out;
}

}  // namespace kvplan::survey
