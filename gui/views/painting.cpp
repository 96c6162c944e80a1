#include "gui/views/painting.h"

#include <QAbstractItemModel>
#include <QWidget>
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "gui/viewmodel/colours.h"

namespace kvplan::gui {

QColor faint(const QPalette& palette) {
  const QColor text = palette.color(QPalette::WindowText);
  const QColor back = palette.color(QPalette::Window);
  return {(2 * text.red() + back.red()) / 3, (2 * text.green() + back.green()) / 3,
          (2 * text.blue() + back.blue()) / 3};
}

QColor series_colour(std::size_t series, const QPalette& palette) {
  static constexpr std::array<std::array<QRgb, 6>, 2> kColours{
      {{0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0x000000, 0xE69F00},
       {0x56B4E9, 0xE69F00, 0x009E73, 0xCC79A7, 0xFFFFFF, 0xD55E00}}};
  return QColor(kColours[is_dark(palette) ? 1 : 0][series % 6]);
}

void paint_axis_below(QPainter& painter, const QRect& plot, const AxisMarks& marks, double low, double high) {
  const int height = painter.fontMetrics().height();
  for (std::size_t i = 0; i < marks.values.size(); ++i) {
    const int x =
        plot.left() + static_cast<int>(std::lround((marks.values[i] - low) / (high - low) * plot.width()));
    painter.drawLine(x, plot.bottom() + 1, x, plot.bottom() + kTick);
    painter.drawText(QRect(x - 60, plot.bottom() + kTick, 120, height), Qt::AlignHCenter, marks.texts[i]);
  }
}

void paint_axis_left(QPainter& painter, const QRect& plot, const AxisMarks& marks, double low, double high) {
  const int height = painter.fontMetrics().height();
  for (std::size_t i = 0; i < marks.values.size(); ++i) {
    const int y = plot.bottom() + 1 -
                  static_cast<int>(std::lround((marks.values[i] - low) / (high - low) * plot.height()));
    painter.drawLine(plot.left() - 1 - kTick, y, plot.left() - 2, y);
    const int top = std::clamp(y - height / 2, plot.top(), std::max(plot.top(), plot.bottom() - height / 2));
    painter.drawText(QRect(0, top, plot.left() - kTick - kGap, height), Qt::AlignRight | Qt::AlignVCenter,
                     marks.texts[i]);
  }
}

void paint_table(QPainter& painter, const QRect& area, const QAbstractItemModel& model, int first,
                 const QPalette& palette) {
  const QFontMetrics metrics = painter.fontMetrics();
  const int line = metrics.height() + 4;
  const int rows = std::min(model.rowCount() - first, area.height() / line - 1);
  std::vector<int> widths;
  for (int column = 0; column < model.columnCount(); ++column) {
    int width = metrics.horizontalAdvance(model.headerData(column, Qt::Horizontal).toString());
    for (int row = 0; row < rows; ++row)
      width = std::max(width, metrics.horizontalAdvance(model.index(first + row, column).data().toString()));
    widths.push_back(width + 2 * kGap);
  }
  painter.save();
  painter.setClipRect(area);
  const auto draw = [&](int y, int column, int left, const QString& text, const QVariant& alignment) {
    const QRect cell(left + kGap, y, widths[static_cast<std::size_t>(column)] - 2 * kGap, line);
    painter.drawText(
        cell, alignment.isValid() ? alignment.toInt() : static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
        text);
  };
  painter.setPen(palette.color(QPalette::WindowText));
  int left = area.left();
  for (int column = 0; column < model.columnCount(); ++column) {
    const QVariant alignment = rows > 0 ? model.index(first, column).data(Qt::TextAlignmentRole) : QVariant();
    draw(area.top(), column, left, model.headerData(column, Qt::Horizontal).toString(), alignment);
    for (int row = 0; row < rows; ++row)
      draw(area.top() + (row + 1) * line, column, left, model.index(first + row, column).data().toString(),
           alignment);
    left += widths[static_cast<std::size_t>(column)];
  }
  painter.setPen(faint(palette));
  painter.drawLine(area.left(), area.top() + line - 1, std::min(left, area.right()), area.top() + line - 1);
  painter.restore();
}

void paint_focus(QPainter& painter, const QWidget& widget) {
  if (!widget.hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(widget.palette().color(QPalette::Highlight));
  painter.drawRect(widget.rect().adjusted(0, 0, -1, -1));
}

}  // namespace kvplan::gui
