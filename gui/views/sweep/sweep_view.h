// The cases of a sweep: two figures as axes of a chart with the Pareto front, a filter by targets, and the table of all
// cases. Any case can be opened as a scenario.
#pragma once

#include "gui/views/sweep/sweep_data.h"
#include "gui/views/table_filter.h"
#include "gui/views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace kvplan::gui {

class Scatter;

class SweepView final : public View {
  Q_OBJECT

 public:
  explicit SweepView(QWidget* parent = nullptr);

  [[nodiscard]] QAbstractItemModel* table() override { return filtered_; }
  [[nodiscard]] QString csv() override;
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] QString value_text() const override;
  [[nodiscard]] bool empty() const override { return document_ == nullptr; }

  /// Sets the figures or varied paths of the axes; false: there is no such column.
  bool set_axes(const QString& x, const QString& y);
  void set_filter(const QString& text);
  [[nodiscard]] Scatter& scatter() const { return *scatter_; }

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;

 private:
  void translate();
  void show_points();
  void choose(std::size_t row);
  void open_chosen();
  [[nodiscard]] std::optional<std::size_t> chosen() const;
  [[nodiscard]] const sweep::NumberColumn& axis(const QComboBox& box) const;

  SweepPtr document_;
  TableModel* model_;
  FilteredTable* filtered_;
  QComboBox* x_;
  QComboBox* y_;
  QLineEdit* filter_;
  QLabel* words_;
  QPushButton* open_;
  Scatter* scatter_;
  QTableView* table_;
};

}  // namespace kvplan::gui
