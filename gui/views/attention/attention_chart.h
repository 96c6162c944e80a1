// A head of a recording as a map of weights, the tokens that each policy keeps at one step as strips below it, and the
// attended mass of each policy over the steps.
#pragma once

#include <QImage>
#include <QWidget>

#include "gui/views/attention/attention_data.h"

class QPainter;

namespace kvplan::gui {

class AttentionChart final : public QWidget {
  Q_OBJECT

 public:
  explicit AttentionChart(QWidget* parent = nullptr);

  void show_run(AttentionRunPtr run, std::int64_t step);
  void draw(QPainter& painter, const QSize& size) const;
  [[nodiscard]] QRect map_rect(const QSize& size) const;
  [[nodiscard]] QRect strip_rect(std::size_t track, const QSize& size) const;
  [[nodiscard]] QRect mass_rect(const QSize& size) const;
  /// The colour of a kept token with this weight.
  [[nodiscard]] QColor weight_colour(float weight) const;
  [[nodiscard]] QColor evicted_colour() const;
  [[nodiscard]] QSize minimumSizeHint() const override { return {400, 300}; }

 Q_SIGNALS:
  void step_asked(std::int64_t step);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  void ask_step(const QPoint& at);
  void remake() const;
  void draw_map(QPainter& painter, const QRect& area) const;
  void draw_strips(QPainter& painter, const QSize& size) const;
  void draw_mass(QPainter& painter, const QRect& area) const;

  AttentionRunPtr run_;
  std::int64_t step_{0};
  mutable QImage map_;  // one pixel for each cell; null: to be made
};

}  // namespace kvplan::gui
