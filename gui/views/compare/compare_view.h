// Two to four scenarios side by side: the edited one, A, and those kept with "Keep Scenario". It has charts with one
// cursor, a table of the differences, and the first moment at which each scenario's decisions differ from those of A.
#pragma once

#include "gui/views/compare/compare_data.h"
#include "gui/views/view.h"

class QHBoxLayout;
class QLabel;
class QPushButton;
class QTableView;

namespace kvplan::gui {

class CompareChart;

class CompareView final : public View {
  Q_OBJECT

 public:
  explicit CompareView(QWidget* parent = nullptr);

  [[nodiscard]] QAbstractItemModel* table() override { return model_; }
  [[nodiscard]] QString csv() override;
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] QString value_text() const override;
  [[nodiscard]] bool settled() const override;
  [[nodiscard]] bool empty() const override;

  /// In words, where the decisions of each kept scenario first differ from A's; empty while that is not known.
  [[nodiscard]] QString parting_text() const;

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;

 private:
  void translate();
  void show_partings();
  void go_to_parting();
  void make_slot_buttons();

  /// First differences from A by kept slot, for slots that have been inspected together with A.
  struct Found {
    ResultPtr a, b;
    std::optional<runs::Parting> parting;
  };
  std::vector<Found> partings_;
  std::vector<ResultPtr> shown_;  // results for which there are buttons
  TableModel* model_;
  QPushButton* keep_;
  QHBoxLayout* bar_;
  std::vector<QPushButton*> slot_buttons_;
  CompareChart* chart_;
  QLabel* parting_;
  QPushButton* go_;
  QTableView* table_;
};

}  // namespace kvplan::gui
