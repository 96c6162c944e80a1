// The blocks of a pool as a map: one square for each, in the order of their ids, in rows of a fixed length.
//
// A click selects a block; the arrow keys select its neighbours.
#pragma once

#include <QImage>
#include <QWidget>

#include "gui/views/blocks/blocks_data.h"

namespace kvplan::gui {

class BlockMap final : public QWidget {
  Q_OBJECT

 public:
  explicit BlockMap(QWidget* parent = nullptr);

  /// `tick`: the moment, for ages. `request`: blocks of other requests are drawn paler; may be -1.
  void show_blocks(const std::vector<observe::BlockState>& blocks, std::int64_t first_block,
                   std::int64_t tick, BlockColours colours, std::int64_t request);
  void choose(std::optional<std::int64_t> block);
  [[nodiscard]] QColor colour_of(std::size_t block) const;
  [[nodiscard]] QRect cell(std::size_t block, const QSize& size) const;
  void draw(QPainter& painter, const QSize& size) const;
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 200}; }

 Q_SIGNALS:
  void chosen(std::int64_t block);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;

 private:
  [[nodiscard]] int columns() const;
  [[nodiscard]] int rows() const;
  [[nodiscard]] QRectF area(const QSize& size) const;
  void remake() const;
  void draw_legend(QPainter& painter, const QRectF& whole) const;

  std::vector<observe::BlockState> blocks_;
  std::int64_t first_block_{0}, tick_{0}, request_{-1};
  BlockColours colours_{BlockColours::kState};
  std::optional<std::int64_t> block_;
  mutable QImage image_;  // one pixel for each block; null: to be made
};

}  // namespace kvplan::gui
