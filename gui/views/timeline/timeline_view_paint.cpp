// How the timeline is painted, and what it says in words.
#include <QMimeData>
#include <QPainter>
#include <QPainterPath>
#include <QStyle>
#include <QStyleOptionFocusRect>
#include <algorithm>
#include <cmath>

#include "gui/viewmodel/colours.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/headline.h"
#include "gui/views/painting.h"
#include "gui/views/timeline/timeline_raster.h"
#include "gui/views/timeline/timeline_view.h"

namespace kvplan::gui {
namespace {

using observe::kStates;

constexpr int kMark = kTick;
constexpr int kMarkDistance = 110;

double to_seconds(std::int64_t ticks) {
  return seconds(Ticks{ticks});
}

QString row_name(std::size_t row) {
  if (row < kStates) return state_name(static_cast<observe::State>(row));
  return row == kRunningRow ? TimelineView::tr("running") : TimelineView::tr("waiting");
}

QString row_value(std::size_t row, double value) {
  if (row < kStates) return format_bytes(value);
  return value > 0 && value < 0.01 ? QStringLiteral("<0.01") : format_number(std::round(value * 100) / 100);
}

}  // namespace

int TimelineView::wanted_legend_width() const {
  const QFontMetrics metrics = fontMetrics();
  int name = 0;
  for (std::size_t row = 0; row < kTimelineRows; ++row)
    name = std::max(name, metrics.horizontalAdvance(row_name(row)));
  return name + metrics.horizontalAdvance(QStringLiteral("  00,000 GiB <0.01 %")) + 3 * kGap +
         metrics.height();
}

QRect TimelineView::plot_rect() const {
  const QFontMetrics metrics = fontMetrics();
  const int left = metrics.horizontalAdvance(QStringLiteral("00,000")) + kMark + 2 * kGap;
  const int top = metrics.height() + kGap + kGap / 2;
  const int below = 2 * (lane_height() + metrics.height() + kGap) + 2 * metrics.height() + 2 * kGap;
  return {left, top, std::max(10, width() - left - legend_width_ - kGap),
          std::max(10, height() - top - below)};
}

int TimelineView::lane_height() const {
  return std::max(24, height() / 10);
}

QRect TimelineView::lane_rect(std::size_t row) const {
  const QRect plot = plot_rect();
  const int step = lane_height() + fontMetrics().height() + kGap;
  const int top = plot.bottom() + 1 + fontMetrics().height() + kGap + (row == kRunningRow ? 0 : step);
  return {plot.left(), top, plot.width(), lane_height()};
}

void TimelineView::remake_images(qreal scale) {
  const QSize device = plot_rect().size() * scale;
  const QSize lane = lane_rect(kRunningRow).size() * scale;
  if (!layers_.isNull() && layers_.size() == device && running_.size() == lane) return;
  const auto columns = data_->columns(range(), std::max(1, device.width()));
  layers_ = paint_layers(columns, device.height(), scale, palette());
  running_ = paint_requests(columns, kRunningRow, lane.height(), scale, data_->greatest(kRunningRow),
                            running_colour(palette()), palette());
  waiting_ = paint_requests(columns, kWaitingRow, lane.height(), scale, data_->greatest(kWaitingRow),
                            waiting_colour(palette()), palette());
  for (QImage* image : {&layers_, &running_, &waiting_}) image->setDevicePixelRatio(scale);
}

void TimelineView::draw(QPainter& painter, const QSize& /*size*/) {
  if (!has_data()) return paint_empty(painter);
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    paint_shapes(painter);
  } else {
    remake_images(painter.device()->devicePixelRatioF());
    painter.drawImage(plot_rect().topLeft(), layers_);
    painter.drawImage(lane_rect(kRunningRow).topLeft(), running_);
    painter.drawImage(lane_rect(kWaitingRow).topLeft(), waiting_);
  }
  paint_axes(painter);
  paint_legend(painter);
  paint_marks(painter);
}

