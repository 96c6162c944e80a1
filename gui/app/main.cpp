// kvplan-gui: the desktop program, and its pictures without a display.
#include <QApplication>
#include <QBuffer>
#include <QEventLoop>
#include <QFontDatabase>
#include <QImage>
#include <QSettings>
#include <QStatusBar>
#include <QTemporaryDir>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gui/app/options.h"
#include "gui/view/icon.h"
#include "gui/view/main_window.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/registry.h"
#include "simulator/base/program.h"
#include "simulator/base/read_files.h"
#include "simulator/base/version.h"
#include "traces/io/output.h"

namespace kvplan::gui {
namespace {

int fail(const std::string& text) {
  std::fprintf(stderr, "kvplan-gui: %s\n", text.c_str());
  return static_cast<int>(ErrorKind::kBadInput);
}

Status write_picture(const QPixmap& picture, const std::string& path) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  if (!buffer.open(QIODevice::WriteOnly) || !picture.save(&buffer, "PNG"))
    return bad_input("the screenshot could not be made").at_file(path);
  KVPLAN_TRY(const auto out, traces::create_output(path));
  KVPLAN_TRY_DO(out->write({bytes.constData(), static_cast<std::size_t>(bytes.size())}));
  return out->commit();
}

int take_screenshot(const Options& options) {
  if (const Status apart = check_apart(options.files, {options.picture}); !apart.ok())
    return fail(apart.error().to_string());
  if (QFontDatabase::families().isEmpty()) return fail("no fonts are installed (Debian: fonts-dejavu-core)");
  const QTemporaryDir nothing;  // a picture neither reads nor leaves what is kept for the next start
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, nothing.path());
  apply_language(options.language.value_or(Language::kSystem));
  if (!has_font_for(options.language.value_or(Language::kSystem)))
    std::fputs("kvplan-gui: no installed font has Chinese characters (Debian: fonts-wqy-microhei)\n", stderr);
  MainWindow window;
  window.set_theme(options.theme.value_or(Theme::kLight));
  QEventLoop loop;
  QString problem;
  QObject::connect(&window, &MainWindow::result_shown, &loop, &QEventLoop::quit);
  QObject::connect(&window, &MainWindow::problem, &loop, [&](const QString& text) {
    problem = text;
    loop.quit();
  });
  window.show();
  QStringList files;
  for (const std::string& file : options.files) files << to_qstring(file);
  QObject::connect(&window.workspace(), &Workspace::problem, &loop,
                   [&](const QString& text) { problem = text; });
  window.open(files);
  loop.exec();
  if (!problem.isEmpty()) return fail(to_utf8(problem));
  if (!window.show_view(to_qstring(options.view))) return fail("no view \"" + options.view + "\"");
  while (problem.isEmpty() &&
         (!window.settled() || !window.current_view()->settled() || !window.workspace().idle()))
    QApplication::processEvents(QEventLoop::WaitForMoreEvents);
  if (!problem.isEmpty()) return fail(to_utf8(problem));
  if (window.current_view()->empty())
    return fail("--screenshot " + options.view + ": these files have nothing for this view to show");
  window.statusBar()->hide();  // processor time differs from run to run, the picture must not
  if (QWidget* const focused = QApplication::focusWidget()) focused->clearFocus();
  QApplication::processEvents();
  const Status written = write_picture(window.grab(), options.picture);
  return written.ok() ? 0 : fail(written.error().to_string());
}

int show_window(const Options& options) {
  const QString kept = QSettings().value(QStringLiteral("window/language")).toString();
  apply_language(options.language.value_or(language_by_name(kept).value_or(Language::kSystem)));
  MainWindow window;
  window.restore_layout();
  if (options.theme) window.set_theme(*options.theme);
  QStringList files;
  for (const std::string& file : options.files) files << to_qstring(file);
  window.show();
  window.open(files);
  return QApplication::exec();
}

/// Qt's remarks about missing displays are dropped; everything else goes to standard error.
void pass_on(QtMsgType /*type*/, const QMessageLogContext& /*context*/, const QString& text) {
  for (const char* harmless : {"propagateSizeHints", "XDG_RUNTIME_DIR"})
    if (text.contains(QLatin1String(harmless))) return;
  std::fprintf(stderr, "%s\n", to_utf8(text).c_str());
}

bool has_display() {
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return true;
  }
  return false;
}

int print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return 0;
  return fail(std::string("standard output: cannot write: ") + std::strerror(errno));
}

int run(int argc, char** argv) {
  const auto options = parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
  if (!options.ok()) return fail(options.error().to_string());
  switch (options.value().task) {
    case Task::kHelp:
      return print(usage());
    case Task::kVersion:
      return print("kvplan-gui " + std::string(kVersion) + "\n");
    case Task::kScreenshot:
      // Before QApplication, which aborts where it finds no display.
      if (!has_display() && std::getenv("QT_QPA_PLATFORM") == nullptr)
        qputenv("QT_QPA_PLATFORM", "offscreen");
      break;
    case Task::kWindow:
      if (!has_display() && std::getenv("QT_QPA_PLATFORM") == nullptr)
        return fail("there is no display; only --screenshot works without one");
      break;
  }
  qInstallMessageHandler(pass_on);
  QApplication application(argc, argv);
  QApplication::setApplicationName(QStringLiteral("kvplan-gui"));
  QApplication::setOrganizationName(QStringLiteral("kvplan"));
  QApplication::setApplicationVersion(to_qstring(kVersion));
  QApplication::setDesktopFileName(QStringLiteral("kvplan-gui"));
  QApplication::setWindowIcon(program_icon());
  QSettings::setDefaultFormat(QSettings::IniFormat);
  install_view_accessibility();
  return options.value().task == Task::kScreenshot ? take_screenshot(options.value())
                                                   : show_window(options.value());
}

}  // namespace
}  // namespace kvplan::gui

int main(int argc, char** argv) {
  kvplan::hold_closed_streams();
  kvplan::note_read_files();
  return kvplan::gui::run(argc, argv);
}
