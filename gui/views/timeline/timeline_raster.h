// The pictures of the timeline, pixel by pixel: one column of data per column of pixels.
//
// Sizes of images are device pixels. No text and no axes: those are painted over it.
#pragma once

#include <QImage>
#include <QPainter>
#include <QPalette>
#include <vector>

#include "gui/viewmodel/timeline_data.h"

namespace kvplan::gui {

/// First pixel above each layer of the stack, counted from the bottom: layer l, which is state_of_layer(l), has
/// the pixels [edge[l-1], edge[l]). The last edge is `height`, since the states sum to the capacity.
std::array<int, observe::kStates> layer_edges(const TimelineColumn& column, int height);

/// The states stacked from the bottom, layer by layer; the whole height is the capacity. `scale`:
/// device pixels per logical pixel, for the width of stripes.
QImage paint_layers(const std::vector<TimelineColumn>& columns, int height, qreal scale,
                    const QPalette& palette);

/// The same as vector shapes, for vector files: the columns are spread over `plot`; its height is the capacity.
void draw_layers(QPainter& painter, const QRectF& plot, const std::vector<TimelineColumn>& columns,
                 std::int64_t capacity_bytes, const QPalette& palette);

/// The picture of a row of requests: a band from the least to the greatest value, and a line at the mean, of each
/// column. `most`: the value at the upper edge, >= 1.
QImage paint_requests(const std::vector<TimelineColumn>& columns, std::size_t row, int height, qreal scale,
                      std::int64_t most, const QColor& colour, const QPalette& palette);

}  // namespace kvplan::gui
