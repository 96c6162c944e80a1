#include "tests/gui/support.h"

#include <QApplication>
#include <QDropEvent>
#include <QMimeData>
#include <QProcess>
#include <QProcessEnvironment>
#include <QSettings>
#include <QStandardPaths>
#include <QTemporaryDir>

#include "gui/view/scenario_panel.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/view.h"

namespace kvplan::gui {

const TracePtr& micro_trace() {
  static const TracePtr kTrace = [] {
    ReadProgress progress;
    return read_trace(kMicroTrace, {}, core::RunControl{}, progress).value();
  }();
  return kTrace;
}

TracePtr long_trace() {
  LoadedTrace loaded;
  loaded.path = "long";
  for (std::int64_t i = 0; i < 300'000; ++i) {
    loaded.trace.arrival_ns.push_back(i * 50'000'000);
    loaded.trace.input_tokens.push_back(static_cast<std::int32_t>(200 + i * 7919 % 1000));
    loaded.trace.output_tokens.push_back(static_cast<std::int32_t>(20 + i * 104'729 % 300));
  }
  return std::make_shared<LoadedTrace>(std::move(loaded));
}

runs::Scenario scenario_of(const std::vector<std::string>& sets) {
  std::vector<runs::Setting> settings;
  for (const std::string& set : sets) settings.push_back(runs::parse_setting(set).value());
  return runs::resolve(settings).value();
}

std::unique_ptr<MainWindow> make_window(bool open) {
  auto window = std::make_unique<MainWindow>();
  window->set_theme(Theme::kLight);
  window->form()->show_all(true);  // tests reach every setting
  window->show();
  window->activateWindow();
  if (open) {
    window->open({to_qstring(kMicroTrace)});
    EXPECT_TRUE(wait_for([&] { return window->result() != nullptr && window->settled(); }));
  }
  return window;
}

Ended run_program(const QString& program, const QStringList& arguments, const QString& locale) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"})
    environment.remove(QString::fromLatin1(name));
  if (!locale.isEmpty()) environment.insert(QStringLiteral("LC_ALL"), locale);
  process.setProcessEnvironment(environment);
  process.start(program, arguments);
  EXPECT_TRUE(process.waitForFinished(kPatient)) << to_utf8(program);
  return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
          QString::fromUtf8(process.readAllStandardError())};
}

void drop(MainWindow& window, const QString& path) {
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(path)});
  QDragEnterEvent enter({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &enter);
  ASSERT_TRUE(enter.isAccepted());
  QDropEvent event({10, 10}, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QCoreApplication::sendEvent(&window, &event);
}

}  // namespace kvplan::gui

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleTest(&argc, argv);
  const QTemporaryDir settings;  // no settings of the person who runs the tests are read or written
  QStandardPaths::setTestModeEnabled(true);
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings.path());
  const QApplication application(argc, argv);
  QApplication::setOrganizationName(QStringLiteral("kvplan-test"));
  QApplication::setApplicationName(QStringLiteral("kvplan-gui-test"));
  kvplan::gui::apply_language(kvplan::gui::Language::kEnglish);
  kvplan::gui::install_view_accessibility();
  return RUN_ALL_TESTS();
}
