// The selection that all views of a window share, with a signal for its changes.
#pragma once

#include <QObject>

#include "simulator/study/selection.h"

namespace kvplan::gui {

using runs::TimeRange;

class SelectionModel final : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  [[nodiscard]] const runs::Selection& get() const { return selection_; }
  void set(const runs::Selection& selection);
  void set_visible(TimeRange range);
  void set_cursor(std::optional<std::int64_t> tick);
  void set_marked(std::optional<TimeRange> range);
  void set_request(std::optional<std::int64_t> request);
  void set_block(std::optional<std::int64_t> block);

 Q_SIGNALS:
  /// Emitted when the selection differs from `before`.
  void changed(const kvplan::runs::Selection& before);

 private:
  runs::Selection selection_;
};

}  // namespace kvplan::gui
