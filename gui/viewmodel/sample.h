// The bundled sample, which an empty window offers.
#pragma once

#include <QString>

namespace kvplan::gui {

/// The sample for a program in `program_folder`: in share/kvplan/samples beside that folder, as it is installed, or
/// in the source tree for a program in BUILD/bin of it. A whole path; empty where there is none.
QString sample_file(const QString& program_folder);

}  // namespace kvplan::gui
