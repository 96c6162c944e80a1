#include "gui/viewmodel/sample.h"

#include <QFileInfo>
#include <QStringList>

namespace kvplan::gui {

QString sample_file(const QString& program_folder) {
  for (const QString& place : {QStringLiteral("/../share/kvplan/samples/chat.kvt"),
                               QStringLiteral("/../../traces/samples/chat.kvt")}) {
    const QFileInfo file(program_folder + place);
    if (file.isFile()) return file.canonicalFilePath();
  }
  return {};
}

}  // namespace kvplan::gui
