// Which rows of a table are shown: conditions on columns, as the user types them, and an order by any column.
//
// A filter is conditions separated by spaces, all of which must hold: NAME>NUMBER, NAME<=NUMBER, NAME=TEXT, ... or a
// word that some text of the row contains. NAME is a column's name in files or its beginning.
#pragma once

#include <QSortFilterProxyModel>
#include <functional>

#include "gui/views/table_model.h"
#include "simulator/base/result.h"

namespace kvplan::gui {

struct FilterTerm {
  enum class Compare : std::uint8_t { kLess, kAtMost, kEqual, kUnequal, kAtLeast, kMore, kContains };
  int column{-1};  ///< -1: any column with text
  Compare compare{Compare::kContains};
  QString text;
  double number{0};
};

/// Errors: an unknown column; text where a number is expected.
Result<std::vector<FilterTerm>> parse_filter(const QString& text, const std::vector<TableColumn>& columns);
bool accepts(const std::vector<FilterTerm>& terms, const TableContent& content, int row);

class FilteredTable final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit FilteredTable(TableModel& source, QObject* parent = nullptr);
  void set_terms(std::vector<FilterTerm> terms);
  /// Sets a further condition, by row of the source; empty: none.
  void set_condition(std::function<bool(int row)> condition);

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  TableModel& source_;
  std::vector<FilterTerm> terms_;
  std::function<bool(int row)> condition_;
};

}  // namespace kvplan::gui
