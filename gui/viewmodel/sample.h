// The bundled sample, which an empty window offers.
#pragma once

#include <QString>

namespace kvplan::gui {

/// Path of the sample for a program in `program_folder`: in share/kvplan/samples beside that folder (installed), or
/// in the source tree (for BUILD/bin). Absolute; empty if there is none.
QString sample_file(const QString& program_folder);

}  // namespace kvplan::gui
