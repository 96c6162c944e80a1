// The database of a sweep in memory: every case with its varied values and figures, and the Pareto front of two of its
// columns. The front is that of `kvplan report --pareto`, the table that of `kvplan report --csv`.
#pragma once

#include <vector>

#include "gui/views/table_model.h"
#include "gui/worker/document.h"
#include "simulator/sweep/columns.h"
#include "simulator/sweep/database.h"

namespace kvplan::gui {

struct SweepDocument final : Document {
  sweep::Head head;
  std::vector<std::string> columns;  ///< names of all columns of `rows`
  std::vector<sweep::Database::Row> rows;
  /// Columns with numbers: varied paths, then figures.
  std::vector<sweep::NumberColumn> numbers;
  std::int64_t saturated_column{-1};

  /// A number of a case; absent if it has none, if the case failed, and for latencies of saturated cases.
  [[nodiscard]] std::optional<double> number(std::size_t row, const std::string& column) const;
  [[nodiscard]] std::ptrdiff_t place_of(const std::string& column) const;
  /// A scenario that runs the case.
  [[nodiscard]] std::vector<runs::Setting> settings_of(std::size_t row) const;
  /// "case 12: memory.pool_blocks=3000"
  [[nodiscard]] QString name_of(std::size_t row) const;
};
using SweepPtr = std::shared_ptr<const SweepDocument>;

/// A DocumentReader for SQLite databases.
std::optional<Result<DocumentPtr>> read_sweep(std::string_view head, const std::string& path);

TableContent sweep_table(const SweepPtr& document);

/// The rows among `rows` that no other row dominates, in the order of sweep::undominated. For a column without a
/// preferred direction, lower values count as better.
std::vector<std::size_t> front_of(const SweepDocument& document, const std::vector<std::size_t>& rows,
                                  const sweep::NumberColumn& x, const sweep::NumberColumn& y);
runs::Better better_of(const sweep::NumberColumn& column);

/// The initial columns of the axes: throughput or a varied path, and a latency.
std::pair<std::size_t, std::size_t> first_axes(const SweepDocument& document);

}  // namespace kvplan::gui
