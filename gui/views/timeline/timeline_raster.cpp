#include "gui/views/timeline/timeline_raster.h"

#include <algorithm>
#include <cmath>

#include "gui/viewmodel/colours.h"

namespace kvplan::gui {
namespace {

using observe::kStates;

constexpr int kStripePeriod = 8;  // logical pixels
constexpr int kStripeWidth = 2;

struct Fill {
  QRgb plain, stripe, edge;
  bool hatched;
};

std::array<Fill, kStates> fills(const QPalette& palette) {
  std::array<Fill, kStates> out{};
  for (std::size_t layer = 0; layer < kStates; ++layer) {
    const observe::State state = state_of_layer(layer);
    const QColor colour = state_colour(state, palette);
    out[layer] = {colour.rgb(), hatch_colour(state, palette).rgb(), colour.darker(160).rgb(),
                  state_hatched(state)};
  }
  out.back().edge = out.back().plain;  // the top layer is what is free: no line around nothing
  return out;
}

}  // namespace

std::array<int, kStates> layer_edges(const TimelineColumn& column, int height) {
  std::array<int, kStates> edges{};
  Wide total = 0;
  for (std::size_t s = 0; s < kStates; ++s) total += column.value_ticks[s];
  Wide below = 0;
  for (std::size_t layer = 0; layer < kStates; ++layer) {
    below += column.value_ticks[observe::index(state_of_layer(layer))];
    const double part = total > 0 ? static_cast<double>(below) / static_cast<double>(total) : 0;
    edges[layer] = static_cast<int>(std::lround(part * height));
  }
  edges.back() = height;
  return edges;
}

QImage paint_layers(const std::vector<TimelineColumn>& columns, int height, qreal scale,
                    const QPalette& palette) {
  const int width = static_cast<int>(columns.size());
  QImage image(width, height, QImage::Format_RGB32);
  const auto fill = fills(palette);
  const int period = std::max(2, static_cast<int>(std::lround(kStripePeriod * scale)));
  const int stripe = std::max(1, static_cast<int>(std::lround(kStripeWidth * scale)));
  const int outlined = static_cast<int>(std::lround(3 * scale));  // thinner layers keep their colour

  std::vector<std::array<int, kStates>> edges(columns.size());
  for (std::size_t x = 0; x < columns.size(); ++x) edges[x] = layer_edges(columns[x], height);
  std::vector<std::uint8_t> layer(columns.size(), 0);
  for (int up = 0; up < height; ++up) {  // row by row from the bottom: the image lies in rows
    const int y = height - 1 - up;
    auto* row = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (int x = 0; x < width; ++x) {
      const auto& edge = edges[static_cast<std::size_t>(x)];
      std::uint8_t& l = layer[static_cast<std::size_t>(x)];
      while (up >= edge[l]) ++l;  // ends: the last edge is the height
      const Fill& f = fill[l];
      const int bottom = l == 0 ? 0 : edge[l - 1U];
      if (up == edge[l] - 1 && edge[l] - bottom > outlined && edge[l] < height) {
        row[x] = f.edge;
      } else {
        row[x] = f.hatched && (x + up) % period < stripe ? f.stripe : f.plain;
      }
    }
  }
  return image;
}

void draw_layers(QPainter& painter, const QRectF& plot, const std::vector<TimelineColumn>& columns,
                 std::int64_t capacity_bytes, const QPalette& palette) {
  const auto capacity = static_cast<double>(std::max<std::int64_t>(1, capacity_bytes));
  const double step = plot.width() / static_cast<double>(std::max<std::size_t>(1, columns.size()));
  std::vector<double> below(columns.size(), 0);
  const auto add_edge = [&](QPolygonF& area, bool forward) {
    for (std::size_t n = 0; n < columns.size(); ++n) {
      const std::size_t i = forward ? n : columns.size() - 1 - n;
      const double y = plot.bottom() - below[i] / capacity * plot.height();
      const double left = plot.left() + step * static_cast<double>(i);
      area << QPointF(forward ? left : left + step, y) << QPointF(forward ? left + step : left, y);
    }
  };
  painter.save();
  painter.setPen(Qt::NoPen);
  for (std::size_t layer = 0; layer + 1 < kStates; ++layer) {  // the top layer is free: not drawn
    const observe::State state = state_of_layer(layer);
    QPolygonF area;
    add_edge(area, true);
    for (std::size_t i = 0; i < columns.size(); ++i) below[i] += columns[i].mean(observe::index(state));
    add_edge(area, false);
    painter.setBrush(state_colour(state, palette));
    painter.drawPolygon(area);
    if (!state_hatched(state)) continue;
    painter.setBrush(QBrush(hatch_colour(state, palette), Qt::BDiagPattern));
    painter.drawPolygon(area);
  }
  painter.restore();
}

QImage paint_requests(const std::vector<TimelineColumn>& columns, std::size_t row, int height, qreal scale,
                      std::int64_t most, const QColor& colour, const QPalette& palette) {
  const int width = static_cast<int>(columns.size());
  QImage image(width, height, QImage::Format_RGB32);
  const QColor base = palette.color(QPalette::Base);
  image.fill(base);
  const int line = std::max(1, static_cast<int>(std::lround(1.5 * scale)));
  const auto y_of = [&](double value) {
    const double up = value / static_cast<double>(std::max<std::int64_t>(most, 1)) * (height - line);
    return std::clamp(height - line - static_cast<int>(std::lround(up)), 0, height - line);
  };
  const auto fill = [&](int x, int top, int bottom, QRgb with) {
    for (int y = top; y < bottom; ++y) reinterpret_cast<QRgb*>(image.scanLine(y))[x] = with;
  };
  const QRgb band = QColor((colour.red() + 2 * base.red()) / 3, (colour.green() + 2 * base.green()) / 3,
                           (colour.blue() + 2 * base.blue()) / 3)
                        .rgb();
  int previous = -1;
  for (int x = 0; x < width; ++x) {
    const TimelineColumn& c = columns[static_cast<std::size_t>(x)];
    if (c.greatest[row] == 0) {  // no line along the axis if there are no requests
      previous = -1;
      continue;
    }
    fill(x, y_of(static_cast<double>(c.greatest[row])), y_of(static_cast<double>(c.least[row])) + line, band);
    const int y = y_of(c.mean(row));
    const int from = previous < 0 ? y : previous;  // joined to the column before
    fill(x, std::min(y, from), std::max(y, from) + line, colour.rgb());
    previous = y;
  }
  return image;
}

}  // namespace kvplan::gui
