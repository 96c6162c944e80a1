// The life of one request as a lane: queue, pieces of its prompt, decoding, preemptions, recomputation. Left and Right
// step from part to part and set the cursor there, as a click does.
#pragma once

#include <QWidget>

#include "gui/viewmodel/selection_model.h"
#include "gui/worker/inspection.h"

class QPainter;

namespace kvplan::gui {

QColor life_colour(LifePart::Kind kind);

class Lane final : public QWidget {
  Q_OBJECT

 public:
  explicit Lane(QWidget* parent = nullptr);

  void show_life(const QString& title, std::vector<LifePart> life);
  void show_cursor(std::optional<std::int64_t> tick);
  [[nodiscard]] const std::vector<LifePart>& life() const { return life_; }
  /// The lane's content in words.
  [[nodiscard]] QString text() const;
  /// Where the parts are drawn, in a widget of this size.
  [[nodiscard]] QRect bar(const QSize& size) const;
  void draw(QPainter& painter, const QSize& size) const;
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  void cursor_asked(std::int64_t tick);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void translate();

  QString title_;
  std::vector<LifePart> life_;
  std::optional<std::int64_t> cursor_;
};

}  // namespace kvplan::gui
