// The views of the window: their tabs, their tables, and what they export.
#include <QAction>
#include <QActionGroup>
#include <QClipboard>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QMimeData>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QTableView>

#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/registry.h"
#include "gui/views/timeline/timeline_view.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::gui {
namespace {
constexpr int kNoticeTime = 5000;         // ms
constexpr std::int64_t kKeptBins = 8192;  // of a timeline, over all replicas
}  // namespace

void MainWindow::make_views() {
  tabs_ = new QTabBar(this);
  tabs_->setObjectName(QStringLiteral("views"));
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  pages_ = new QStackedWidget(this);
  for (const ViewEntry& entry : view_entries()) {
    View* const view = entry.make();
    view->attach(workspace_);
    pages_->addWidget(view);
    tabs_->addTab(view_title(entry));
    if (auto* const timeline = qobject_cast<TimelineView*>(view)) timeline_ = timeline;
  }
  table_ = new QTableView(this);
  table_->setObjectName(QStringLiteral("view-table"));
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  pages_->addWidget(table_);
  worker_.read_documents_with(read_document);
  connect(tabs_, &QTabBar::currentChanged, this, [this](int tab) {
    show_view(QString::fromLatin1(view_entries()[static_cast<std::size_t>(tab)].id));
  });
  connect(timeline_, &TimelineView::range_changed, this, [this] {
    if (pages_->currentWidget() == table_ && current_view() == timeline_) show_table(true);
  });
  connect(&workspace_, &Workspace::view_asked, this, [this](const QString& id) { show_view(id); });
  connect(&workspace_, &Workspace::scenario_asked, this, &MainWindow::edit_scenario);
  connect(&workspace_, &Workspace::problem, this,
          [this](const QString& text) { messages_->show_error(text); });
}

void MainWindow::fill_view_menu(QMenu* menu) {
  tabs_->setAccessibleName(tr("Views"));
  QMenu* const view = menu->addMenu(tr("&Views"));
  auto* const group = new QActionGroup(commands_);
  const auto entries = view_entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ViewEntry& entry = entries[i];
    const QString id = QString::fromLatin1(entry.id);
    const QKeySequence keys(Qt::ALT | static_cast<Qt::Key>(Qt::Key_1 + static_cast<int>(i)));
    QAction* const action =
        add_action(view, QStringLiteral("&%1 %2").arg(QString::number(i + 1), view_title(entry)), keys, "",
                   [this, id] { show_view(id); });
    action->setObjectName(QStringLiteral("view-") + id);
    action->setCheckable(true);
    action->setChecked(static_cast<int>(i) == tabs_->currentIndex());
    group->addAction(action);
    const QSignalBlocker quiet(tabs_);
    tabs_->setTabText(static_cast<int>(i), view_title(entry));
    tabs_->setTabToolTip(static_cast<int>(i), keys.toString(QKeySequence::NativeText));
  }
}

View* MainWindow::current_view() const {
  return qobject_cast<View*>(pages_->widget(tabs_->currentIndex()));
}

QString MainWindow::current_view_id() const {
  return QString::fromLatin1(view_entries()[static_cast<std::size_t>(tabs_->currentIndex())].id);
}

bool MainWindow::show_view(const QString& id) {
  const auto entries = view_entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (id != QLatin1String(entries[i].id)) continue;
    {
      const QSignalBlocker quiet(tabs_);
      tabs_->setCurrentIndex(static_cast<int>(i));
    }
    if (auto* const action = commands_->findChild<QAction*>(QStringLiteral("view-") + id))
      action->setChecked(true);
    show_table(show_table_->isChecked());
    return true;
  }
  return false;
}

void MainWindow::show_table(bool table) {
  show_table_->setChecked(table);
  View* const view = current_view();
  if (table) {
    table_->setModel(view->table());
    table_->setAccessibleName(tr("%1 as a table").arg(view->accessibleName()));
  }
  QWidget* const page = table ? static_cast<QWidget*>(table_) : view;
  pages_->setCurrentWidget(page);
  page->setFocus();
}

void MainWindow::copy_shown() {
  QGuiApplication::clipboard()->setMimeData(current_view()->copied().release());
}

QString MainWindow::command() const {
  // The timeline follows the scenario of now; other views have their result.
  const QString of_view = current_view() == timeline_ ? QString() : current_view()->command();
  return of_view.isEmpty() ? to_qstring(command_line(document_.settings())) : of_view;
}

bool MainWindow::export_to(const QString& path) {
  const Status written = export_view(*current_view(), path);
  if (!written.ok()) {
    messages_->show_error(to_qstring(written.error().to_string()));
    return false;
  }
  statusBar()->showMessage(tr("Exported as %1").arg(path), kNoticeTime);
  return true;
}

void MainWindow::choose_export() {
  QFileDialog dialog(this, tr("Export the view"), {},
                     tr("Picture (*.png);;Drawing (*.svg);;Numbers (*.csv)"));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.selectFile(current_view_id());
  if (dialog.exec() != QDialog::Accepted) return;
  QString path = dialog.selectedFiles().value(0);
  if (QFileInfo(path).suffix().isEmpty())
    path += dialog.selectedNameFilter().section(QLatin1Char('*'), 1).left(4);
  export_to(path);
}

/// Hands the result that is shown to the views.
void MainWindow::show_slot() {
  workspace_.set_edited({QFileInfo(session_file_).completeBaseName(), document_.settings(), result_});
}

void MainWindow::show_documents(const Opened& opened) {
  for (const DocumentPtr& document : opened.documents) workspace_.set_document(document);
  if (!opened.documents.empty()) show_view(to_qstring(opened.documents.back()->view));
}

void MainWindow::keep_scenario() {
  if (!settled() || !workspace_.keep(workspace_.edited()))
    messages_->show_error(workspace_.has_room()
                              ? tr("A scenario can be kept once its result is shown.")
                              : tr("Four scenarios are compared at most: remove one in the view Compare."));
}

void MainWindow::keep_opened(const std::vector<OpenedScenario>& others) {
  workspace_.drop_all_kept();
  for (const OpenedScenario& other : others) {
    using Ran = Result<ResultPtr>;
    workspace_.compute<Ran>(
        this,
        [other](core::RunControl& control, runs::Inputs& inputs) -> Ran {
          KVPLAN_TRY(const runs::Scenario scenario, runs::resolve(other.settings));
          if (other.trace->path != scenario.trace)
            return bad_input("a kept scenario is of another trace, and is left out").at_file(scenario.trace);
          inputs.keep_only(runs::files_of(scenario));
          return run_once(scenario, other.trace, kKeptBins / scenario.replicas, inputs.openers(), control);
        },
        [this, other](const Ran& ran) {
          if (!ran.ok()) return messages_->show_error(to_qstring(ran.error().to_string()));
          workspace_.keep({{}, other.settings, ran.value()});
        });
  }
}

void MainWindow::edit_scenario(const std::vector<runs::Setting>& settings) {
  const auto scenario = runs::resolve(settings);
  if (!scenario.ok()) return messages_->show_error(to_qstring(scenario.error().to_string()));
  if (trace_ && scenario.value().trace == trace_->path && scenario.value().import == trace_->import) {
    const Status status = document_.replace(settings);
    if (!status.ok()) show_refusal(status.error());
    return;
  }
  cancelled_ = false;
  tried_import_.reset();
  opening_ = worker_.open({}, settings);
  progress_timer_.start();
}

}  // namespace kvplan::gui
