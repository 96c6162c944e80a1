#include "gui/views/attention/attention_chart.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/viewmodel/colours.h"
#include "gui/views/painting.h"

namespace kvplan::gui {
namespace {

constexpr double kLeastWeight = 1e-4;  // where the scale of colours begins

/// On a logarithmic scale from kLeastWeight to 1.
double share_of_scale(double weight) {
  if (weight <= kLeastWeight) return 0;
  return std::min(1.0, 1 - std::log(weight) / std::log(kLeastWeight));
}

}  // namespace

AttentionChart::AttentionChart(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("attention-chart"));
}

void AttentionChart::show_run(AttentionRunPtr run, std::int64_t step) {
  if (run != run_) map_ = {};
  run_ = std::move(run);
  step_ = step;
  update();
}

QColor AttentionChart::weight_colour(float weight) const {
  // The two ends of cividis, readable with any kind of colour vision.
  const double part = share_of_scale(weight);
  return QColor(static_cast<int>(0 + part * 253), static_cast<int>(34 + part * 198),
                static_cast<int>(78 - part * 10));
}

QColor AttentionChart::evicted_colour() const {
  return palette().color(QPalette::Window);
}

QRect AttentionChart::map_rect(const QSize& size) const {
  const int line = fontMetrics().height();
  const int side = std::min(size.height() - 3 * line, size.width() * 45 / 100);
  return {kGap + 6 * line / 2, line + kGap / 2, std::max(20, side - 2 * line), std::max(20, side - 2 * line)};
}

QRect AttentionChart::mass_rect(const QSize& size) const {
  const QRect map = map_rect(size);
  const int line = fontMetrics().height();
  const int left = map.right() + 4 * kGap + fontMetrics().horizontalAdvance(QStringLiteral("0.00"));
  const int half = (size.height() - 2 * line) / 2;
  return {left, size.height() - half + line / 2, std::max(20, size.width() - left - kGap),
          std::max(20, half - 3 * line)};
}

QRect AttentionChart::strip_rect(std::size_t track, const QSize& size) const {
  const QRect mass = mass_rect(size);
  const int line = fontMetrics().height();
  const int each = std::max(line + 8, (size.height() / 2 - 2 * line) / static_cast<int>(kMostPolicies));
  return {mass.left(), line + static_cast<int>(track) * each + line, mass.width(),
          std::max(6, each - line - 4)};
}

void AttentionChart::remake() const {
  if (!map_.isNull() || !run_) return;
  map_ = QImage(run_->side, run_->side, QImage::Format_RGB32);
  const QRgb masked = faint(palette()).rgb();  // queries do not see later tokens: not the same as no weight
  for (int y = 0; y < run_->side; ++y)
    for (int x = 0; x < run_->side; ++x)
      map_.setPixel(
          x, y,
          x > y
              ? masked
              : weight_colour(run_->cells[static_cast<std::size_t>(y) * static_cast<std::size_t>(run_->side) +
                                          static_cast<std::size_t>(x)])
                    .rgb());
}

void AttentionChart::draw_map(QPainter& painter, const QRect& area) const {
  const int line = painter.fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(area.left(), 0, area.width() + 4 * kGap, line), Qt::AlignLeft,
                   tr("Weights of the head, a row for each query"));
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    // Rows of rectangles of one colour each, as many as can be told apart.
    const int shown = std::min(run_->side, 128);
    for (int y = 0; y < shown; ++y)
      for (int x = 0; x <= y; ++x) {
        float most = 0;
        for (int cy = y * run_->side / shown; cy < (y + 1) * run_->side / shown; ++cy)
          for (int cx = x * run_->side / shown; cx < (x + 1) * run_->side / shown; ++cx)
            most = std::max(most,
                            run_->cells[static_cast<std::size_t>(cy) * static_cast<std::size_t>(run_->side) +
                                        static_cast<std::size_t>(cx)]);
        const double side = static_cast<double>(area.width()) / shown;
        painter.fillRect(QRectF(area.left() + x * side, area.top() + y * side, side, side),
                         weight_colour(most));
      }
  } else {
    remake();
    painter.drawImage(area, map_);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(faint(palette()));
  painter.drawRect(area.adjusted(-1, -1, 0, 0));
  const auto tokens = static_cast<double>(run_->tokens);
  painter.setPen(palette().color(QPalette::WindowText));
  paint_axis_below(painter, area, count_marks(0, tokens, 4), 0, tokens);
  painter.drawText(QRect(area.left(), area.bottom() + kTick + line, area.width(), line), Qt::AlignHCenter,
                   tr("token"));
  // The prompt's end, and the step.
  const auto y_of = [&](double t) { return area.top() + static_cast<int>(t / tokens * area.height()); };
  painter.setPen(QPen(series_colour(1, palette()), 1, Qt::DashLine));
  painter.drawLine(area.left(), y_of(static_cast<double>(run_->choice.prompt)), area.right(),
                   y_of(static_cast<double>(run_->choice.prompt)));
  const int y = y_of(static_cast<double>(run_->choice.prompt + step_) - 0.5);
  painter.fillRect(QRect(area.left(), y - 1, area.width(), 3), palette().color(QPalette::Base));
  painter.fillRect(QRect(area.left(), y, area.width(), 1), palette().color(QPalette::Text));
}

