// The ledger over time: ten states stacked up to the capacity, and below them the running and waiting requests.
//
// Cursor, marked range and visible range are the window's selection.
// Mouse: the wheel zooms around the pointer, Shift+wheel and dragging pan, Shift+dragging marks a range, a
// double click shows everything. Keys: W S zoom, A D pan, Left Right move the cursor (with Shift they mark a
// range), F shows the marked range, Home everything, Esc clears mark and cursor or, while the mouse drags,
// takes the drag back, Ctrl+C copies picture and data. The picture of the data is kept as an image and remade
// when data, view, size or palette change.
#pragma once

#include <QImage>
#include <memory>
#include <optional>

#include "gui/viewmodel/timeline_data.h"
#include "gui/views/view.h"

namespace kvplan::gui {

class TimelineTable;

class TimelineView final : public View {
  Q_OBJECT

 public:
  explicit TimelineView(QWidget* parent = nullptr);

  void attach(Workspace& workspace) override;
  [[nodiscard]] QAbstractItemModel* table() override;
  [[nodiscard]] QString csv() override;
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] bool empty() const override { return !has_data(); }

  /// Shows other data. The visible part of the time keeps its share when the run's length changes.
  void set_data(std::shared_ptr<const TimelineData> data);
  [[nodiscard]] const std::shared_ptr<const TimelineData>& data() const { return data_; }
  /// Sets the text that is shown without data; by default it says how to open data.
  void set_empty_text(const QString& text);
  /// Greys the picture while newer data are being computed.
  void set_stale(bool stale);
  [[nodiscard]] bool stale() const { return stale_; }

  /// The visible range, within the data.
  [[nodiscard]] TimeRange range() const {
    return has_data() ? allowed(selection_->get().visible) : selection_->get().visible;
  }
  void set_range(TimeRange range);
  void show_all();
  void zoom(double factor, std::int64_t around);
  void pan(double parts_of_view);
  void show_marked();
  void clear_marks();

  [[nodiscard]] std::optional<std::int64_t> cursor_tick() const { return selection_->get().cursor; }
  void set_cursor(std::optional<std::int64_t> tick);
  [[nodiscard]] std::optional<TimeRange> marked() const { return selection_->get().marked; }
  void set_marked(std::optional<TimeRange> range);

  /// Rectangle of the layers, in the widget's coordinates.
  [[nodiscard]] QRect plot_rect() const;
  /// Rectangle of a row of requests (kRunningRow, kWaitingRow); each row has its own scale.
  [[nodiscard]] QRect lane_rect(std::size_t row) const;
  [[nodiscard]] std::int64_t tick_at(double x) const;
  [[nodiscard]] double x_of(std::int64_t tick) const;
  /// The value at the cursor, or the mean of the view, in words: for screen readers and tests.
  [[nodiscard]] QString value_text() const override;

  [[nodiscard]] QSize sizeHint() const override { return {820, 460}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {480, 340}; }

 Q_SIGNALS:
  void range_changed();

 protected:
  void refresh() override;
  [[nodiscard]] QString copied_text() override;
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
  [[nodiscard]] TimeRange allowed(TimeRange range) const;
  void translate();
  [[nodiscard]] QString visible_text(QChar separator) const;
  void follow(const runs::Selection& before);
  void paint_shapes(QPainter& painter) const;
  void move_cursor(int direction, bool mark);
  void give_up_drag();
  void remake_images(qreal scale);
  void paint_axes(QPainter& painter) const;
  void paint_legend(QPainter& painter) const;
  void paint_legend_row(QPainter& painter, int top, int row, const TimelineColumn& column) const;
  void paint_marks(QPainter& painter) const;
  void paint_empty(QPainter& painter) const;
  [[nodiscard]] QString tool_tip_at(const QPoint& at) const;

  std::shared_ptr<const TimelineData> data_;
  SelectionModel* selection_;  // its own selection, until it is attached to a workspace
  TimelineTable* table_;
  bool stale_{false};
  int legend_width_{0};  // for this font and language
  QString empty_text_;   // empty: the default text

  QImage layers_, running_, waiting_;  // empty: made at the next painting

  Drag drag_{Drag::kNone};
  QPointF drag_from_;
  TimeRange drag_range_;
  std::optional<TimeRange> drag_marked_;  // the marked range before the drag
};

}  // namespace kvplan::gui
