#include "gui/views/table_pane.h"

#include <QHeaderView>
#include <algorithm>

namespace kvplan::gui {
namespace {
constexpr int kWidestColumn = 420;  // logical pixels
}

QTableView* make_table(QAbstractItemModel& model, const QString& name, QWidget* parent) {
  auto* table = new QTableView(parent);
  table->setObjectName(name);
  table->setModel(&model);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setTabKeyNavigation(false);
  table->setWordWrap(false);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 6);
  return table;
}

void fit_columns(QTableView& table) {
  table.resizeColumnsToContents();
  for (int column = 0; column < table.model()->columnCount(); ++column)
    table.setColumnWidth(column, std::min(table.columnWidth(column), kWidestColumn));
}

}  // namespace kvplan::gui
