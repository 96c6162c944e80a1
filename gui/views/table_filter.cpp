#include "gui/views/table_filter.h"

#include <QRegularExpression>
#include <array>

#include "gui/viewmodel/formatting.h"

namespace kvplan::gui {
namespace {

using Compare = FilterTerm::Compare;

constexpr std::array<std::pair<const char*, Compare>, 6> kSigns{{{"<=", Compare::kAtMost},
                                                                 {">=", Compare::kAtLeast},
                                                                 {"!=", Compare::kUnequal},
                                                                 {"<", Compare::kLess},
                                                                 {">", Compare::kMore},
                                                                 {"=", Compare::kEqual}}};

int column_named(const QString& name, const std::vector<TableColumn>& columns) {
  int found = -1;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return static_cast<int>(i);
    if (found < 0 && !name.isEmpty() && columns[i].name.startsWith(name)) found = static_cast<int>(i);
  }
  return found;
}

bool compares(Compare compare, double left, double right) {
  switch (compare) {
    case Compare::kLess:
      return left < right;
    case Compare::kAtMost:
      return left <= right;
    case Compare::kEqual:
      return left == right;
    case Compare::kUnequal:
      return left != right;
    case Compare::kAtLeast:
      return left >= right;
    case Compare::kMore:
      return left > right;
    case Compare::kContains:
      break;
  }
  return false;
}

bool holds(const FilterTerm& term, const TableContent& content, int row) {
  if (term.column < 0) {
    for (std::size_t column = 0; column < content.columns.size(); ++column) {
      const TableValue value = content.value(row, static_cast<int>(column));
      const auto* text = std::get_if<QString>(&value);
      if (text != nullptr && text->contains(term.text, Qt::CaseInsensitive)) return true;
    }
    return false;
  }
  const TableValue value = content.value(row, term.column);
  if (const auto* text = std::get_if<QString>(&value))
    return (text->compare(term.text, Qt::CaseInsensitive) == 0) == (term.compare == Compare::kEqual);
  if (std::holds_alternative<std::monostate>(value)) return false;
  const auto* whole = std::get_if<std::int64_t>(&value);
  return compares(term.compare, whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value),
                  term.number);
}

}  // namespace

Result<std::vector<FilterTerm>> parse_filter(const QString& text, const std::vector<TableColumn>& columns) {
  static const QRegularExpression kTight(QStringLiteral("\\s*(<=|>=|!=|<|>|=)\\s*"));
  static const QRegularExpression kSpace(QStringLiteral("\\s+"));
  QString tight = text.trimmed();
  tight.replace(kTight, QStringLiteral("\\1"));
  std::vector<FilterTerm> terms;
  for (const QString& word : tight.split(kSpace, Qt::SkipEmptyParts)) {
    FilterTerm term;
    term.text = word;
    for (const auto& [sign, compare] : kSigns) {
      const qsizetype at = word.indexOf(QLatin1String(sign));
      if (at < 0) continue;
      const QString name = word.left(at);
      term.column = column_named(name, columns);
      if (term.column < 0) {
        QStringList names;
        for (const TableColumn& column : columns) names << column.name;
        return bad_input("no column is called \"" + to_utf8(name) + "\"; there are " +
                         to_utf8(names.join(QStringLiteral(", "))));
      }
      term.compare = compare;
      term.text = word.mid(at + static_cast<qsizetype>(QLatin1String(sign).size()));
      bool number = false;
      term.number = term.text.toDouble(&number);
      const bool text_column = columns[static_cast<std::size_t>(term.column)].kind == CellKind::kText &&
                               (compare == Compare::kEqual || compare == Compare::kUnequal);
      if (!number && !text_column)
        return bad_input("expected a number after \"" + to_utf8(name) + sign + "\"");
      break;
    }
    terms.push_back(term);
  }
  return terms;
}

bool accepts(const std::vector<FilterTerm>& terms, const TableContent& content, int row) {
  for (const FilterTerm& term : terms)
    if (!holds(term, content, row)) return false;
  return true;
}

FilteredTable::FilteredTable(TableModel& source, QObject* parent)
    : QSortFilterProxyModel(parent), source_(source) {
  setSourceModel(&source);
  setSortRole(TableModel::kValueRole);
}

void FilteredTable::set_terms(std::vector<FilterTerm> terms) {
  terms_ = std::move(terms);
  invalidateFilter();
}

void FilteredTable::set_condition(std::function<bool(int row)> condition) {
  condition_ = std::move(condition);
  invalidateFilter();
}

bool FilteredTable::filterAcceptsRow(int row, const QModelIndex& /*parent*/) const {
  if (condition_ && !condition_(row)) return false;
  return accepts(terms_, source_.content(), row);
}

/// Rows without a value come first; equal values keep the order of the source.
bool FilteredTable::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(TableModel::kValueRole), b = right.data(TableModel::kValueRole);
  if (!a.isValid() || !b.isValid()) return !a.isValid() && b.isValid();
  if (a.userType() == QMetaType::QString) return a.toString() < b.toString();
  return a.toDouble() < b.toDouble();
}

}  // namespace kvplan::gui
