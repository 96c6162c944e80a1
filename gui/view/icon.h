// The icon by which desktops show the window (gui/desktop/kvplan-gui.svg). It is compiled into the program.
#pragma once

#include <QIcon>

namespace kvplan::gui {

/// The icon in the sizes that title bars, task bars and lists use.
QIcon program_icon();

}  // namespace kvplan::gui
