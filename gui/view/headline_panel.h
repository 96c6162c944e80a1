// The numbers of a run, in a grid of names and values. Greyed while newer ones are on their way.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/viewmodel/headline.h"

class QGridLayout;
class QLabel;

namespace kvplan::gui {

class HeadlinePanel final : public QWidget {
  Q_OBJECT

 public:
  explicit HeadlinePanel(QWidget* parent = nullptr);
  void show_run(const plan::RunResult& run);
  /// Name, tab, value; one line per number.
  [[nodiscard]] QString text() const;

 private:
  QGridLayout* layout_;
  std::vector<std::pair<QLabel*, QLabel*>> cells_;
};

}  // namespace kvplan::gui
