// A plan: the deployments that it names, with their cost, and the path of its search. Any deployment opens as a
// scenario.
#pragma once

#include "gui/views/plan/plan_data.h"
#include "gui/views/table_filter.h"
#include "gui/views/view.h"

class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace kvplan::gui {

/// A bar for each deployment: its cost, or its GPUs without prices; hatched if it misses a target.
class CostChart final : public QWidget {
  Q_OBJECT

 public:
  explicit CostChart(QWidget* parent = nullptr) : QWidget(parent) {}
  void show_document(std::shared_ptr<const PlanDocument> document, int row);
  void draw(QPainter& painter, const QSize& size) const;
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  void row_asked(int row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  [[nodiscard]] int line() const;

  std::shared_ptr<const PlanDocument> document_;
  int row_{-1};
};

class PlanView final : public View {
  Q_OBJECT

 public:
  explicit PlanView(QWidget* parent = nullptr);

  [[nodiscard]] QAbstractItemModel* table() override { return options_; }
  [[nodiscard]] QString csv() override;
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] QString value_text() const override;
  [[nodiscard]] bool empty() const override { return document_ == nullptr; }

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;

 private:
  void translate();
  void show_tables();
  void open_chosen();

  std::shared_ptr<const PlanDocument> document_;
  TableModel* options_;
  TableModel* steps_;
  FilteredTable* filtered_;
  QLabel* words_;
  CostChart* chart_;
  QTableView* options_table_;
  QPushButton* open_;
  QLineEdit* filter_;
  QTableView* steps_table_;
};

}  // namespace kvplan::gui
