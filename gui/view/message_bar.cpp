#include "gui/view/message_bar.h"

#include <QClipboard>
#include <QEvent>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QToolButton>

namespace kvplan::gui {

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent),
      mark_(new QLabel(this)),
      text_(new QLabel(this)),
      copy_(new QToolButton(this)),
      close_(new QToolButton(this)) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::AlternateBase);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  text_->setWordWrap(true);
  QFont bold = mark_->font();
  bold.setBold(true);
  mark_->setFont(bold);
  copy_->setObjectName(QStringLiteral("copy-message"));
  close_->setObjectName(QStringLiteral("close-message"));
  close_->setIcon(style()->standardIcon(QStyle::SP_TitleBarCloseButton));
  for (QToolButton* button : {copy_, close_}) {
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::StrongFocus);
  }
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 4, 4, 4);
  layout->addWidget(mark_);
  layout->addWidget(text_, 1);
  layout->addWidget(copy_);
  layout->addWidget(close_);
  connect(copy_, &QToolButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(text_->text()); });
  connect(close_, &QToolButton::clicked, this, &MessageBar::clear);
  translate();
  hide();
}

void MessageBar::translate() {
  setAccessibleName(tr("Message"));
  copy_->setText(tr("Copy"));
  copy_->setAccessibleName(tr("Copy message"));
  close_->setToolTip(tr("Close this message"));
  close_->setAccessibleName(tr("Close message"));
  mark_->setText(is_error_ ? tr("Error") : tr("Note"));
}

void MessageBar::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) translate();
  QFrame::changeEvent(event);
}

void MessageBar::show_error(const QString& text) {
  show_text(true, text);
}
void MessageBar::show_note(const QString& text) {
  show_text(false, text);
}

void MessageBar::show_text(bool is_error, const QString& text) {
  is_error_ = is_error;
  translate();
  text_->setText(text);
  setAccessibleDescription(mark_->text() + QStringLiteral(": ") + text);
  show();
}

void MessageBar::clear() {
  text_->clear();
  hide();
}

QString MessageBar::text() const {
  return isHidden() ? QString() : text_->text();
}

}  // namespace kvplan::gui
