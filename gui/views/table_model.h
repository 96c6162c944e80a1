// A table that a view shows, or that replaces its picture: values with units, computed when they are needed. The same
// model is shown, sorted, read by screen readers and written as CSV.
#pragma once

#include <QAbstractTableModel>
#include <functional>
#include <variant>
#include <vector>

namespace kvplan::gui {

/// How the values of a column are shown.
enum class CellKind : std::uint8_t { kText, kCount, kNumber, kBytes, kSeconds, kShare };

struct TableColumn {
  QString title;  ///< on the screen
  QString name;   ///< in files, with its unit
  CellKind kind{CellKind::kText};
  QString explanation;  ///< tool tip; may be empty
};

using TableValue = std::variant<std::monostate, std::int64_t, double, QString>;

struct TableContent {
  std::vector<TableColumn> columns;
  int rows{0};
  std::function<TableValue(int row, int column)> value;  ///< empty if there are no rows
};

class TableModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  /// Values without text formatting: for sorting, and as text for files.
  enum Role : int { kValueRole = Qt::UserRole, kPlainRole };

  using QAbstractTableModel::QAbstractTableModel;

  void show(TableContent content);
  [[nodiscard]] const TableContent& content() const { return content_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  TableContent content_;
};

/// A value as the screen shows it.
QString shown_text(const TableValue& value, CellKind kind);
/// A value in the form for files: all digits, no unit, no separators.
QString plain_text(const TableValue& value);
/// The table with a header line of TableColumn::name; rows in the model's order.
QString csv_of(const QAbstractItemModel& model, QChar separator = QLatin1Char(','));

}  // namespace kvplan::gui
