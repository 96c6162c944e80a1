#include "gui/views/blocks/block_map.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/viewmodel/colours.h"
#include "gui/views/painting.h"

namespace kvplan::gui {
namespace {

/// From dark blue to yellow: ages. Readable with any kind of colour vision (the two ends of cividis).
QColor on_scale(double part) {
  const double p = std::clamp(part, 0.0, 1.0);
  return QColor(static_cast<int>(0 + p * 253), static_cast<int>(34 + p * 198), static_cast<int>(78 - p * 10));
}

constexpr int kGrid = 6;  // logical pixels of a block from which on lines are drawn between blocks

}  // namespace

BlockMap::BlockMap(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setObjectName(QStringLiteral("block-map"));
}

void BlockMap::show_blocks(const std::vector<observe::BlockState>& blocks, std::int64_t first_block,
                           std::int64_t tick, BlockColours colours, std::int64_t request) {
  blocks_ = blocks;
  first_block_ = first_block;
  tick_ = tick;
  colours_ = colours;
  request_ = request;
  image_ = {};
  update();
}

void BlockMap::choose(std::optional<std::int64_t> block) {
  block_ = block;
  update();
}

/// Follows from the number of blocks alone, so that the map keeps its form when the window changes its size.
int BlockMap::columns() const {
  int columns = 16;
  while (static_cast<std::size_t>(columns) * static_cast<std::size_t>(columns) < blocks_.size()) columns *= 2;
  return columns;
}

int BlockMap::rows() const {
  return std::max(1, (static_cast<int>(blocks_.size()) + columns() - 1) / columns());
}

QRectF BlockMap::area(const QSize& size) const {
  const double legend = 2.0 * fontMetrics().height();
  const double side =
      std::min((size.width() - 2.0 * kGap) / columns(), (size.height() - 2.0 * kGap - legend) / rows());
  const double whole = side >= 2 ? std::floor(side) : side;
  return {static_cast<double>(kGap), static_cast<double>(kGap), whole * columns(), whole * rows()};
}

QRect BlockMap::cell(std::size_t block, const QSize& size) const {
  const QRectF whole = area(size);
  const double side = whole.width() / columns();
  const int column = static_cast<int>(block) % columns(), row = static_cast<int>(block) / columns();
  return QRectF(whole.left() + column * side, whole.top() + row * side, side, side).toAlignedRect();
}

QColor BlockMap::colour_of(std::size_t block) const {
  if (static_cast<std::int64_t>(block) < first_block_)
    return state_colour(observe::State::kPadding, palette());
  const observe::BlockState& state = blocks_[block];
  const QColor idle =
      state.findable ? state_colour(observe::State::kCached, palette()) : palette().color(QPalette::Base);
  if (state.holders == 0) return idle;
  QColor colour = state_colour(observe::State::kLive, palette());
  switch (colours_) {
    case BlockColours::kState:
      break;
    case BlockColours::kRequest: {
      colour = series_colour(static_cast<std::size_t>(state.owner) % 6, palette());
      if (static_cast<std::size_t>(state.owner) / 6 % 2 == 1) colour = colour.lighter(140);
      break;
    }
    case BlockColours::kAge: {
      const double age = seconds(Ticks{tick_ - state.since});
      colour = on_scale(std::log10(1 + age * 100) / 5);  // from 10 ms to 1,000 s
      break;
    }
    case BlockColours::kSharing:
      colour = on_scale(std::log2(static_cast<double>(state.holders)) / 6);
      break;
  }
  if (request_ >= 0 && state.owner != request_) {
    const QColor back = palette().color(QPalette::Window);
    colour = QColor((colour.red() + 2 * back.red()) / 3, (colour.green() + 2 * back.green()) / 3,
                    (colour.blue() + 2 * back.blue()) / 3);
  }
  return colour;
}

void BlockMap::remake() const {
  if (!image_.isNull() || blocks_.empty()) return;
  image_ = QImage(columns(), rows(), QImage::Format_RGB32);
  image_.fill(palette().color(QPalette::Window));
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    image_.setPixel(static_cast<int>(block) % columns(), static_cast<int>(block) / columns(),
                    colour_of(block).rgb());
}

void BlockMap::draw(QPainter& painter, const QSize& size) const {
  if (blocks_.empty()) return;
  const QRectF whole = area(size);
  if (painter.paintEngine()->type() == QPaintEngine::SVG) {
    // A rectangle for each run of blocks of one colour.
    for (std::size_t block = 0; block < blocks_.size();) {
      std::size_t end = block + 1;
      const QColor colour = colour_of(block);
      while (end < blocks_.size() && end % static_cast<std::size_t>(columns()) != 0 &&
             colour_of(end) == colour)
        ++end;
      painter.fillRect(cell(block, size).united(cell(end - 1, size)), colour);
      block = end;
    }
  } else {
    remake();
    painter.drawImage(whole, image_);
  }
  const double side = whole.width() / columns();
  painter.setPen(faint(palette()));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(whole.adjusted(-1, -1, 0, 0));
  if (side >= kGrid) {
    painter.setPen(palette().color(QPalette::Window));
    for (int column = 1; column < columns(); ++column)
      painter.drawLine(
          QLineF(whole.left() + column * side, whole.top(), whole.left() + column * side, whole.bottom()));
    for (int row = 1; row < rows(); ++row)
      painter.drawLine(
          QLineF(whole.left(), whole.top() + row * side, whole.right(), whole.top() + row * side));
  }
  draw_legend(painter, whole);
  if (!block_ || *block_ < 0 || *block_ >= static_cast<std::int64_t>(blocks_.size())) return;
  const QRect box = cell(static_cast<std::size_t>(*block_), size).adjusted(-2, -2, 1, 1);
  painter.setPen(QPen(palette().color(QPalette::Base), 3));
  painter.drawRect(box);
  painter.setPen(QPen(palette().color(QPalette::Text), 1));
  painter.drawRect(box);
}

/// What the colours mean, below the map.
void BlockMap::draw_legend(QPainter& painter, const QRectF& whole) const {
  std::vector<std::pair<QColor, QString>> entries;
  switch (colours_) {
    case BlockColours::kState:
      entries.emplace_back(state_colour(observe::State::kLive, palette()), tr("held"));
      break;
    case BlockColours::kRequest:
      entries.emplace_back(series_colour(0, palette()), tr("held, a colour for each request"));
      break;
    case BlockColours::kAge:
      entries.emplace_back(on_scale(0), tr("held, just taken"));
      entries.emplace_back(on_scale(1), tr("for 1,000 s"));
      break;
    case BlockColours::kSharing:
      entries.emplace_back(on_scale(0), tr("held by one request"));
      entries.emplace_back(on_scale(1), tr("by 64"));
      break;
  }
  entries.emplace_back(state_colour(observe::State::kCached, palette()), tr("cached"));
  entries.emplace_back(palette().color(QPalette::Base), tr("free"));
  if (first_block_ > 0) entries.emplace_back(colour_of(0), tr("null block"));
  const int side = painter.fontMetrics().ascent();
  int left = static_cast<int>(whole.left());
  const int top = static_cast<int>(whole.bottom()) + kGap;
  for (const auto& [colour, name] : entries) {
    const QRect swatch(left, top, side, side);
    painter.fillRect(swatch, colour);
    painter.setPen(faint(palette()));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(swatch.adjusted(0, 0, -1, -1));
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QPoint(swatch.right() + kGap / 2, swatch.bottom()), name);
    left = swatch.right() + kGap / 2 + painter.fontMetrics().horizontalAdvance(name) + 2 * kGap;
  }
}

