#include "gui/viewmodel/selection_model.h"

namespace kvplan::gui {

void SelectionModel::set(const runs::Selection& selection) {
  if (selection == selection_) return;
  const runs::Selection before = selection_;
  selection_ = selection;
  Q_EMIT changed(before);
}

void SelectionModel::set_visible(TimeRange range) {
  runs::Selection next = selection_;
  next.visible = range;
  set(next);
}

void SelectionModel::set_cursor(std::optional<std::int64_t> tick) {
  runs::Selection next = selection_;
  next.cursor = tick;
  set(next);
}

void SelectionModel::set_marked(std::optional<TimeRange> range) {
  runs::Selection next = selection_;
  next.marked = range;
  set(next);
}

void SelectionModel::set_request(std::optional<std::int64_t> request) {
  runs::Selection next = selection_;
  next.request = request;
  set(next);
}

void SelectionModel::set_block(std::optional<std::int64_t> block) {
  runs::Selection next = selection_;
  next.block = block;
  set(next);
}

}  // namespace kvplan::gui
