// A grid of names and values of a run: its numbers, what fits, what it costs. Greyed while newer values are computed.
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
  enum class Shape : std::uint8_t {
    kGrid,  ///< as high as the sliders; more rows go into another pair of columns
    kList,  ///< one pair of columns, with long texts wrapped
  };
  explicit HeadlinePanel(Shape shape, QWidget* parent = nullptr);
  void show_rows(const std::vector<HeadlineRow>& rows);
  /// The rows as text: name, tab, value; one line for each number.
  [[nodiscard]] QString text() const;

 private:
  void add_cell();

  Shape shape_;
  QGridLayout* layout_;
  std::vector<std::pair<QLabel*, QLabel*>> cells_;
};

}  // namespace kvplan::gui