void BlockMap::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  draw(painter, size());
  paint_focus(painter, *this);
}

void BlockMap::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) image_ = {};
  QWidget::changeEvent(event);
}

void BlockMap::keyPressEvent(QKeyEvent* event) {
  const std::int64_t now = block_.value_or(first_block_);
  std::int64_t next = now;
  switch (event->key()) {
    case Qt::Key_Left:
      next = now - 1;
      break;
    case Qt::Key_Right:
      next = now + 1;
      break;
    case Qt::Key_Up:
      next = now - columns();
      break;
    case Qt::Key_Down:
      next = now + columns();
      break;
    default:
      return QWidget::keyPressEvent(event);
  }
  if (next >= first_block_ && next < static_cast<std::int64_t>(blocks_.size())) Q_EMIT chosen(next);
}

void BlockMap::mousePressEvent(QMouseEvent* event) {
  const QRectF whole = area(size());
  if (blocks_.empty() || !whole.contains(event->position())) return;
  const double side = whole.width() / columns();
  const auto column = static_cast<std::int64_t>((event->position().x() - whole.left()) / side);
  const auto row = static_cast<std::int64_t>((event->position().y() - whole.top()) / side);
  const std::int64_t block = row * columns() + std::min<std::int64_t>(column, columns() - 1);
  if (block >= 0 && block < static_cast<std::int64_t>(blocks_.size())) Q_EMIT chosen(block);
}

}  // namespace kvplan::gui
