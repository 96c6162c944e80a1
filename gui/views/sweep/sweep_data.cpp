#include "gui/views/sweep/sweep_data.h"

#include <QCoreApplication>
#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "simulator/sweep/pareto.h"

namespace kvplan::gui {
namespace {

using sweep::Cell;
using sweep::NumberColumn;

constexpr std::string_view kSqlite = "SQLite format 3";
constexpr std::string_view kSaturated = "saturation.saturated";

/// The context of these texts for translators.
struct Sweep {
  Q_DECLARE_TR_FUNCTIONS(Sweep)
};

CellKind kind_of(const std::string& unit) {
  if (unit == "bytes") return CellKind::kBytes;
  if (unit == "seconds" || unit == "s") return CellKind::kSeconds;
  return CellKind::kNumber;
}

Result<DocumentPtr> load(const std::string& path) {
  KVPLAN_TRY(sweep::Database database, sweep::Database::open(path));
  auto document = std::make_shared<SweepDocument>();
  document->path = path;
  document->view = "sweep";
  document->head = database.head();
  document->columns = database.columns();
  KVPLAN_TRY_DO(database.each([&](const sweep::Database::Row& row) -> Status {
    document->rows.push_back(row);
    return Done{};
  }));
  for (const runs::Vary& vary : document->head.varies)
    if (auto column = sweep::parse_column(document->head, vary.path); column.ok())
      document->numbers.push_back(std::move(column).value());
  for (const sweep::FigureColumn& figure : document->head.figures)
    if (auto column = sweep::parse_column(document->head, figure.name); column.ok())
      document->numbers.push_back(std::move(column).value());
  document->saturated_column = document->place_of(std::string(kSaturated));
  return DocumentPtr(std::move(document));
}

}  // namespace

std::ptrdiff_t SweepDocument::place_of(const std::string& column) const {
  const auto at = std::find(columns.begin(), columns.end(), column);
  return at == columns.end() ? -1 : at - columns.begin();
}

std::optional<double> SweepDocument::number(std::size_t row, const std::string& column) const {
  const std::ptrdiff_t place = place_of(column);
  if (place < 0 || !std::holds_alternative<std::monostate>(rows[row][2])) return std::nullopt;  // its error
  const auto value = [&](std::ptrdiff_t at) -> std::optional<double> {
    const Cell& cell = rows[row][static_cast<std::size_t>(at)];
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    return std::nullopt;
  };
  if (saturated_column >= 0 && column.starts_with("latency_s.") && value(saturated_column) == 1.0)
    return std::nullopt;
  return value(place);
}

std::vector<runs::Setting> SweepDocument::settings_of(std::size_t row) const {
  std::vector<runs::Setting> settings;
  for (const auto& [path_of, text] : head.settings) settings.push_back({path_of, text, {}, 0});
  for (const runs::Vary& vary : head.varies) {
    const std::ptrdiff_t place = place_of(vary.path);
    if (place >= 0)
      settings.push_back({vary.path, sweep::cell_text(rows[row][static_cast<std::size_t>(place)]), {}, 0});
  }
  return settings;
}

QString SweepDocument::name_of(std::size_t row) const {
  QStringList values;
  for (const runs::Vary& vary : head.varies) {
    const std::ptrdiff_t place = place_of(vary.path);
    if (place >= 0)
      values << to_qstring(vary.path) + QLatin1Char('=') +
                    to_qstring(sweep::cell_text(rows[row][static_cast<std::size_t>(place)]));
  }
  return Sweep::tr("case %1: %2")
      .arg(to_qstring(sweep::cell_text(rows[row][0])), values.join(QLatin1Char(' ')));
}

std::optional<Result<DocumentPtr>> read_sweep(std::string_view head, const std::string& path) {
  if (!head.starts_with(kSqlite)) return std::nullopt;
  return load(path);
}

TableContent sweep_table(const SweepPtr& document) {
  TableContent content;
  if (!document) {
    content.columns = {{Sweep::tr("Case"), QStringLiteral("case"), CellKind::kCount, {}}};
    return content;
  }
  for (const std::string& name : document->columns) {
    const auto number = std::find_if(document->numbers.begin(), document->numbers.end(),
                                     [&](const NumberColumn& column) { return column.name == name; });
    const bool text = number == document->numbers.end() && name != "case";
    content.columns.push_back({to_qstring(name), to_qstring(name),
                               text                                ? CellKind::kText
                               : number != document->numbers.end() ? kind_of(number->unit)
                                                                   : CellKind::kCount,
                               number != document->numbers.end() ? to_qstring(number->unit) : QString()});
  }
  content.rows = static_cast<int>(document->rows.size());
  content.value = [document](int row, int column) -> TableValue {
    const Cell& cell = document->rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
    if (const auto* real = std::get_if<double>(&cell)) return *real;
    if (const auto* words = std::get_if<std::string>(&cell)) return to_qstring(*words);
    return {};
  };
  return content;
}

runs::Better better_of(const NumberColumn& column) {
  return column.better == runs::Better::kNeither ? runs::Better::kLower : column.better;
}

std::vector<std::size_t> front_of(const SweepDocument& document, const std::vector<std::size_t>& rows,
                                  const NumberColumn& x, const NumberColumn& y) {
  std::vector<NumberColumn> columns{x, y};
  for (NumberColumn& column : columns) column.better = better_of(column);
  std::vector<sweep::Point> points;
  for (const std::size_t row : rows) {
    const auto of_x = document.number(row, x.name), of_y = document.number(row, y.name);
    if (of_x && of_y) points.push_back({static_cast<std::int64_t>(row), {*of_x, *of_y}, {}});
  }
  std::vector<std::size_t> front;
  for (const sweep::Point& point : sweep::undominated(std::move(points), columns))
    front.push_back(static_cast<std::size_t>(point.number));
  return front;
}

std::pair<std::size_t, std::size_t> first_axes(const SweepDocument& document) {
  const auto find = [&](std::initializer_list<std::string_view> names, std::size_t otherwise) {
    for (const std::string_view name : names)
      for (std::size_t i = 0; i < document.numbers.size(); ++i) {
        if (document.numbers[i].name != name) continue;
        for (std::size_t row = 0; row < document.rows.size(); ++row)
          if (document.number(row, document.numbers[i].name)) return i;
      }
    return otherwise;
  };
  std::size_t x = find({"cost.per_hour", "devices"}, document.numbers.size());
  if (x == document.numbers.size()) {
    const bool path = !document.numbers.empty() && !document.head.varies.empty() &&
                      document.numbers.front().name == document.head.varies.front().path;
    x = path ? 0 : find({"throughput.output_tokens_per_s"}, 0);
  }
  std::size_t y = find({"latency_s.ttft.p99", "latency_s.e2e.p99", "makespan_s"}, 0);
  return {x, y};
}

}  // namespace kvplan::gui
