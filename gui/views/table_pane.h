// The table of a view. All views have the same kind: rows are selected as a whole, and Tab leaves the table.
#pragma once

#include <QTableView>

namespace kvplan::gui {

/// `name`: the object's name. Columns get the width of their content when `fit_columns` is called.
QTableView* make_table(QAbstractItemModel& model, const QString& name, QWidget* parent);
void fit_columns(QTableView& table);

}  // namespace kvplan::gui
