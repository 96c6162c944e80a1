// Cases of a sweep as points over two figures, with the Pareto front as a line of steps.
//
// A click chooses the nearest point. A drag selects a rectangle (the brush); the table then shows only its points. Left
// and Right step along the front, Escape removes the brush.
#pragma once

#include <QWidget>
#include <optional>

#include "gui/views/sweep/sweep_data.h"

namespace kvplan::gui {

struct ScatterPoint {
  std::size_t row{0};  ///< row of the document
  double x{0}, y{0};
  bool shown{true};  ///< true: the point passes the filter
};

class Scatter final : public QWidget {
  Q_OBJECT

 public:
  explicit Scatter(QWidget* parent = nullptr);

  void show_points(std::vector<ScatterPoint> points, std::vector<std::size_t> front, const QString& x_title,
                   const QString& y_title);
  void choose(std::optional<std::size_t> row);
  [[nodiscard]] const std::vector<ScatterPoint>& points() const { return points_; }
  [[nodiscard]] const std::vector<std::size_t>& front() const { return front_; }
  [[nodiscard]] QPointF place_of(const ScatterPoint& point, const QSize& size) const;
  /// True if there is no brush, or the point is inside it.
  [[nodiscard]] bool brushed(std::size_t row) const;
  void draw(QPainter& painter, const QSize& size) const;
  [[nodiscard]] QSize minimumSizeHint() const override { return {300, 200}; }

 Q_SIGNALS:
  void chosen(std::size_t row);
  void brush_changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  [[nodiscard]] QRect plot(const QSize& size) const;
  void take_brush(const QPoint& to);

  std::vector<ScatterPoint> points_;
  std::vector<std::size_t> front_;  // rows of the front
  QString x_title_, y_title_;
  double x_low_{0}, x_high_{1}, y_low_{0}, y_high_{1};
  std::optional<std::size_t> row_;
  std::optional<QRectF> brush_;  // in values of the axes
  QPoint from_;
  bool dragging_{false};
};

}  // namespace kvplan::gui
