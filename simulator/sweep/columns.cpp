#include "simulator/sweep/columns.h"

#include <algorithm>

#include "simulator/base/number_input.h"
#include "simulator/report/number_text.h"
#include "simulator/sweep/saturated.h"

namespace kvplan::sweep {
namespace {

constexpr std::size_t kMostNames = 12;  // names listed in an error

runs::Better better_of(std::string_view name) {
  for (const runs::Better better : {runs::Better::kLower, runs::Better::kHigher})
    if (runs::better_name(better) == name) return better;
  return runs::Better::kNeither;
}

/// Figures with names that contain the last part of the text; if there are none, the varied paths.
std::string names_like(const Head& head, std::string_view text) {
  std::vector<std::string> names;
  const std::string_view part =
      text.substr(text.rfind('.') == std::string_view::npos ? 0 : text.rfind('.') + 1);
  for (const FigureColumn& figure : head.figures)
    if (!part.empty() && figure.name.find(part) != std::string::npos && names.size() < kMostNames)
      names.push_back(figure.name);
  if (names.empty())
    for (const runs::Vary& vary : head.varies) names.push_back(vary.path);
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

bool are_numbers(const runs::Vary& vary) {
  return std::all_of(vary.values.begin(), vary.values.end(),
                     [](const std::string& value) { return parse_decimal(value).has_value(); });
}

}  // namespace

Result<NumberColumn> parse_column(const Head& head, std::string_view text) {
  NumberColumn column;
  const std::size_t colon = text.rfind(':');
  const std::string_view name = text.substr(0, colon);
  runs::Better wanted = runs::Better::kNeither;
  if (colon != std::string_view::npos) {
    wanted = better_of(text.substr(colon + 1));
    if (wanted == runs::Better::kNeither) return not_expected("NAME, NAME:lower or NAME:higher", text);
  }
  column.name = name;
  const auto figure = std::find_if(head.figures.begin(), head.figures.end(),
                                   [&](const FigureColumn& known) { return known.name == name; });
  const auto vary = std::find_if(head.varies.begin(), head.varies.end(),
                                 [&](const runs::Vary& known) { return known.path == name; });
  if (figure != head.figures.end()) {
    column.unit = figure->unit;
    column.better = better_of(figure->better);
  } else if (vary == head.varies.end()) {
    return not_expected("a figure or a varied path (" + names_like(head, name) + ")", name);
  } else if (!are_numbers(*vary)) {
    return bad_input("expected a path with numbers as values; those of " + vary->path + " are not numbers");
  }
  if (wanted != runs::Better::kNeither) column.better = wanted;
  return column;
}

Result<std::vector<NumberColumn>> parse_columns(const Head& head, std::string_view text) {
  std::vector<NumberColumn> columns;
  while (true) {
    const std::size_t comma = text.find(',');
    KVPLAN_TRY(NumberColumn column, parse_column(head, text.substr(0, comma)));
    for (const NumberColumn& other : columns)
      if (other.name == column.name)
        return bad_input("expected each figure once, found " + column.name + " again");
    columns.push_back(std::move(column));
    if (comma == std::string_view::npos) return columns;
    text = text.substr(comma + 1);
  }
}

Result<runs::Vary> find_path(const Head& head, std::string_view name) {
  std::string known;
  for (const runs::Vary& vary : head.varies) {
    if (vary.path == name) return vary;
    known += (known.empty() ? "" : ", ") + vary.path;
  }
  return not_expected("a varied path (" + known + ")", name);
}

Status each_point(Database& database, const std::vector<NumberColumn>& columns,
                  const std::vector<std::string>& paths, const std::function<void(Point&)>& told) {
  std::string names, there;
  for (const NumberColumn& column : columns) {
    const std::string steady = steady_column(database.head(), column.name);
    names += ", " + steady;
    there += " AND " + steady + " IS NOT NULL";
  }
  for (const std::string& path : paths) names += ", " + quoted_name(path);
  const auto tell = [&](const Database::Row& row) {
    Point point;
    point.number = std::get<std::int64_t>(row[0]);
    for (std::size_t i = 1; i <= columns.size(); ++i) {
      const auto* const whole = std::get_if<std::int64_t>(&row[i]);
      const auto* const real = std::get_if<double>(&row[i]);
      if (whole == nullptr && real == nullptr) return;
      point.values.push_back(whole != nullptr ? static_cast<double>(*whole) : *real);
    }
    for (std::size_t i = 1 + columns.size(); i < row.size(); ++i) point.varied.push_back(cell_text(row[i]));
    told(point);
  };
  // Cases that failed are included for this figure only: it says that the engine would not start.
  const bool asks_for_start = std::any_of(columns.begin(), columns.end(), [](const NumberColumn& column) {
    return column.name == "fits.starts";
  });
  const std::string ran = asks_for_start ? "1" : "error IS NULL";
  return database.query("SELECT \"case\"" + names + " FROM cases WHERE " + ran + there + " ORDER BY \"case\"",
                        tell);
}

std::string value_text(std::string_view unit, double value) {
  if (unit == unit_name(Unit::kSeconds)) return report::seconds_text(value);
  if (unit == unit_name(Unit::kRatio)) return report::percent(value);
  return report::rounded(value);
}

}  // namespace kvplan::sweep
