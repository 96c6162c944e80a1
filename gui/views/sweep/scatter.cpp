#include "gui/views/sweep/scatter.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/views/painting.h"

namespace kvplan::gui {
namespace {
constexpr int kNear = 20;  // logical pixels from a point to a click
constexpr int kDrag = 5;   // a shorter movement is a click
}  // namespace

Scatter::Scatter(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setObjectName(QStringLiteral("scatter"));
}

void Scatter::show_points(std::vector<ScatterPoint> points, std::vector<std::size_t> front,
                          const QString& x_title, const QString& y_title) {
  if (x_title != x_title_ || y_title != y_title_) brush_.reset();
  points_ = std::move(points);
  front_ = std::move(front);
  x_title_ = x_title;
  y_title_ = y_title;
  x_low_ = y_low_ = 0;
  x_high_ = y_high_ = 0;
  for (const ScatterPoint& point : points_) {
    x_low_ = std::min(x_low_, point.x);
    y_low_ = std::min(y_low_, point.y);
    x_high_ = std::max(x_high_, point.x);
    y_high_ = std::max(y_high_, point.y);
  }
  x_high_ += x_high_ > x_low_ ? (x_high_ - x_low_) * 0.05 : 1;
  y_high_ += y_high_ > y_low_ ? (y_high_ - y_low_) * 0.05 : 1;
  update();
}

void Scatter::choose(std::optional<std::size_t> row) {
  row_ = row;
  update();
}

QRect Scatter::plot(const QSize& size) const {
  const QFontMetrics metrics = fontMetrics();
  const int left = metrics.horizontalAdvance(QStringLiteral("000,000,000")) + kTick + 2 * kGap;
  const int top = metrics.height() + kGap;
  return {left, top, std::max(10, size.width() - left - 2 * kGap),
          std::max(10, size.height() - top - 2 * metrics.height() - 2 * kGap)};
}

QPointF Scatter::place_of(const ScatterPoint& point, const QSize& size) const {
  const QRect area = plot(size);
  return {area.left() + (point.x - x_low_) / (x_high_ - x_low_) * area.width(),
          area.bottom() - (point.y - y_low_) / (y_high_ - y_low_) * area.height()};
}

bool Scatter::brushed(std::size_t row) const {
  if (!brush_) return true;
  return std::any_of(points_.begin(), points_.end(), [&](const ScatterPoint& point) {
    return point.row == row && brush_->contains(point.x, point.y);
  });
}

void Scatter::draw(QPainter& painter, const QSize& size) const {
  const QRect area = plot(size);
  const int line = painter.fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  paint_axis_below(painter, area, count_marks(x_low_, x_high_, std::max(2, area.width() / 130)), x_low_,
                   x_high_);
  paint_axis_left(painter, area, count_marks(y_low_, y_high_, std::max(2, area.height() / 50)), y_low_,
                  y_high_);
  painter.drawText(QRect(kGap, 0, size.width(), area.top() - kGap / 2), Qt::AlignLeft | Qt::AlignVCenter,
                   y_title_);
  painter.drawText(QRect(area.left(), area.bottom() + kTick + line, area.width(), line), Qt::AlignHCenter,
                   x_title_);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(faint(palette()));
  painter.drawRect(area.adjusted(-1, -1, 0, 0));
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  std::vector<QPointF> line_of_front;
  for (const std::size_t row : front_)
    for (const ScatterPoint& point : points_)
      if (point.row == row) line_of_front.push_back(place_of(point, size));
  std::sort(line_of_front.begin(), line_of_front.end(),
            [](const QPointF& a, const QPointF& b) { return a.x() < b.x(); });
  painter.setPen(QPen(series_colour(1, palette()), 2));
  for (std::size_t i = 1; i < line_of_front.size(); ++i)
    painter.drawLine(line_of_front[i - 1], line_of_front[i]);
  for (const ScatterPoint& point : points_) {
    const bool best = std::find(front_.begin(), front_.end(), point.row) != front_.end();
    QColor colour = best ? series_colour(1, palette()) : series_colour(0, palette());
    if (!point.shown) colour.setAlpha(50);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour);
    const QPointF at = place_of(point, size);
    if (best) {
      painter.drawRect(QRectF(at.x() - 5, at.y() - 5, 10, 10));  // a square: not by colour alone
    } else {
      painter.drawEllipse(at, 4, 4);
    }
    if (row_ && point.row == *row_) {
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(palette().color(QPalette::WindowText), 2));
      painter.drawEllipse(at, 9, 9);
    }
  }
  if (brush_) {
    QColor colour = palette().color(QPalette::Highlight);
    const QPointF a = place_of({0, brush_->left(), brush_->top()}, size);
    const QPointF b = place_of({0, brush_->right(), brush_->bottom()}, size);
    painter.setPen(colour);
    colour.setAlpha(40);
    painter.setBrush(colour);
    painter.drawRect(QRectF(a, b).normalized());
  }
  painter.restore();
}

void Scatter::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  draw(painter, size());
  paint_focus(painter, *this);
}

void Scatter::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape && brush_) {
    brush_.reset();
    update();
    return Q_EMIT brush_changed();
  }
  const bool right = event->key() == Qt::Key_Right;
  if ((!right && event->key() != Qt::Key_Left) || front_.empty()) return QWidget::keyPressEvent(event);
  const auto at = row_ ? std::find(front_.begin(), front_.end(), *row_) : front_.end();
  if (at == front_.end()) return Q_EMIT chosen(front_.front());
  if (right && at + 1 != front_.end()) Q_EMIT chosen(*(at + 1));
  if (!right && at != front_.begin()) Q_EMIT chosen(*(at - 1));
}

void Scatter::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  from_ = event->pos();
  dragging_ = true;
}

void Scatter::take_brush(const QPoint& to) {
  const QRect area = plot(size());
  const auto value = [&](const QPoint& at) {
    return QPointF(x_low_ + static_cast<double>(at.x() - area.left()) / area.width() * (x_high_ - x_low_),
                   y_low_ + static_cast<double>(area.bottom() - at.y()) / area.height() * (y_high_ - y_low_));
  };
  brush_ = QRectF(value(from_), value(to)).normalized();
  update();
}

void Scatter::mouseMoveEvent(QMouseEvent* event) {
  if (dragging_ && (event->pos() - from_).manhattanLength() > kDrag) take_brush(event->pos());
}

void Scatter::mouseReleaseEvent(QMouseEvent* event) {
  if (!dragging_) return;
  dragging_ = false;
  if ((event->pos() - from_).manhattanLength() > kDrag) {
    take_brush(event->pos());
    return Q_EMIT brush_changed();
  }
  double best = kNear;
  std::optional<std::size_t> row;
  for (const ScatterPoint& point : points_) {
    const QPointF apart = place_of(point, size()) - event->position();
    const double distance = std::hypot(apart.x(), apart.y());
    if (distance >= best) continue;
    best = distance;
    row = point.row;
  }
  if (row) Q_EMIT chosen(*row);
}

}  // namespace kvplan::gui
