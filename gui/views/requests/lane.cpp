#include "gui/views/requests/lane.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/views/painting.h"
#include "gui/views/requests/requests_data.h"
#include "simulator/base/units.h"

namespace kvplan::gui {

QColor life_colour(LifePart::Kind kind) {
  static constexpr std::array<QRgb, 5> kColours{0xE69F00, 0x0072B2, 0x009E73, 0xD55E00, 0xCC79A7};
  return QColor(kColours.at(static_cast<std::size_t>(kind)));
}

Lane::Lane(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setObjectName(QStringLiteral("lane"));
  translate();
}

void Lane::translate() {
  setAccessibleName(tr("Life of the request"));
}

void Lane::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) translate();
  QWidget::changeEvent(event);
}

void Lane::show_life(const QString& title, std::vector<LifePart> life) {
  title_ = title;
  life_ = std::move(life);
  setAccessibleDescription(text());
  update();
}

void Lane::show_cursor(std::optional<std::int64_t> tick) {
  if (cursor_ == tick) return;
  cursor_ = tick;
  update();
}

QString Lane::text() const {
  return life_.empty() ? title_ : tr("%1: %2").arg(title_, life_text(life_));
}

QSize Lane::sizeHint() const {
  return {400, 5 * fontMetrics().height() + 5 * kGap};
}

QRect Lane::bar(const QSize& size) const {
  const int line = fontMetrics().height();
  return {kGap, 2 * line + 2 * kGap, std::max(10, size.width() - 2 * kGap), line + kGap};
}

void Lane::draw(QPainter& painter, const QSize& size) const {
  const QRect area = bar(size);
  const int line = fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(kGap, kGap / 2, size.width() - 2 * kGap, line), Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(text(), Qt::ElideRight, size.width() - 2 * kGap));
  if (life_.empty()) return;
  const auto begin = static_cast<double>(life_.front().begin), end = static_cast<double>(life_.back().end);
  const auto x_of = [&](std::int64_t tick) {
    return area.left() + (static_cast<double>(tick) - begin) / std::max(1.0, end - begin) * area.width();
  };
  for (const LifePart& part : life_) {
    const QRectF box(x_of(part.begin), area.top(), std::max(1.0, x_of(part.end) - x_of(part.begin)),
                     area.height());
    painter.fillRect(box, life_colour(part.kind));
    if (part.kind == LifePart::Kind::kPreempted || part.kind == LifePart::Kind::kRecompute)
      painter.fillRect(
          box, QBrush(QColor(0, 0, 0, 120),
                      part.kind == LifePart::Kind::kPreempted ? Qt::BDiagPattern : Qt::Dense6Pattern));
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(faint(palette()));
  painter.drawRect(area.adjusted(0, 0, -1, -1));
  // The names, above the bar: a legend in the order of a life.
  int left = area.left();
  for (std::size_t i = 0; i < 5; ++i) {
    const auto kind = static_cast<LifePart::Kind>(i);
    const bool there =
        std::any_of(life_.begin(), life_.end(), [&](const LifePart& part) { return part.kind == kind; });
    if (!there) continue;
    const QRect swatch(left, line + kGap + 2, line - 4, line - 4);
    painter.fillRect(swatch, life_colour(kind));
    painter.setPen(palette().color(QPalette::WindowText));
    const QString name = life_name(kind);
    painter.drawText(QPoint(swatch.right() + kGap / 2, swatch.bottom()), name);
    left = swatch.right() + kGap / 2 + painter.fontMetrics().horizontalAdvance(name) + 2 * kGap;
  }
  const double low = seconds(Ticks{life_.front().begin}), high = seconds(Ticks{life_.back().end});
  if (high > low) {
    const AxisMarks marks = time_marks(low, high, std::max(2, area.width() / 120));
    painter.setPen(palette().color(QPalette::WindowText));
    paint_axis_below(painter, area, marks, low, high);
    painter.drawText(QRect(area.left(), area.bottom() + kTick + line, area.width(), line), Qt::AlignHCenter,
                     tr("Time since the first arrival (%1)").arg(marks.unit));
  }
  if (cursor_ && *cursor_ >= life_.front().begin && *cursor_ <= life_.back().end) {
    const int x = static_cast<int>(std::lround(x_of(*cursor_)));
    painter.fillRect(QRect(x - 1, area.top() - 2, 3, area.height() + 4), palette().color(QPalette::Base));
    painter.fillRect(QRect(x, area.top() - 2, 1, area.height() + 4), palette().color(QPalette::Text));
  }
}

void Lane::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  draw(painter, size());
  paint_focus(painter, *this);
}

void Lane::mousePressEvent(QMouseEvent* event) {
  const QRect area = bar(size());
  if (life_.empty() || event->button() != Qt::LeftButton || area.width() == 0) return;
  const double part = std::clamp((event->position().x() - area.left()) / area.width(), 0.0, 1.0);
  const auto length = static_cast<double>(life_.back().end - life_.front().begin);
  Q_EMIT cursor_asked(life_.front().begin + static_cast<std::int64_t>(part * length));
}

void Lane::keyPressEvent(QKeyEvent* event) {
  const bool forward = event->key() == Qt::Key_Right;
  if (life_.empty() || (!forward && event->key() != Qt::Key_Left)) return QWidget::keyPressEvent(event);
  const std::int64_t now = cursor_.value_or(forward ? life_.front().begin - 1 : life_.back().end);
  std::optional<std::int64_t> next;
  for (const LifePart& part : life_) {
    if (forward && part.begin > now) {
      next = part.begin;
      break;
    }
    if (!forward && part.begin < now) next = part.begin;
  }
  if (next) Q_EMIT cursor_asked(*next);
}

}  // namespace kvplan::gui
