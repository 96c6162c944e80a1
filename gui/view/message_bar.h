// One message above the picture: what went wrong, or what was noticed. Never in the way of a click elsewhere.
#pragma once

#include <QFrame>

class QLabel;

namespace kvplan::gui {

class MessageBar final : public QFrame {
  Q_OBJECT

 public:
  explicit MessageBar(QWidget* parent = nullptr);
  void show_error(const QString& text);
  void show_note(const QString& text);
  void clear();
  /// Empty when nothing is shown.
  [[nodiscard]] QString text() const;

 private:
  void show_text(const QString& mark, const QString& text);
  QLabel* mark_;
  QLabel* text_;
};

}  // namespace kvplan::gui
