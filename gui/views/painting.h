// Code that the painters of views share: axes, legends, and tables drawn as pictures.
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

/// A colour for unimportant text: between foreground and background.
QColor faint(const QPalette& palette);

/// Colours that people with any kind of colour vision tell apart (Okabe and Ito), for up to six series; never the only
/// difference.
QColor series_colour(std::size_t series, const QPalette& palette);

/// Marks with texts below `plot`; values from `low` at its left to `high` at its right. REQUIRES: low < high.
void paint_axis_below(QPainter& painter, const QRect& plot, const AxisMarks& marks, double low, double high);
/// The same at the left of `plot`, from its bottom upwards.
void paint_axis_left(QPainter& painter, const QRect& plot, const AxisMarks& marks, double low, double high);

/// Draws a line of titles, and the rows of a table from `first` on, as many as fit.
void paint_table(QPainter& painter, const QRect& area, const QAbstractItemModel& model, int first,
                 const QPalette& palette);

/// Draws the line around a widget that has the focus.
void paint_focus(QPainter& painter, const QWidget& widget);

}  // namespace kvplan::gui
