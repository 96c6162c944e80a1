// The look of ledger states: the same as on the pages that kvplan writes (simulator/report/palette.h), except that
// `free` is not drawn. States that are held without holding tokens also have a hatch, so that colour is never the only
// difference. The order of a stack is the same too.
#pragma once

#include <QColor>
#include <QPalette>

#include "simulator/observe/ledger.h"

namespace kvplan::gui {

/// The state that is shown as layer `layer` of a stack, counted from the bottom.
observe::State state_of_layer(std::size_t layer);

/// True if the palette is dark: its text is lighter than its background.
bool is_dark(const QPalette& palette);

/// Fill of a state. `free` has the palette's Base colour: it is not drawn.
QColor state_colour(observe::State state, const QPalette& palette);
/// True: diagonal stripes of `hatch_colour` over the fill.
bool state_hatched(observe::State state);
QColor hatch_colour(observe::State state, const QPalette& palette);

/// Lines of the lane below the ledger.
QColor running_colour(const QPalette& palette);
QColor waiting_colour(const QPalette& palette);

}  // namespace kvplan::gui
