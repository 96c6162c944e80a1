// A file of predicted and measured quantities: what `kvplan-validate run --json`, `run --report` (.kvv) and
// `replay --json` write, and what `kvplan check --json` writes.
#pragma once

#include <QJsonObject>

#include "gui/views/table_model.h"
#include "gui/worker/document.h"

namespace kvplan::gui {

struct ValidatedQuantity {
  QString name, unit;
  std::optional<double> predicted, measured;
  /// measured / predicted; absent if one is absent or not above 0
  [[nodiscard]] std::optional<double> ratio() const;
};

struct ValidationDocument final : Document {
  std::vector<ValidatedQuantity> quantities;
  QString verdict;  ///< or the cause that `check` reports
  QString device;
};

/// A DocumentReader for such files.
std::optional<Result<DocumentPtr>> read_validation(std::string_view head, const std::string& path);

TableContent validation_table(const std::shared_ptr<const ValidationDocument>& document);

}  // namespace kvplan::gui