void AttentionChart::draw_strips(QPainter& painter, const QSize& size) const {
  const int line = painter.fontMetrics().height();
  const auto at = static_cast<std::size_t>(step_);
  const auto& row = run_->rows[at];
  for (std::size_t i = 0; i < run_->tracks.size(); ++i) {
    const PolicyTrack& track = run_->tracks[i];
    const QRect strip = strip_rect(i, size);
    const auto& kept = track.kept[at];
    painter.setPen(palette().color(QPalette::WindowText));
    const QString words =
        tr("%1: keeps %2 of %3")
            .arg(to_qstring(track.name), QString::number(kept.size()), QString::number(row.size()));
    painter.drawText(QRect(strip.left(), strip.top() - line, strip.width(), line),
                     Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(words, Qt::ElideRight, strip.width()));
    painter.fillRect(strip, evicted_colour());
    // A column of pixels shows its heaviest kept token, so that none is lost.
    std::vector<float> columns(static_cast<std::size_t>(strip.width()), -1);
    for (const std::int32_t position : kept) {
      const auto column = static_cast<std::size_t>(std::int64_t{position} * strip.width() /
                                                   std::max<std::int64_t>(1, run_->tokens));
      const auto last = static_cast<std::size_t>((std::int64_t{position} + 1) * strip.width() /
                                                 std::max<std::int64_t>(1, run_->tokens));
      const float weight =
          static_cast<std::size_t>(position) < row.size() ? row[static_cast<std::size_t>(position)] : 0;
      for (std::size_t c = column; c < std::max(column + 1, std::min(last, columns.size())); ++c)
        columns[c] = std::max(columns[c], weight);
    }
    for (std::size_t c = 0; c < columns.size(); ++c)
      if (columns[c] >= 0)
        painter.fillRect(QRect(strip.left() + static_cast<int>(c), strip.top(), 1, strip.height()),
                         weight_colour(columns[c]));
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(series_colour(i, palette()), 1));
    painter.drawRect(strip.adjusted(-1, -1, 0, 0));
  }
}

void AttentionChart::draw_mass(QPainter& painter, const QRect& area) const {
  const int line = painter.fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(area.left(), area.top() - line, area.width(), line), Qt::AlignLeft,
                   tr("Attended mass of the head at each step"));
  const std::int64_t steps = run_->steps() - 1;
  double low = 1;
  for (const PolicyTrack& track : run_->tracks)
    for (const double mass : track.mass) low = std::min(low, mass);
  low = std::max(0.0, std::floor(low * 10) / 10 - 0.05);
  const double high = 1.02;
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    const double mark = tenth / 10.0;
    if (mark < low) continue;
    const int y = area.bottom() - static_cast<int>((mark - low) / (high - low) * area.height());
    painter.drawLine(area.left() - kTick, y, area.left() - 1, y);
    painter.drawText(QRect(area.left() - kTick - kGap - 60, y - line / 2, 60, line),
                     Qt::AlignRight | Qt::AlignVCenter, QString::number(mark, 'f', 1));
  }
  const auto first = static_cast<double>(run_->choice.prompt);
  if (steps > 0) {
    paint_axis_below(painter, area, count_marks(first, first + static_cast<double>(steps), 5), first,
                     first + static_cast<double>(steps));
  }
  painter.drawText(QRect(area.left(), area.bottom() + kTick + line, area.width(), line), Qt::AlignHCenter,
                   tr("token that asks"));
  painter.setPen(faint(palette()));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(area.adjusted(-1, -1, 0, 0));
  if (steps <= 0) return;
  const auto x_of = [&](std::int64_t step) {
    return area.left() + static_cast<double>(step) / static_cast<double>(steps) * area.width();
  };
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  static constexpr std::array kDashes{Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};
  for (std::size_t i = 0; i < run_->tracks.size(); ++i) {
    QPolygonF line_of_mass;
    for (std::size_t s = 0; s < run_->tracks[i].mass.size(); ++s)
      line_of_mass << QPointF(x_of(static_cast<std::int64_t>(s) + 1),
                              area.bottom() - (run_->tracks[i].mass[s] - low) / (high - low) * area.height());
    painter.setPen(QPen(series_colour(i, palette()), 1.5, kDashes.at(i % kDashes.size())));
    painter.drawPolyline(line_of_mass);
  }
  painter.restore();
  const int x = static_cast<int>(x_of(step_));
  painter.fillRect(QRect(x - 1, area.top(), 3, area.height()), palette().color(QPalette::Base));
  painter.fillRect(QRect(x, area.top(), 1, area.height()), palette().color(QPalette::Text));
}

void AttentionChart::draw(QPainter& painter, const QSize& size) const {
  if (!run_) return;
  draw_map(painter, map_rect(size));
  draw_strips(painter, size);
  draw_mass(painter, mass_rect(size));
}

void AttentionChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  draw(painter, size());
}

void AttentionChart::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) map_ = {};
  QWidget::changeEvent(event);
}

void AttentionChart::ask_step(const QPoint& at) {
  if (!run_) return;
  const QRect map = map_rect(size()), mass = mass_rect(size());
  if (map.contains(at)) {
    const double token =
        static_cast<double>(at.y() - map.top()) / map.height() * static_cast<double>(run_->tokens);
    Q_EMIT step_asked(static_cast<std::int64_t>(token) - run_->choice.prompt + 1);
  } else if (mass.contains(at)) {
    Q_EMIT step_asked(static_cast<std::int64_t>(static_cast<double>(at.x() - mass.left()) / mass.width() *
                                                static_cast<double>(run_->steps() - 1)));
  }
}

void AttentionChart::mousePressEvent(QMouseEvent* event) {
  ask_step(event->pos());
}

void AttentionChart::mouseMoveEvent(QMouseEvent* event) {
  if ((event->buttons() & Qt::LeftButton) != 0) ask_step(event->pos());
}

}  // namespace kvplan::gui
