// Predicted and measured values: each quantity of a validation file as a point on a scale of ratios, and as a table.
#pragma once

#include "gui/views/validation/validation_data.h"
#include "gui/views/view.h"

class QLabel;
class QTableView;

namespace kvplan::gui {

/// One row for each quantity: its name, and measured / predicted on a logarithmic scale.
class RatioChart final : public QWidget {
  Q_OBJECT

 public:
  explicit RatioChart(QWidget* parent = nullptr) : QWidget(parent) {}
  void show_document(std::shared_ptr<const ValidationDocument> document, int row);
  void draw(QPainter& painter, const QSize& size) const;
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  void row_asked(int row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  [[nodiscard]] int line() const;

  std::shared_ptr<const ValidationDocument> document_;
  int row_{-1};
};

class ValidationView final : public View {
  Q_OBJECT

 public:
  explicit ValidationView(QWidget* parent = nullptr);

  [[nodiscard]] QAbstractItemModel* table() override { return model_; }
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] QString value_text() const override;
  [[nodiscard]] bool empty() const override { return document_ == nullptr; }

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;

 private:
  void translate();

  std::shared_ptr<const ValidationDocument> document_;
  TableModel* model_;
  RatioChart* chart_;
  QLabel* words_;
  QTableView* table_;
};

}  // namespace kvplan::gui
