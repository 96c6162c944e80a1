#include "gui/view/headline_panel.h"

#include <QGridLayout>
#include <QLabel>

#include "gui/view/slider_panel.h"

namespace kvplan::gui {
namespace {
constexpr int kRows = 4;  // then the next pair of columns begins
}

HeadlinePanel::HeadlinePanel(QWidget* parent) : QWidget(parent), layout_(new QGridLayout(this)) {
  layout_->setHorizontalSpacing(10);
  for (int row = 0; row < kRows; ++row) layout_->setRowMinimumHeight(row, row_height(*this));
  layout_->setRowStretch(kRows, 1);
}

void HeadlinePanel::show_run(const plan::RunResult& run) {
  const std::vector<HeadlineRow> rows = headline(run);
  while (cells_.size() < rows.size()) {
    const int i = static_cast<int>(cells_.size());
    auto* name = new QLabel(this);
    auto* value = new QLabel(this);
    name->setEnabled(true);
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    QFont bold = value->font();
    bold.setBold(true);
    value->setFont(bold);
    layout_->addWidget(name, i % kRows, i / kRows * 3);
    layout_->addWidget(value, i % kRows, i / kRows * 3 + 1);
    layout_->setColumnMinimumWidth(i / kRows * 3 + 2, 12);
    cells_.emplace_back(name, value);
  }
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