/// For files of shapes: an area for each layer and a line for each row of requests.
void TimelineView::paint_shapes(QPainter& painter) const {
  const QRectF plot = plot_rect();
  const auto columns = data_->columns(range(), static_cast<int>(plot.width()));
  draw_layers(painter, plot, columns, data_->capacity_bytes(), palette());
  for (const std::size_t row : {kRunningRow, kWaitingRow}) {
    const QRectF lane = lane_rect(row);
    const auto most = static_cast<double>(std::max<std::int64_t>(1, data_->greatest(row)));
    QPolygonF line;
    for (std::size_t i = 0; i < columns.size(); ++i)
      line << QPointF(lane.left() + static_cast<double>(i),
                      lane.bottom() - columns[i].mean(row) / most * lane.height());
    painter.setPen(row == kRunningRow ? running_colour(palette()) : waiting_colour(palette()));
    painter.drawPolyline(line);
  }
}

void TimelineView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Window));
  draw(painter, size());
  if (has_data() && stale_) {
    QColor veil = palette().color(QPalette::Window);
    veil.setAlpha(150);
    painter.fillRect(rect(), veil);
  }
  if (hasFocus()) {
    QStyleOptionFocusRect option;
    option.initFrom(this);
    option.backgroundColor = palette().color(QPalette::Window);
    style()->drawPrimitive(QStyle::PE_FrameFocusRect, &option, &painter, this);
    painter.setPen(palette().color(QPalette::Highlight));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void TimelineView::paint_empty(QPainter& painter) const {
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 1.5);
  painter.setFont(large);
  painter.setPen(palette().color(QPalette::WindowText));
  const int middle = height() / 2;
  if (!empty_text_.isEmpty()) {
    painter.setFont(font());
    painter.drawText(rect().adjusted(kGap, 0, -kGap, 0), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
    return;
  }
  painter.drawText(QRect(0, middle - 60, width(), 40), Qt::AlignCenter,
                   tr("Drop a trace, a scenario or a report here"));
  painter.setFont(font());
  painter.setPen(faint(palette()));
  painter.drawText(
      QRect(kGap, middle - 16, width() - 2 * kGap, 80), Qt::AlignHCenter | Qt::TextWordWrap,
      tr("or open one with File > Open.\nA trace is a .kvt file, or a CSV or JSONL file of requests "
         "(Azure, Mooncake, ...); a scenario is a JSON or .kvs file; a report is a .kvr file."));
}

void TimelineView::paint_axes(QPainter& painter) const {
  const QFontMetrics metrics = fontMetrics();
  const QRect plot = plot_rect();
  const QColor text = palette().color(QPalette::WindowText);
  painter.setPen(faint(palette()));
  painter.drawRect(plot.adjusted(-1, -1, 0, 0));
  for (const std::size_t row : {kRunningRow, kWaitingRow})
    painter.drawRect(lane_rect(row).adjusted(-1, -1, 0, 0));

  painter.setPen(text);
  const auto vertical = [&](const QRect& area, const AxisMarks& marks, double most) {
    for (std::size_t i = 0; i < marks.values.size(); ++i) {
      const int y = area.bottom() + 1 - static_cast<int>(std::lround(marks.values[i] / most * area.height()));
      painter.drawLine(area.left() - 1 - kMark, y, area.left() - 2, y);
      // Inside the height of the axis, so that it does not run into what is written above.
      const int top = std::clamp(y - metrics.height() / 2, area.top(), area.bottom() - metrics.height() / 2);
      painter.drawText(QRect(0, top, area.left() - kMark - kGap, metrics.height()),
                       Qt::AlignRight | Qt::AlignVCenter, marks.texts[i]);
    }
  };
  const auto capacity = static_cast<double>(data_->capacity_bytes());
  const AxisMarks bytes = byte_marks(0, capacity, std::max(2, plot.height() / 50));
  vertical(plot, bytes, capacity);
  painter.drawText(QRect(kGap, 0, plot.right(), plot.top() - kGap / 2), Qt::AlignLeft | Qt::AlignVCenter,
                   tr("KV memory (%1), capacity %2").arg(bytes.unit, format_bytes(capacity)));
  for (const std::size_t row : {kRunningRow, kWaitingRow}) {
    const QRect lane = lane_rect(row);
    const auto most = static_cast<double>(std::max<std::int64_t>(1, data_->greatest(row)));
    vertical(lane, count_marks(0, most, std::max(2, lane.height() / 24)), most);
    painter.drawText(QRect(kGap, lane.top() - metrics.height() - 2, plot.right(), metrics.height()),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     row == kRunningRow ? tr("Requests running") : tr("Requests waiting"));
  }

  const AxisMarks times = time_marks(to_seconds(range().begin), to_seconds(range().end),
                                     std::max(2, plot.width() / kMarkDistance));
  const double length = to_seconds(range().length());
  const int below = lane_rect(kWaitingRow).bottom() + 1;
  for (std::size_t i = 0; i < times.values.size(); ++i) {
    const double part = (times.values[i] - to_seconds(range().begin)) / length;
    const int x = plot.left() + static_cast<int>(std::lround(part * plot.width()));
    painter.drawLine(x, below, x, below + kMark - 1);
    painter.drawLine(x, plot.bottom() + 1, x, plot.bottom() + kMark);
    painter.drawText(QRect(x - 60, below + kMark, 120, metrics.height()), Qt::AlignHCenter, times.texts[i]);
  }
  painter.drawText(QRect(plot.left(), below + kMark + metrics.height(), plot.width(), metrics.height()),
                   Qt::AlignHCenter, tr("Time since the first arrival (%1)").arg(times.unit));
}

TimelineColumn TimelineView::column_in_view() const {
  return data_->columns(range(), 1).front();
}

TimelineColumn TimelineView::legend_column() const {
  return cursor_tick() ? data_->bins()[data_->bin_at(*cursor_tick())] : column_in_view();
}

void TimelineView::paint_legend_row(QPainter& painter, int top, int row, const TimelineColumn& column) const {
  const QFontMetrics metrics = fontMetrics();
  const auto r = static_cast<std::size_t>(row);
  const int left = width() - legend_width_;
  const int side = metrics.ascent();
  const QRect swatch(left, top + (metrics.height() - side) / 2, side, side);
  if (r < kStates) {
    const auto state = static_cast<observe::State>(r);
    painter.fillRect(swatch, state_colour(state, palette()));
    if (state_hatched(state)) {
      painter.save();
      painter.setClipRect(swatch);
      painter.setPen(QPen(hatch_colour(state, palette()), 1.5));
      for (int x = -side; x < 2 * side; x += 5)
        painter.drawLine(swatch.left() + x, swatch.top(), swatch.left() + x + side, swatch.bottom() + 1);
      painter.restore();
    }
    painter.setPen(faint(palette()));
    painter.drawRect(swatch.adjusted(0, 0, -1, -1));
  } else {
    const QColor colour = r == kRunningRow ? running_colour(palette()) : waiting_colour(palette());
    painter.fillRect(QRect(swatch.left(), swatch.center().y() - 1, side, 3), colour);
  }
  const double mean = column.mean(r);
  const bool nothing = column.greatest[r] == 0;
  painter.setPen(nothing ? faint(palette()) : palette().color(QPalette::WindowText));
  const int text_left = swatch.right() + kGap;
  const QRect line(text_left, top, width() - kGap - text_left, metrics.height());
  painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter, row_name(r));
  const int share = r < kStates ? metrics.horizontalAdvance(QStringLiteral(" <0.01 % ")) : 0;
  painter.drawText(line.adjusted(0, 0, -share, 0), Qt::AlignRight | Qt::AlignVCenter, row_value(r, mean));
  if (r >= kStates) return;
  painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter,
                   format_percent(mean / static_cast<double>(data_->capacity_bytes())));
}

