// Two to four scenarios side by side: the edited one, A, and those kept with "Keep Scenario". Charts under one
// cursor, a table of what differs, and the first moment where each one parts from A.
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

  /// Where each kept scenario parts from A, in words; empty while it is not known.
  [[nodiscard]] QString parting_text() const;

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;

 private:
  void translate();
  void show_partings();
  void go_to_parting();
  void make_slot_buttons();

  /// Partings from A by kept slot, as far as both are inspected.
  struct Found {
    ResultPtr a, b;
    std::optional<runs::Parting> parting;
  };
  std::vector<Found> partings_;
  std::vector<ResultPtr> shown_;  // for which there are buttons
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
