#include "gui/viewmodel/recent_files.h"

#include <QDir>
#include <QFileInfo>
#include <QSettings>

namespace kvplan::gui {
namespace {

QString key() {
  return QStringLiteral("files/recent");
}

}  // namespace

QStringList recent_files() {
  return QSettings().value(key()).toStringList();
}

void add_recent_file(const QString& path) {
  const QString whole = QDir::cleanPath(QFileInfo(path).absoluteFilePath());
  QStringList files = recent_files();
  files.removeAll(whole);
  files.prepend(whole);
  QSettings().setValue(key(), files.mid(0, kMostRecentFiles));
}

void remove_recent_file(const QString& path) {
  QStringList files = recent_files();
  files.removeAll(path);
  QSettings().setValue(key(), files);
}

void clear_recent_files() {
  QSettings().remove(key());
}

}  // namespace kvplan::gui
