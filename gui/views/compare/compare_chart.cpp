#include "gui/views/compare/compare_chart.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/views/compare/compare_data.h"
#include "gui/views/painting.h"
#include "gui/views/timeline/timeline_raster.h"

namespace kvplan::gui {

CompareChart::CompareChart(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setObjectName(QStringLiteral("compare-chart"));
}

void CompareChart::show_slots(Workspace& workspace) {
  workspace_ = &workspace;
  update();
}

std::int64_t CompareChart::end() const {
  if (workspace_ == nullptr) return 0;
  const ResultPtr& result = workspace_->edited().result;
  return result && result->timeline ? result->timeline->whole().end : 0;
}

TimeRange CompareChart::range() const {
  TimeRange range = workspace_ == nullptr ? TimeRange{} : workspace_->selected().visible;
  if (range.begin > 0 || range.end < end()) return range;
  range = {0, std::max<std::int64_t>(1, end())};
  if (workspace_ == nullptr) return range;
  for (const Slot& slot : workspace_->slots())
    if (slot.result && slot.result->timeline)
      range.end = std::max(range.end, slot.result->timeline->whole().end);
  return range;
}

QRect CompareChart::plot_rect(std::size_t slot, const QSize& size) const {
  const int line = fontMetrics().height();
  const int slots = workspace_ == nullptr ? 1 : static_cast<int>(workspace_->slots().size());
  const int left = fontMetrics().horizontalAdvance(QStringLiteral("00,000")) + kTick + 2 * kGap;
  const int below = 2 * line + 2 * kTick;
  const int each = std::max(30, (size.height() - below) / slots);
  return {left, static_cast<int>(slot) * each + line + kGap / 2, std::max(10, size.width() - left - kGap),
          std::max(10, each - line - kGap)};
}

void CompareChart::draw_slot(QPainter& painter, const QRect& plot, std::size_t slot) const {
  const Slot& of = workspace_->slots()[slot];
  const QString names = slot_names(workspace_->slots())[slot];
  painter.setPen(palette().color(QPalette::WindowText));
  const QRect title(kGap, plot.top() - painter.fontMetrics().height() - 1, plot.right() - kGap,
                    painter.fontMetrics().height());
  std::int64_t most = 1;
  for (const Slot& other : workspace_->slots())
    if (other.result) most = std::max(most, other.result->run.capacity_bytes);
  const AxisMarks bytes = byte_marks(0, static_cast<double>(most), std::max(2, plot.height() / 40));
  const QString words = tr("%1: %2 (%3)").arg(slot_letter(slot), names, bytes.unit);
  painter.drawText(title, Qt::AlignLeft | Qt::AlignVCenter,
                   painter.fontMetrics().elidedText(words, Qt::ElideMiddle, title.width()));
  paint_axis_left(painter, plot, bytes, 0, static_cast<double>(most));
  painter.setPen(faint(palette()));
  painter.drawRect(plot.adjusted(-1, -1, 0, 0));
  const TimeRange shown = range();
  if (!of.result || !of.result->timeline || of.result->timeline->empty()) return;
  const TimelineData& timeline = *of.result->timeline;
  const std::int64_t until = std::min(shown.end, timeline.whole().end);
  if (until <= shown.begin) return;
  const double share = static_cast<double>(until - shown.begin) / static_cast<double>(shown.length());
  const double part = static_cast<double>(timeline.capacity_bytes()) / static_cast<double>(most);
  const QRectF area(plot.left(), plot.top() + plot.height() * (1 - part), plot.width() * share,
                    plot.height() * part);
  const qreal scale = painter.device()->devicePixelRatioF();
  const int columns = std::max(1, static_cast<int>(area.width() * scale));
  const auto reduced = timeline.columns({shown.begin, until}, columns);
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    draw_layers(painter, area, reduced, timeline.capacity_bytes(), palette());
    return;
  }
  painter.drawImage(
      area, paint_layers(reduced, std::max(1, static_cast<int>(area.height() * scale)), scale, palette()));
  painter.drawLine(area.topLeft(), area.topRight());  // the capacity
}

