// Load, pool, block and budget as sliders. Each position of a slider is a value that can also be typed; see
// gui/viewmodel/slider_model.h.
#pragma once

#include <QSlider>
#include <QWidget>
#include <array>

#include "gui/viewmodel/slider_model.h"

class QLabel;

namespace kvplan::gui {

/// Height of a row of sliders, and of the numbers next to it.
int row_height(const QWidget& panel);

/// A slider with a mark at the last value that can be had, and a pattern behind it.
class MarkedSlider final : public QSlider {
  Q_OBJECT

 public:
  explicit MarkedSlider(QWidget* parent = nullptr);
  void set_limit(std::optional<int> limit);
  [[nodiscard]] std::optional<int> limit() const { return limit_; }
  /// Where the handle's middle is at a value, in the widget's coordinates.
  [[nodiscard]] int x_of(int value) const;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::optional<int> limit_;
};

class SliderPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit SliderPanel(QWidget* parent = nullptr);

  /// Sets handles and ranges from the scenario; emits nothing.
  void show_scenario(const runs::Scenario& scenario, const SliderFacts& facts);
  [[nodiscard]] MarkedSlider* slider(SliderKind kind) const;

 Q_SIGNALS:
  /// The user moved a slider to a value. Requests with equal `merge` belong to one movement.
  void moved(const QString& path, const QString& text, int merge);
  /// The user pressed Escape during a drag: the movement is undone.
  void taken_back(int merge);

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  struct Row {
    QLabel* name{nullptr};
    MarkedSlider* slider{nullptr};
    QLabel* value{nullptr};
    SliderModel model;
    int merge{0};
    bool given_up{false};  ///< the mouse still holds the handle, but moving it has no effect
  };
  void begin_movement(Row& row);
  bool give_up(Row& row, const QEvent& event);
  void translate();

  std::array<Row, kSliders> rows_;
  QLabel* warning_{nullptr};  ///< what the device does not hold
  int movements_{0};
};

}  // namespace kvplan::gui
