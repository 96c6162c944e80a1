// Files of the window: opening, sessions, and what was opened lately.
#include <QAction>
#include <QCoreApplication>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMimeData>
#include <QStatusBar>
#include <algorithm>

#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/recent_files.h"
#include "gui/viewmodel/sample.h"
#include "gui/views/timeline/timeline_view.h"
#include "simulator/base/read_files.h"
#include "simulator/io/scenario_file.h"
#include "traces/io/input.h"
#include "traces/io/output.h"

namespace kvplan::gui {
namespace {

constexpr int kNoticeTime = 5000;     // ms
constexpr int kWidestFileName = 400;  // logical pixels of an entry of the recent files
constexpr char kSuffix[] = ".json";

/// Where a file dialog begins.
QString usual_folder() {
  const QStringList files = recent_files();
  return files.isEmpty() ? QString() : QFileInfo(files.front()).absolutePath();
}

/// A session takes the place of a session or scenario, as of the one that it came from, and of no other file that was
/// read.
void allow_in_place_of(const std::string& path) {
  if (check_not_read(path).ok()) return;
  const auto there = traces::Input::open(path);
  if (there.ok() && io::looks_like_scenario(there.value()->peek(4096))) forget_read(path);
}

Status write_whole(const std::string& text, const std::string& path) {
  KVPLAN_TRY(const auto out, traces::create_output(path));
  KVPLAN_TRY_DO(out->write(text));
  return out->commit();
}

}  // namespace

void MainWindow::open(const QStringList& paths) {
  std::vector<std::string> files;
  files.reserve(static_cast<std::size_t>(paths.size()));
  for (const QString& path : paths) files.push_back(to_utf8(path));
  if (files.empty()) return;
  cancelled_ = false;
  tried_import_.reset();
  opening_ = worker_.open(std::move(files), document_.settings());
  progress_timer_.start();
}

void MainWindow::choose_files(const QString& title, const QString& kinds) {
  open(QFileDialog::getOpenFileNames(this, title, usual_folder(), kinds));
}

void MainWindow::open_sample() {
  open({sample_file(QCoreApplication::applicationDirPath())});
}

void MainWindow::remember_opened(const Opened& opened) {
  session_file_ = opened.trace_file.empty() ? to_qstring(opened.scenario_file) : QString();
  const std::string report = opened.report ? opened.report->path : std::string();
  for (const std::string& file : {report, opened.trace_file, opened.scenario_file})
    if (!file.empty()) add_recent_file(to_qstring(file));
  fill_recent_menu();
}

void MainWindow::fill_recent_menu() {
  const QStringList files = recent_files();
  recent_->clear();
  recent_->setEnabled(!files.isEmpty());
  for (qsizetype i = 0; i < files.size(); ++i) {
    const QString& path = files[i];
    QString name = fontMetrics().elidedText(path, Qt::ElideMiddle, kWidestFileName);
    name.replace(QLatin1Char('&'), QStringLiteral("&&"));
    QAction* const action = recent_->addAction(QStringLiteral("&%1 %2").arg((i + 1) % 10).arg(name));
    action->setObjectName(QStringLiteral("recent-%1").arg(i));
    action->setToolTip(path);
    action->setData(path);
    // Later: opening fills this menu anew.
    connect(
        action, &QAction::triggered, this, [this, path] { open_recent(path); }, Qt::QueuedConnection);
  }
  if (files.isEmpty()) return;
  recent_->addSeparator();
  QAction* const clear = recent_->addAction(tr("&Clear List"));
  clear->setObjectName(QStringLiteral("recent-clear"));
  const auto forget = [this] {
    clear_recent_files();
    fill_recent_menu();
  };
  connect(clear, &QAction::triggered, this, forget, Qt::QueuedConnection);
}

void MainWindow::open_recent(const QString& path) {
  if (QFileInfo::exists(path)) return open({path});
  remove_recent_file(path);
  fill_recent_menu();
  messages_->show_error(tr("%1 no longer exists; it was removed from the list of recent files.").arg(path));
}

SessionView MainWindow::shown_view() const {
  SessionView view;
  const auto& shown = timeline_->data();
  if (shown && !shown->empty() && timeline_->range() != shown->whole()) view.range = timeline_->range();
  view.cursor = timeline_->cursor_tick();
  view.marked = timeline_->marked();
  view.table = show_table_->isChecked();
  view.view = to_utf8(current_view_id());
  view.request = workspace_.selected().request;
  view.block = workspace_.selected().block;
  for (std::size_t slot = 1; slot < workspace_.slots().size(); ++slot)
    view.kept.push_back(workspace_.slots()[slot].settings);
  return view;
}

void MainWindow::restore_view(const SessionView& view) {
  if (view.range) timeline_->set_range(*view.range);
  timeline_->set_marked(view.marked);
  timeline_->set_cursor(view.cursor);
  workspace_.selection().set_request(view.request);
  workspace_.selection().set_block(view.block);
  if (!view.view.empty() && !show_view(to_qstring(view.view)))
    messages_->show_error(
        tr("The session names a view \"%1\", which does not exist.").arg(to_qstring(view.view)));
  show_table(view.table);
}

bool MainWindow::save_session(const QString& path) {
  const QString file = path.endsWith(QLatin1String(kSuffix)) ? path : path + QLatin1String(kSuffix);
  allow_in_place_of(to_utf8(file));
  const Status written =
      write_whole(session_text(document_.settings(), shown_view(), to_utf8(file)), to_utf8(file));
  if (!written.ok()) {
    messages_->show_error(to_qstring(written.error().to_string()));
    return false;
  }
  session_file_ = file;
  document_.undo_stack().setClean();
  add_recent_file(file);
  fill_recent_menu();
  update_title();
  statusBar()->showMessage(tr("Saved as %1").arg(file), kNoticeTime);
  return true;
}

void MainWindow::save_session_again() {
  if (session_file_.isEmpty()) return save_session_as();
  save_session(session_file_);
}

void MainWindow::save_session_as() {
  QFileDialog dialog(this, tr("Save the session"), usual_folder(), tr("Sessions (*.json)"));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.setDefaultSuffix(QStringLiteral("json"));
  if (dialog.exec() == QDialog::Accepted) save_session(dialog.selectedFiles().value(0));
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const auto urls = event->mimeData()->urls();
  const bool files = !urls.isEmpty() &&
                     std::all_of(urls.begin(), urls.end(), [](const QUrl& url) { return url.isLocalFile(); });
  if (files) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls())
    if (url.isLocalFile()) paths << url.toLocalFile();
  event->acceptProposedAction();
  open(paths);
}

}  // namespace kvplan::gui
