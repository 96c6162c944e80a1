// Two to four runs in numbers: the memory of each by cause, at the cursor or on average; its figures; and the
// differences from the first run.
#pragma once

#include "gui/views/table_model.h"
#include "gui/views/workspace.h"

namespace kvplan::gui {

/// A row of the comparison.
struct ComparedRow {
  QString title;
  QString name;  ///< the name in files
  CellKind kind{CellKind::kNumber};
  std::vector<std::optional<double>> values;  ///< by slot
};

/// States and requests at the cursor, or averaged over each run if there is no cursor; then figures of the whole runs.
/// Slots without a result have no values.
std::vector<ComparedRow> compared_rows(const std::vector<Slot>& slots, std::optional<std::int64_t> cursor);
/// The same as a table: a column for each slot, and for each but the first one its difference from the first.
TableContent compared_table(const std::vector<Slot>& slots, std::optional<std::int64_t> cursor);

/// "A", "B", ...
QString slot_letter(std::size_t slot);
/// By slot: the settings that not all slots have in common, as text; "as opened" if there are none.
std::vector<QString> slot_names(const std::vector<Slot>& slots);

}  // namespace kvplan::gui
