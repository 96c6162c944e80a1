// What a ledger state looks like: as on the pages that kvplan writes (simulator/report/palette.h), but that
// nothing is drawn for `free`. States that are held without holding tokens carry a hatch as well, so that
// colour is never alone. The order of a stack is theirs too.
#pragma once

#include <QColor>
#include <QPalette>

#include "simulator/observe/ledger.h"

namespace kvplan::gui {

/// The state that is shown as layer `layer` of a stack, counted from the bottom.
observe::State state_of_layer(std::size_t layer);

/// True if the palette is dark: text is lighter than what it stands on.
bool is_dark(const QPalette& palette);

/// Fill of a state. `free` is the palette's Base: nothing is drawn where there is nothing.
QColor state_colour(observe::State state, const QPalette& palette);
/// True: diagonal stripes of `hatch_colour` over the fill.
bool state_hatched(observe::State state);
QColor hatch_colour(observe::State state, const QPalette& palette);

/// Lines of the lane below the ledger.
QColor running_colour(const QPalette& palette);
QColor waiting_colour(const QPalette& palette);

}  // namespace kvplan::gui
