// The answer of the run in words, above its picture. A click on an underlined word shows its definition.
#pragma once

#include <QLabel>
#include <vector>

namespace kvplan::gui {

class AnswerBar final : public QLabel {
  Q_OBJECT

 public:
  explicit AnswerBar(QWidget* parent = nullptr);
  void show_sentences(const std::vector<QString>& sentences);
  /// The sentences without markup.
  [[nodiscard]] QString plain() const { return plain_; }
  /// The definition of a word; empty if there is none.
  [[nodiscard]] static QString definition(const QString& word);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void mark_words();

  QString plain_;
};

}  // namespace kvplan::gui
