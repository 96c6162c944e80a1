#include "gui/views/timeline/timeline_table.h"

#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/headline.h"

namespace kvplan::gui {
namespace {

constexpr int kTimes = 2;  // columns before the states

std::size_t row_of(int column) {
  return static_cast<std::size_t>(column - kTimes);
}

}  // namespace

void TimelineTable::show_range(std::shared_ptr<const TimelineData> data, TimeRange range) {
  beginResetModel();
  data_ = std::move(data);
  first_ = 0;
  rows_ = 0;
  if (data_ && !data_->empty()) {
    first_ = data_->bin_at(range.begin);
    rows_ = static_cast<int>(data_->bin_at(range.end - 1) - first_) + 1;
  }
  endResetModel();
}

int TimelineTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : rows_;
}
int TimelineTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kTimes + static_cast<int>(kTimelineRows);
}

QVariant TimelineTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  const TimelineColumn& bin = data_->bins()[first_ + static_cast<std::size_t>(index.row())];
  if (index.column() < kTimes) {
    const double time = seconds(Ticks{index.column() == 0 ? bin.begin : bin.end});
    return role == Qt::DisplayRole ? QVariant(QString::number(time, 'f', 6)) : QVariant();
  }
  const std::size_t row = row_of(index.column());
  const auto text = [&](double value) {
    return row < observe::kStates ? format_bytes(value) : format_number(value);
  };
  if (role == Qt::DisplayRole) return text(bin.mean(row));
  if (role == Qt::ToolTipRole)
    return tr("from %1 to %2")
        .arg(text(static_cast<double>(bin.least[row])), text(static_cast<double>(bin.greatest[row])));
  return {};
}

QVariant TimelineTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return QAbstractTableModel::headerData(section, orientation, role);
  if (section < kTimes) {
    if (role == Qt::DisplayRole) return section == 0 ? tr("begin (s)") : tr("end (s)");
    return {};
  }
  const std::size_t row = row_of(section);
  if (role == Qt::DisplayRole)
    return row < observe::kStates ? state_name(static_cast<observe::State>(row))
           : row == kRunningRow   ? tr("running")
                                  : tr("waiting");
  if (role == Qt::ToolTipRole && row < observe::kStates)
    return state_meaning(static_cast<observe::State>(row));
  return {};
}

}  // namespace kvplan::gui
