// What painters of views share: axes, legends, and tables drawn as pictures.
#pragma once

#include <QColor>
#include <QPainter>
#include <QPalette>
#include <QRect>

#include "gui/viewmodel/formatting.h"

class QAbstractItemModel;

namespace kvplan::gui {

/// Distances in logical pixels.
inline constexpr int kGap = 8;
inline constexpr int kTick = 4;  ///< length of the marks on axes

/// Text that recedes: between foreground and background.
QColor faint(const QPalette& palette);

/// Colours that people with any kind of colour vision tell apart (Okabe and Ito), for up to six series; never the only
/// difference.
QColor series_colour(std::size_t series, const QPalette& palette);

/// Marks with texts below `plot`; values from `low` at its left to `high` at its right. REQUIRES: low < high.
void paint_axis_below(QPainter& painter, const QRect& plot, const AxisMarks& marks, double low, double high);
/// The same at its left, from its bottom upwards.
void paint_axis_left(QPainter& painter, const QRect& plot, const AxisMarks& marks, double low, double high);

/// Rows of a table from `first` on, as many as fit, with a line of titles.
void paint_table(QPainter& painter, const QRect& area, const QAbstractItemModel& model, int first,
                 const QPalette& palette);

/// The line around a widget with the focus.
void paint_focus(QPainter& painter, const QWidget& widget);

}  // namespace kvplan::gui
