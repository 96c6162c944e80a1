#include "gui/view/answer_bar.h"

#include <QCursor>
#include <QEvent>
#include <QRegularExpression>
#include <QToolTip>

#include "gui/viewmodel/answer_words.h"

namespace kvplan::gui {

AnswerBar::AnswerBar(QWidget* parent) : QLabel(parent) {
  setObjectName(QStringLiteral("answer"));
  setWordWrap(true);
  setTextFormat(Qt::RichText);
  setContentsMargins(8, 2, 8, 2);
  setTextInteractionFlags(Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard |
                          Qt::TextSelectableByMouse);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Answer"));
  hide();
  connect(this, &QLabel::linkActivated, this,
          [this](const QString& word) { QToolTip::showText(QCursor::pos(), definition(word), this); });
}

void AnswerBar::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) setAccessibleName(tr("Answer"));
  if (event->type() == QEvent::PaletteChange) mark_words();  // links have a colour of their own
  QLabel::changeEvent(event);
}

QString AnswerBar::definition(const QString& word) {
  for (const DefinedWord& defined : defined_words())
    if (defined.word == word) return defined.definition;
  return {};
}

void AnswerBar::show_sentences(const std::vector<QString>& sentences) {
  plain_.clear();
  for (const QString& sentence : sentences)
    plain_ += (plain_.isEmpty() ? QString() : QStringLiteral(" ")) + sentence;
  mark_words();
  setVisible(!plain_.isEmpty());
  setAccessibleDescription(plain_);
}

void AnswerBar::mark_words() {
  QString rich = plain_.toHtmlEscaped();
  // One pass, so that no word is marked inside another one.
  QStringList words;
  for (const DefinedWord& defined : defined_words()) words << QRegularExpression::escape(defined.word);
  const QRegularExpression known(QStringLiteral("\\b(%1)\\b").arg(words.join(QLatin1Char('|'))));
  rich.replace(known, QStringLiteral("<a href=\"\\1\" style=\"color:%1\">\\1</a>")
                          .arg(palette().color(QPalette::WindowText).name()));
  if (text() != rich) setText(rich);
}

}  // namespace kvplan::gui
