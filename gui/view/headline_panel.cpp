#include "gui/view/headline_panel.h"

#include <QGridLayout>
#include <QLabel>

#include "gui/view/slider_panel.h"

namespace kvplan::gui {
namespace {
constexpr int kRows = 4;  // then the next pair of columns begins
}

HeadlinePanel::HeadlinePanel(Shape shape, QWidget* parent)
    : QWidget(parent), shape_(shape), layout_(new QGridLayout(this)) {
  layout_->setHorizontalSpacing(10);
  if (shape_ == Shape::kList) {
    layout_->setContentsMargins(6, 4, 6, 4);
    layout_->setVerticalSpacing(2);
    layout_->setColumnStretch(1, 1);
    return;
  }
  for (int row = 0; row < kRows; ++row) layout_->setRowMinimumHeight(row, row_height(*this));
  layout_->setRowStretch(kRows, 1);
}

void HeadlinePanel::add_cell() {
  const int i = static_cast<int>(cells_.size());
  auto* name = new QLabel(this);
  auto* value = new QLabel(this);
  name->setEnabled(true);
  value->setTextInteractionFlags(Qt::TextSelectableByMouse);
  value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  QFont bold = value->font();
  bold.setBold(true);
  value->setFont(bold);
  cells_.emplace_back(name, value);
  if (shape_ == Shape::kGrid) {
    layout_->addWidget(name, i % kRows, i / kRows * 3);
    layout_->addWidget(value, i % kRows, i / kRows * 3 + 1);
    layout_->setColumnMinimumWidth(i / kRows * 3 + 2, 12);
    return;
  }
  for (QLabel* label : {name, value}) label->setWordWrap(true);
  name->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  value->setAlignment(Qt::AlignRight | Qt::AlignTop);
  layout_->addWidget(name, i, 0);
  layout_->addWidget(value, i, 1);
  layout_->setRowStretch(i, 0);
  layout_->setRowStretch(i + 1, 1);
}

void HeadlinePanel::show_rows(const std::vector<HeadlineRow>& rows) {
  while (cells_.size() < rows.size()) add_cell();
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto& [name, value] = cells_[i];
    const bool used = i < rows.size();
    name->setVisible(used);
    value->setVisible(used);
    if (!used) continue;
    name->setText(rows[i].name);
    value->setText(rows[i].value);
    name->setToolTip(rows[i].explanation);
    value->setToolTip(rows[i].explanation);
  }
}

QString HeadlinePanel::text() const {
  QString out;
  for (const auto& [name, value] : cells_)
    if (!name->isHidden()) out += name->text() + QLatin1Char('\t') + value->text() + QLatin1Char('\n');
  return out;
}

}  // namespace kvplan::gui
