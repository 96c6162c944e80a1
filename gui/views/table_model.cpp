#include "gui/views/table_model.h"

#include "gui/viewmodel/formatting.h"
#include "simulator/base/json_writer.h"

namespace kvplan::gui {

void TableModel::show(TableContent content) {
  beginResetModel();
  content_ = std::move(content);
  endResetModel();
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : content_.rows;
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(content_.columns.size());
}

QString shown_text(const TableValue& value, CellKind kind) {
  if (const auto* text = std::get_if<QString>(&value)) return *text;
  if (std::holds_alternative<std::monostate>(value)) return QStringLiteral("–");
  const auto* whole = std::get_if<std::int64_t>(&value);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  switch (kind) {
    case CellKind::kBytes:
      return format_bytes(number);
    case CellKind::kSeconds:
      return format_seconds(number);
    case CellKind::kShare:
      return format_percent(number);
    case CellKind::kText:
    case CellKind::kCount:
    case CellKind::kNumber:
      break;
  }
  return format_number(number);
}

QString plain_text(const TableValue& value) {
  if (const auto* text = std::get_if<QString>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return QString::number(*whole);
  if (const auto* number = std::get_if<double>(&value)) return to_qstring(shortest(*number));
  return {};
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= content_.rows) return {};
  const TableColumn& column = content_.columns[static_cast<std::size_t>(index.column())];
  if (role == Qt::TextAlignmentRole)
    return QVariant((column.kind == CellKind::kText ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != kValueRole && role != kPlainRole) return {};
  const TableValue value = content_.value(index.row(), index.column());
  if (role == Qt::DisplayRole) return shown_text(value, column.kind);
  if (role == kPlainRole) return plain_text(value);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return QVariant(static_cast<qlonglong>(*whole));
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* text = std::get_if<QString>(&value)) return *text;
  return {};
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return QAbstractTableModel::headerData(section, orientation, role);
  const TableColumn& column = content_.columns[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  if (role == kPlainRole) return column.name;
  if (role == Qt::ToolTipRole && !column.explanation.isEmpty()) return column.explanation;
  return {};
}

namespace {

QString quoted(const QString& text, QChar separator) {
  if (!text.contains(separator) && !text.contains(QLatin1Char('"')) && !text.contains(QLatin1Char('\n')))
    return text;
  QString inside = text;
  inside.replace(QLatin1Char('"'), QStringLiteral("\"\""));
  return QLatin1Char('"') + inside + QLatin1Char('"');
}

}  // namespace

QString csv_of(const QAbstractItemModel& model, QChar separator) {
  QString out;
  const int columns = model.columnCount();
  const auto line = [&](const auto& cell) {
    for (int column = 0; column < columns; ++column) {
      if (column > 0) out += separator;
      out += quoted(cell(column), separator);
    }
    out += QLatin1Char('\n');
  };
  line([&](int column) {
    return model.headerData(column, Qt::Horizontal, TableModel::kPlainRole).toString();
  });
  for (int row = 0; row < model.rowCount(); ++row)
    line([&](int column) { return model.index(row, column).data(TableModel::kPlainRole).toString(); });
  return out;
}

}  // namespace kvplan::gui