void CompareChart::draw(QPainter& painter, const QSize& size) const {
  if (workspace_ == nullptr) return;
  const TimeRange shown = range();
  const std::size_t slots = workspace_->slots().size();
  for (std::size_t slot = 0; slot < slots; ++slot) draw_slot(painter, plot_rect(slot, size), slot);
  const QRect last = plot_rect(slots - 1, size);
  const double low = seconds(Ticks{shown.begin}), high = seconds(Ticks{shown.end});
  painter.setPen(palette().color(QPalette::WindowText));
  if (high > low) {
    const AxisMarks marks = time_marks(low, high, std::max(2, last.width() / 110));
    paint_axis_below(painter, last, marks, low, high);
    painter.drawText(QRect(last.left(), last.bottom() + kTick + painter.fontMetrics().height(), last.width(),
                           painter.fontMetrics().height()),
                     Qt::AlignHCenter, tr("Time since the first arrival (%1)").arg(marks.unit));
  }
  const auto cursor = workspace_->selected().cursor;
  if (!cursor || *cursor < shown.begin || *cursor > shown.end) return;
  const double part = static_cast<double>(*cursor - shown.begin) / static_cast<double>(shown.length());
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const QRect plot = plot_rect(slot, size);
    const int x = plot.left() + static_cast<int>(std::lround(part * plot.width()));
    painter.fillRect(QRect(x - 1, plot.top(), 3, plot.height()), palette().color(QPalette::Base));
    painter.fillRect(QRect(x, plot.top(), 1, plot.height()), palette().color(QPalette::Text));
  }
}

void CompareChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  draw(painter, size());
  if (workspace_ != nullptr && workspace_->stale()) {
    QColor veil = palette().color(QPalette::Window);
    veil.setAlpha(150);
    painter.fillRect(plot_rect(0, size()), veil);
  }
  paint_focus(painter, *this);
}

std::int64_t CompareChart::tick_at(double x) const {
  const QRect plot = plot_rect(0, size());
  const double part = std::clamp((x - plot.left()) / std::max(1, plot.width()), 0.0, 1.0);
  return range().begin + static_cast<std::int64_t>(part * static_cast<double>(range().length()));
}

void CompareChart::zoom(double factor, std::int64_t around) {
  if (end() == 0) return;
  const TimeRange now = range();
  const double length =
      std::clamp(static_cast<double>(now.length()) / factor, 1024.0, static_cast<double>(end()));
  const double part = static_cast<double>(around - now.begin) / static_cast<double>(now.length());
  const auto begin = static_cast<std::int64_t>(static_cast<double>(around) - part * length);
  const std::int64_t whole = static_cast<std::int64_t>(length);
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, end() - whole);
  workspace_->selection().set_visible({first, first + whole});
}

void CompareChart::pan(double parts) {
  if (end() == 0) return;
  const TimeRange now = range();
  const std::int64_t length = std::min(now.length(), end());
  const auto by = static_cast<std::int64_t>(parts * static_cast<double>(length));
  const std::int64_t first = std::clamp<std::int64_t>(now.begin + by, 0, end() - length);
  workspace_->selection().set_visible({first, first + length});
}

void CompareChart::keyPressEvent(QKeyEvent* event) {
  if (workspace_ == nullptr || (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier)) != 0)
    return QWidget::keyPressEvent(event);
  const TimeRange shown = range();
  const std::int64_t middle = shown.begin + shown.length() / 2;
  const std::int64_t cursor = workspace_->selected().cursor.value_or(middle);
  const std::int64_t step = std::max<std::int64_t>(1, shown.length() / 100);
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
      return zoom(1.25, cursor);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoom(0.8, cursor);
    case Qt::Key_A:
      return pan(-0.1);
    case Qt::Key_D:
      return pan(0.1);
    case Qt::Key_Left:
    case Qt::Key_Right: {
      const std::int64_t next = cursor + (event->key() == Qt::Key_Left ? -step : step);
      return workspace_->selection().set_cursor(std::clamp<std::int64_t>(next, 0, shown.end));
    }
    case Qt::Key_Home:
      return workspace_->selection().set_visible({0, end()});
    case Qt::Key_Escape:
      return workspace_->selection().set_cursor(std::nullopt);
    default:
      return QWidget::keyPressEvent(event);
  }
}

void CompareChart::wheelEvent(QWheelEvent* event) {
  if (workspace_ == nullptr) return event->ignore();
  const QPoint delta = event->angleDelta();
  const double turns = (delta.y() != 0 ? delta.y() : delta.x()) / 120.0;
  if ((event->modifiers() & Qt::ShiftModifier) != 0 || delta.y() == 0) {
    pan(-0.1 * turns);
  } else {
    zoom(std::pow(1.25, turns), tick_at(event->position().x()));
  }
  event->accept();
}

void CompareChart::mousePressEvent(QMouseEvent* event) {
  if (workspace_ != nullptr && event->button() == Qt::LeftButton)
    workspace_->selection().set_cursor(tick_at(event->position().x()));
}

void CompareChart::mouseMoveEvent(QMouseEvent* event) {
  if (workspace_ != nullptr && (event->buttons() & Qt::LeftButton) != 0)
    workspace_->selection().set_cursor(tick_at(event->position().x()));
}

}  // namespace kvplan::gui