void TimelineView::paint_legend(QPainter& painter) const {
  const QFontMetrics metrics = fontMetrics();
  const TimelineColumn column = legend_column();
  const int left = width() - legend_width_;
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(
      QRect(left, 0, legend_width_, plot_rect().top() - kGap / 2), Qt::AlignLeft | Qt::AlignVCenter,
      cursor_tick() ? tr("At %1").arg(format_seconds(to_seconds(*cursor_tick()))) : tr("Mean of the view"));
  const int step = std::min(metrics.height() + 5, plot_rect().height() / static_cast<int>(kStates));
  for (std::size_t line = 0; line < kStates; ++line)  // from the top of the stack downwards
    paint_legend_row(painter, plot_rect().top() + step * static_cast<int>(line),
                     static_cast<int>(observe::index(state_of_layer(kStates - 1 - line))), column);
  for (const std::size_t row : {kRunningRow, kWaitingRow})
    paint_legend_row(painter, lane_rect(row).top(), static_cast<int>(row), column);
}

void TimelineView::paint_marks(QPainter& painter) const {
  const QRect area = plot_rect().united(lane_rect(kWaitingRow));
  painter.save();
  painter.setClipRect(area);
  if (const auto marked = this->marked()) {
    QColor colour = palette().color(QPalette::Highlight);
    const QRectF box(x_of(marked->begin), area.top(), x_of(marked->end) - x_of(marked->begin), area.height());
    painter.setPen(colour);
    colour.setAlpha(50);
    painter.fillRect(box, colour);
    painter.drawRect(box);
  }
  if (cursor_tick()) {
    // Light beside dark, to be seen on every layer.
    const int x = static_cast<int>(std::lround(x_of(*cursor_tick())));
    for (const QRect& part : {plot_rect(), lane_rect(kRunningRow), lane_rect(kWaitingRow)}) {
      painter.fillRect(QRect(x - 1, part.top(), 3, part.height()), palette().color(QPalette::Base));
      painter.fillRect(QRect(x, part.top(), 1, part.height()), palette().color(QPalette::Text));
    }
  }
  painter.restore();
}

