// A table of a view, set up as all of them are: rows are chosen whole, Tab leaves it.
#pragma once

#include <QTableView>

namespace kvplan::gui {

/// `name`: of the object. The columns are as wide as their content once `fit_columns` was called.
QTableView* make_table(QAbstractItemModel& model, const QString& name, QWidget* parent);
void fit_columns(QTableView& table);

}  // namespace kvplan::gui
