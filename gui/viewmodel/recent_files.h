// Recently opened files, newest first, stored with the user's other settings.
#pragma once

#include <QString>
#include <QStringList>

namespace kvplan::gui {

inline constexpr qsizetype kMostRecentFiles = 10;

/// Absolute paths. The list is read again at each call, since another window may have changed it.
QStringList recent_files();
/// Puts a file first; a relative path is relative to the working directory.
void add_recent_file(const QString& path);
void remove_recent_file(const QString& path);
void clear_recent_files();

}  // namespace kvplan::gui