QString TimelineView::tool_tip_at(const QPoint& at) const {
  if (!has_data()) return {};
  const QRect plot = plot_rect();
  const auto describe = [&](std::size_t row, const TimelineColumn& c, const QString& when) {
    QString text = tr("%1: %2, from %3 to %4 %5")
                       .arg(row_name(row), row_value(row, c.mean(row)),
                            row_value(row, static_cast<double>(c.least[row])),
                            row_value(row, static_cast<double>(c.greatest[row])), when);
    if (row < kStates) text += QLatin1Char('\n') + state_meaning(static_cast<observe::State>(row));
    return text;
  };
  if (plot.contains(at)) {
    const std::int64_t tick = std::clamp(tick_at(at.x()), range().begin, range().end - 1);
    const TimelineColumn& bin = data_->bins()[data_->bin_at(tick)];
    const auto edges = layer_edges(bin, plot.height());
    std::size_t layer = 0;
    while (layer + 1 < kStates && plot.bottom() - at.y() >= edges[layer]) ++layer;
    return describe(observe::index(state_of_layer(layer)), bin,
                    tr("at %1").arg(format_seconds(to_seconds(tick))));
  }
  const int step = std::min(fontMetrics().height() + 5, plot.height() / static_cast<int>(kStates));
  const int line = (at.y() - plot.top()) / std::max(1, step);
  if (at.x() >= width() - legend_width_ && at.y() >= plot.top() && line < static_cast<int>(kStates))
    return describe(observe::index(state_of_layer(kStates - 1 - static_cast<std::size_t>(line))),
                    column_in_view(), tr("in the view"));
  return {};
}

QString TimelineView::value_text() const {
  if (!has_data()) return tr("No data");
  const TimelineColumn column = legend_column();
  QString text =
      cursor_tick() ? tr("At %1").arg(format_seconds(to_seconds(*cursor_tick()))) : tr("Mean of the view");
  for (std::size_t row = 0; row < kTimelineRows; ++row)
    if (column.greatest[row] > 0)
      text = tr("%1, %2 %3").arg(text, row_name(row), row_value(row, column.mean(row)));
  return text;
}

QString TimelineView::csv() {
  return has_data() ? visible_text(QLatin1Char(',')) : QString();
}

QString TimelineView::copied_text() {
  return has_data() ? visible_text(QLatin1Char('\t')) : QString();
}

QString TimelineView::visible_text(QChar separator) const {
  QString table = QStringLiteral("begin_s") + separator + QStringLiteral("end_s");
  for (std::size_t row = 0; row < kTimelineRows; ++row)
    table += separator + (row < kStates ? to_qstring(observe::kStateNames[row]) + QStringLiteral("_bytes")
                          : row == kRunningRow ? QStringLiteral("running")
                                               : QStringLiteral("waiting"));
  table += QLatin1Char('\n');
  for (std::size_t i = data_->bin_at(range().begin); i < data_->bins().size(); ++i) {
    const TimelineColumn& bin = data_->bins()[i];
    if (bin.begin >= range().end) break;
    table += QString::number(to_seconds(bin.begin), 'g', 15) + separator +
             QString::number(to_seconds(bin.end), 'g', 15);
    for (std::size_t row = 0; row < kTimelineRows; ++row)
      table += separator + QString::number(bin.mean(row), 'g', 15);
    table += QLatin1Char('\n');
  }
  return table;
}

}  // namespace kvplan::gui
