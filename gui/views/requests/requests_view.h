// The requests of the run as a table that sorts and filters, and the life of the selected one as a lane.
//
// Choosing a row selects its request. Enter or a double click shows the request's life on the timeline. The filter "At
// the cursor" keeps the requests of that moment, or of the marked range.
#pragma once

#include "gui/views/requests/requests_data.h"
#include "gui/views/table_filter.h"
#include "gui/views/view.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QTableView;

namespace kvplan::gui {

class Lane;

class RequestsView final : public View {
  Q_OBJECT

 public:
  explicit RequestsView(QWidget* parent = nullptr);

  [[nodiscard]] QAbstractItemModel* table() override;
  [[nodiscard]] QString csv() override;
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] QString value_text() const override;
  [[nodiscard]] bool settled() const override;
  [[nodiscard]] bool empty() const override { return inspection_ == nullptr; }

  void sort_by(RequestColumn column);
  void set_filter(const QString& text);
  [[nodiscard]] const Lane& lane() const { return *lane_; }

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void translate();
  void apply_filter();
  void follow_selection();
  void show_count();
  void show_on_timeline();
  void choose_slowest();
  [[nodiscard]] std::optional<int> chosen() const;

  InspectionPtr inspection_;
  ResultPtr result_;  // the result that the table shows
  TableModel* model_;
  FilteredTable* rows_;
  QLineEdit* filter_;
  QCheckBox* at_cursor_;
  QPushButton* slowest_;
  QPushButton* preempted_;
  QPushButton* biggest_;
  QPushButton* jump_;
  QLabel* count_;
  QTableView* table_;
  Lane* lane_;
  bool following_{false};  // true: it selects a row to follow the selection
};

}  // namespace kvplan::gui
