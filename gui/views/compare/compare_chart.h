// The memory of two to four runs, one under the other: one time axis, one cursor, one scale of bytes.
//
// A click or Left and Right move the cursor; W and S or the wheel zoom, A and D pan, Home shows everything.
#pragma once

#include <QWidget>

#include "gui/views/workspace.h"

namespace kvplan::gui {

class CompareChart final : public QWidget {
  Q_OBJECT

 public:
  explicit CompareChart(QWidget* parent = nullptr);

  void show_slots(Workspace& workspace);
  [[nodiscard]] QRect plot_rect(std::size_t slot, const QSize& size) const;
  /// The visible range of time, in ticks.
  [[nodiscard]] TimeRange range() const;
  void draw(QPainter& painter, const QSize& size) const;
  [[nodiscard]] QSize minimumSizeHint() const override { return {400, 200}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;

 private:
  [[nodiscard]] std::int64_t tick_at(double x) const;
  /// The end of the edited run; the selection stays before it.
  [[nodiscard]] std::int64_t end() const;
  void zoom(double factor, std::int64_t around);
  void pan(double parts);
  void draw_slot(QPainter& painter, const QRect& plot, std::size_t slot) const;

  Workspace* workspace_{nullptr};
};

}  // namespace kvplan::gui
