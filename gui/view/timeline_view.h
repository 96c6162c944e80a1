// The ledger over time: ten states stacked to the capacity, and beneath it requests running and waiting.
//
// Mouse: the wheel zooms around the pointer, Shift+wheel and dragging pan, Shift+dragging marks a range, a
// double click shows everything. Keys: W S zoom, A D pan, Left Right move the cursor (with Shift they mark a
// range), F shows the marked range, Home everything, Esc clears mark and cursor or, while the mouse drags,
// takes the drag back, Ctrl+C copies picture and data. The picture of the data is kept as an image and remade
// when data, view, size or palette change.
#pragma once

#include <QImage>
#include <QWidget>
#include <memory>
#include <optional>

#include "gui/viewmodel/timeline_data.h"

class QMimeData;

namespace kvplan::gui {

class TimelineView final : public QWidget {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  /// Shows other data. The visible part of the time keeps its share when the run's length changes.
  void set_data(std::shared_ptr<const TimelineData> data);
  [[nodiscard]] const std::shared_ptr<const TimelineData>& data() const { return data_; }
  /// The text shown without data; by default how to open some.
  void set_empty_text(const QString& text);
  /// Greys the picture: newer data are being computed.
  void set_stale(bool stale);
  [[nodiscard]] bool stale() const { return stale_; }

  [[nodiscard]] TimeRange range() const { return range_; }
  void set_range(TimeRange range);
  void show_all();
  void zoom(double factor, std::int64_t around);
  void pan(double parts_of_view);
  void show_marked();
  void clear_marks();

  [[nodiscard]] std::optional<std::int64_t> cursor_tick() const { return cursor_; }
  void set_cursor(std::optional<std::int64_t> tick);
  [[nodiscard]] std::optional<TimeRange> marked() const { return marked_; }
  void set_marked(std::optional<TimeRange> range);

  /// Rectangle of the layers, in the widget's coordinates.
  [[nodiscard]] QRect plot_rect() const;
  /// Rectangle of a row of requests (kRunningRow, kWaitingRow); each row has its own scale.
  [[nodiscard]] QRect lane_rect(std::size_t row) const;
  [[nodiscard]] std::int64_t tick_at(double x) const;
  [[nodiscard]] double x_of(std::int64_t tick) const;
  /// The value at the cursor, or the mean of the view, in words: for screen readers and tests.
  [[nodiscard]] QString value_text() const;

  /// Picture and tab-separated data of the visible part.
  [[nodiscard]] std::unique_ptr<QMimeData> copied() const;

  [[nodiscard]] QSize sizeHint() const override { return {820, 460}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {480, 340}; }

 Q_SIGNALS:
  void range_changed();

 protected:
  bool event(QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  enum class Drag : std::uint8_t { kNone, kPan, kMark };

  [[nodiscard]] bool has_data() const { return data_ && !data_->empty(); }
  [[nodiscard]] int wanted_legend_width() const;
  [[nodiscard]] int lane_height() const;
  [[nodiscard]] TimelineColumn column_in_view() const;
  [[nodiscard]] TimelineColumn legend_column() const;
  [[nodiscard]] std::int64_t least_length() const;
  void translate();
  void move_cursor(int direction, bool mark);
  void give_up_drag();
  void remake_images();
  void paint_axes(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;
  void paint_legend_row(QPainter& painter, int top, int row, const TimelineColumn& column) const;
  void paint_marks(QPainter& painter) const;
  void paint_empty(QPainter& painter) const;
  [[nodiscard]] QString tool_tip_at(const QPoint& at) const;

  std::shared_ptr<const TimelineData> data_;
  TimeRange range_;
  std::optional<std::int64_t> cursor_;
  std::optional<TimeRange> marked_;
  bool stale_{false};
  int legend_width_{0};  // for this font and language
  QString empty_text_;   // empty: the usual one

  QImage layers_, running_, waiting_;  // empty: will be made at the next painting

  Drag drag_{Drag::kNone};
  QPointF drag_from_;
  TimeRange drag_range_;
  std::optional<TimeRange> drag_marked_;  // what was marked before
};

/// Makes the view's value readable by screen readers; once per program, before the first view.
void install_timeline_accessibility();

}  // namespace kvplan::gui
