#include "gui/view/message_bar.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QToolButton>

namespace kvplan::gui {

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), mark_(new QLabel(this)), text_(new QLabel(this)) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::AlternateBase);
  setAccessibleName(tr("Message"));
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  text_->setWordWrap(true);
  QFont bold = mark_->font();
  bold.setBold(true);
  mark_->setFont(bold);
  auto* copy = new QToolButton(this);
  copy->setText(tr("Copy"));
  copy->setAccessibleName(tr("Copy message"));
  auto* close = new QToolButton(this);
  close->setIcon(style()->standardIcon(QStyle::SP_TitleBarCloseButton));
  close->setToolTip(tr("Close this message"));
  close->setAccessibleName(tr("Close message"));
  for (QToolButton* button : {copy, close}) button->setAutoRaise(true);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(8, 4, 4, 4);
  layout->addWidget(mark_);
  layout->addWidget(text_, 1);
  layout->addWidget(copy);
  layout->addWidget(close);
  connect(copy, &QToolButton::clicked, this,
          [this] { QGuiApplication::clipboard()->setText(text_->text()); });
  connect(close, &QToolButton::clicked, this, &MessageBar::clear);
  hide();
}

void MessageBar::show_error(const QString& text) {
  show_text(tr("Error"), text);
}
void MessageBar::show_note(const QString& text) {
  show_text(tr("Note"), text);
}

void MessageBar::show_text(const QString& mark, const QString& text) {
  mark_->setText(mark);
  text_->setText(text);
  setAccessibleDescription(mark + QStringLiteral(": ") + text);
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
