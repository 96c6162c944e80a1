// Every block of the pool at the cursor's time, and the history of one block. A slider and steps in both directions
// change the time, and it can play.
#pragma once

#include <QTimer>

#include "gui/views/blocks/blocks_data.h"
#include "gui/views/view.h"

class QComboBox;
class QLabel;
class QPushButton;
class QSlider;
class QTableView;

namespace kvplan::gui {

class BlockMap;

class BlocksView final : public View {
  Q_OBJECT

 public:
  explicit BlocksView(QWidget* parent = nullptr);

  [[nodiscard]] QAbstractItemModel* table() override { return blocks_; }
  [[nodiscard]] QString command() const override;
  void draw(QPainter& painter, const QSize& size) override;
  [[nodiscard]] QString value_text() const override;
  [[nodiscard]] bool settled() const override;
  [[nodiscard]] bool empty() const override { return moment_ == nullptr; }

  /// The moment that is shown, in ticks: the cursor, or the peak of the run.
  [[nodiscard]] std::int64_t tick() const;
  [[nodiscard]] const observe::BlockMoment* moment() const { return moment_.get(); }

 protected:
  void refresh() override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void translate();
  void ask_inspection();
  void show_replica();
  void show_moment();
  void step(bool forward);
  void play(bool on);
  [[nodiscard]] const observe::BlockHistory* history() const;

  ResultPtr result_;  // the result that is or will be inspected
  bool asked_{false};
  BlockInspectionPtr inspection_;
  std::unique_ptr<observe::BlockMoment> moment_;
  std::optional<std::int64_t> shown_block_;
  TableModel* blocks_;
  TableModel* changes_;
  QComboBox* colours_;
  QComboBox* replica_;
  QPushButton* back_;
  QPushButton* play_;
  QPushButton* forward_;
  QSlider* slider_;
  QLabel* words_;
  BlockMap* map_;
  QLabel* block_words_;
  QTableView* history_;
  QTimer timer_;
};

}  // namespace kvplan::gui
