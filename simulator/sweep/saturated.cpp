#include "simulator/sweep/saturated.h"

#include <algorithm>
#include <string_view>
#include <variant>

#include "simulator/sweep/sql.h"

namespace kvplan::sweep {
namespace {

constexpr std::string_view kSaturated = "saturation.saturated";

bool is_known(const Head& head) {
  return std::any_of(head.figures.begin(), head.figures.end(),
                     [](const FigureColumn& figure) { return figure.name == kSaturated; });
}

}  // namespace

Result<std::int64_t> saturated_cases(Database& database) {
  std::int64_t count = 0;
  if (!is_known(database.head())) return count;
  KVPLAN_TRY_DO(database.query("SELECT count(*) FROM cases WHERE " + quoted_name(kSaturated) + " = 1",
                               [&](const Database::Row& row) {
                                 const auto* const number = std::get_if<std::int64_t>(&row.front());
                                 count = number != nullptr ? *number : 0;
                               }));
  return count;
}

std::string steady_column(const Head& head, const std::string& name) {
  std::string column = quoted_name(name);
  if (!is_known(head) || !name.starts_with("latency_s.")) return column;
  return "CASE WHEN " + quoted_name(kSaturated) + " = 1 THEN NULL ELSE " + column + " END";
}

}  // namespace kvplan::sweep
