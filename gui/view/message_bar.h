// One message above the picture: an error, or a remark. It never blocks a click on other widgets.
#pragma once

#include <QFrame>

class QLabel;
class QToolButton;

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

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void show_text(bool is_error, const QString& text);
  void translate();

  QLabel* mark_;
  QLabel* text_;
  QToolButton* copy_;
  QToolButton* close_;
  bool is_error_{false};
};

}  // namespace kvplan::gui
