// A recorded head with the tokens that up to four policies keep and evict, step by step.
#pragma once

#include "gui/views/attention/attention_data.h"
#include "gui/views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QSlider;
class QTableView;

namespace kvplan::gui {

class AttentionChart;

class AttentionView final : public View {
  Q_OBJECT

 public:
  explicit AttentionView(QWidget* parent = nullptr);

  [[nodiscard]] QAbstractItemModel* table() override { return model_; }
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] QString value_text() const override;
  [[nodiscard]] bool settled() const override { return !asked_; }
  [[nodiscard]] bool empty() const override { return run_ == nullptr; }

  [[nodiscard]] const AttentionRunPtr& run() const { return run_; }
  void set_policies(const QString& text);
  void set_step(std::int64_t step);

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void translate();
  void fill_choices();
  void ask_run();
  void show_step();
  [[nodiscard]] AttentionChoice choice() const;

  std::shared_ptr<const RecordingDocument> document_;
  AttentionRunPtr run_;
  std::int64_t step_{0};
  bool asked_{false};
  bool filling_{false};
  TableModel* model_;
  QComboBox* sequence_;
  QComboBox* layer_;
  QComboBox* head_;
  QLineEdit* policies_;
  QSlider* slider_;
  QLabel* words_;
  AttentionChart* chart_;
  QTableView* table_;
};

}  // namespace kvplan::gui
