// The picture by which desktops know the window (gui/desktop/kvplan-gui.svg), which is part of the program.
#pragma once

#include <QIcon>

namespace kvplan::gui {

/// In the sizes that title bars, task bars and lists ask for.
QIcon program_icon();

}  // namespace kvplan::gui
