// The timeline as a table: the bins of the chart, one row each. For screen readers.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "gui/viewmodel/timeline_data.h"

namespace kvplan::gui {

class TimelineTable final : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  void show_range(std::shared_ptr<const TimelineData> data, TimeRange range);

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const TimelineData> data_;
  std::size_t first_{0};
  int rows_{0};
};

}  // namespace kvplan::gui
