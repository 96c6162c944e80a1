// Menus of the window: one action per command, shared by menu and key.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QDockWidget>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>

#include "gui/view/main_window.h"
#include "gui/viewmodel/formatting.h"
#include "gui/views/timeline/timeline_view.h"
#include "simulator/base/version.h"

namespace kvplan::gui {

QMenu* MainWindow::add_menu(const QString& text) {
  QMenu* const menu = menuBar()->addMenu(text);
  menu->setToolTipsVisible(true);
  return menu;
}

QAction* MainWindow::add_action(QMenu* menu, const QString& text, const QKeySequence& keys, const char* name,
                                std::function<void()> what) {
  auto* action = new QAction(text, commands_);
  action->setShortcut(keys);
  action->setObjectName(QString::fromLatin1(name));
  connect(action, &QAction::triggered, this, std::move(what));
  menu->addAction(action);
  return action;
}

void MainWindow::make_menus() {
  const bool table = show_table_ != nullptr && show_table_->isChecked();
  delete commands_;
  qDeleteAll(menuBar()->findChildren<QMenu*>(Qt::FindDirectChildrenOnly));
  commands_ = new QObject(this);
  make_file_menu();
  make_edit_menu();
  make_view_menu();
  show_table_->setChecked(table);
  QMenu* const run = add_menu(tr("&Run"));
  run_again_ = add_action(run, tr("&Run Again"), QKeySequence::Refresh, "run", [this] { request_run(true); });
  add_action(run, tr("&Cancel"), QKeySequence(Qt::CTRL | Qt::Key_Period), "cancel-run", [this] { cancel(); });
  keep_ = add_action(run, tr("&Keep Scenario to Compare"), QKeySequence(Qt::CTRL | Qt::Key_K),
                     "keep-scenario", [this] { keep_scenario(); });
  make_help_menu();
}

void MainWindow::make_file_menu() {
  QMenu* const file = add_menu(tr("&File"));
  add_action(file, tr("&Open…"), QKeySequence::Open, "open", [this] {
    choose_files(tr("Open a trace, a scenario or a report"),
                 tr("Traces, scenarios and reports (*.kvt *.csv *.jsonl *.json *.kvs *.kvr *.gz *.zst);;"
                    "All files (*)"));
  });
  add_action(file, tr("Open S&ession…"), {}, "open-session",
             [this] { choose_files(tr("Open a session"), tr("Sessions (*.json)")); });
  sample_ = add_action(file, tr("Open the Sa&mple"), {}, "open-sample", [this] { open_sample(); });
  recent_ = file->addMenu(tr("Open &Recent"));
  recent_->setObjectName(QStringLiteral("recent"));
  recent_->setToolTipsVisible(true);
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::fill_recent_menu);
  fill_recent_menu();
  file->addSeparator();
  save_ = add_action(file, tr("&Save Session"), QKeySequence::Save, "save-session",
                     [this] { save_session_again(); });
  save_as_ = add_action(file, tr("Save Session &As…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S),
                        "save-session-as", [this] { save_session_as(); });
  add_action(file, tr("E&xport View…"), QKeySequence(Qt::CTRL | Qt::Key_E), "export",
             [this] { choose_export(); });
  file->addSeparator();
  add_action(file, tr("&Quit"), QKeySequence::Quit, "quit", [this] { close(); });
}

void MainWindow::make_edit_menu() {
  QMenu* const edit_menu = add_menu(tr("&Edit"));
  QAction* const undo = document_.undo_stack().createUndoAction(commands_, tr("&Undo"));
  undo->setShortcut(QKeySequence::Undo);
  undo->setObjectName(QStringLiteral("undo"));
  QAction* const redo = document_.undo_stack().createRedoAction(commands_, tr("&Redo"));
  redo->setShortcut(QKeySequence::Redo);
  redo->setObjectName(QStringLiteral("redo"));
  edit_menu->addActions({undo, redo});
  edit_menu->addSeparator();
  add_action(edit_menu, tr("&Copy Picture and Data"), QKeySequence::Copy, "copy", [this] { copy_shown(); });
  add_action(edit_menu, tr("Copy as Co&mmand"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
             "copy-command", [this] { QGuiApplication::clipboard()->setText(command()); });
}

void MainWindow::make_view_menu() {
  QMenu* const view = add_menu(tr("&View"));
  fill_view_menu(view);
  view->addSeparator();
  const auto middle = [this] { return timeline_->range().begin + timeline_->range().length() / 2; };
  add_action(view, tr("Zoom &In"), QKeySequence::ZoomIn, "zoom-in",
             [this, middle] { timeline_->zoom(1.25, timeline_->cursor_tick().value_or(middle())); });
  add_action(view, tr("Zoom &Out"), QKeySequence::ZoomOut, "zoom-out",
             [this, middle] { timeline_->zoom(0.8, timeline_->cursor_tick().value_or(middle())); });
  add_action(view, tr("Show &All"), QKeySequence(Qt::CTRL | Qt::Key_0), "show-all",
             [this] { timeline_->show_all(); });
  add_action(view, tr("Show &Marked Range"), {}, "show-marked", [this] { timeline_->show_marked(); });
  show_table_ = add_action(view, tr("Show as &Table"), QKeySequence(Qt::CTRL | Qt::Key_T), "show-table",
                           [this] { show_table(show_table_->isChecked()); });
  show_table_->setCheckable(true);
  view->addSeparator();
  make_look_menus(view);
  view->addSeparator();
  // Actions of their own: the docks' are named by the docks' titles, which have no mnemonic.
  for (const auto& [dock, text] :
       {std::pair{scenario_dock_, tr("&Scenario")}, std::pair{what_if_dock_, tr("&What if")},
        std::pair{fits_dock_, tr("&Fits and Cost")}}) {
    QAction* const action = add_action(view, text, {}, "", [] {});
    action->setObjectName(dock->objectName());
    action->setCheckable(true);
    action->setChecked(dock->toggleViewAction()->isChecked());
    connect(action, &QAction::triggered, dock->toggleViewAction(), &QAction::trigger);
    connect(dock->toggleViewAction(), &QAction::toggled, action, &QAction::setChecked);
  }
  add_action(view, tr("&Reset Layout"), {}, "reset-layout",
             [this] { restoreState(first_layout_, kLayoutVersion); });
}

void MainWindow::make_look_menus(QMenu* view) {
  QMenu* const themes = view->addMenu(tr("T&heme"));
  auto* const theme_group = new QActionGroup(commands_);
  for (const auto& [theme, text] :
       {std::pair{Theme::kSystem, tr("Follow the &Desktop")}, std::pair{Theme::kLight, tr("&Light")},
        std::pair{Theme::kDark, tr("Dar&k")}}) {
    QAction* const action = add_action(themes, text, {}, "", [this, theme = theme] { set_theme(theme); });
    action->setObjectName(QStringLiteral("theme-") + theme_name(theme));
    action->setCheckable(true);
    theme_group->addAction(action);
    connect(themes, &QMenu::aboutToShow, action,
            [this, action, theme = theme] { action->setChecked(theme == theme_); });
  }
  QMenu* const languages = view->addMenu(tr("&Language"));
  auto* const language_group = new QActionGroup(commands_);
  // Each language is named in itself, so that readers of that language alone can find it.
  for (const auto& [language, text] : {std::pair{Language::kSystem, tr("Follow the &Desktop")},
                                       std::pair{Language::kEnglish, QStringLiteral("&English")},
                                       std::pair{Language::kChinese, QStringLiteral("中文(&Z)")}}) {
    QAction* const action =
        add_action(languages, text, {}, "", [this, language = language] { choose_language(language); });
    action->setObjectName(QStringLiteral("language-") + language_name(language));
    action->setCheckable(true);
    language_group->addAction(action);
    connect(languages, &QMenu::aboutToShow, action,
            [action, language = language] { action->setChecked(language == applied_language()); });
  }
}

void MainWindow::make_help_menu() {
  QMenu* const help = add_menu(tr("&Help"));
  add_action(help, tr("&Keys"), QKeySequence::HelpContents, "keys", [this] { show_keys(); });
  add_action(help, tr("&About kvplan"), {}, "about", [this] { show_about(); });
  add_action(help, tr("About &Qt"), {}, "about-qt", [] { QApplication::aboutQt(); });
}

void MainWindow::show_about() {
  auto* box = new QMessageBox(
      QMessageBox::NoIcon, tr("About kvplan"),
      tr("kvplan %1\nWhere the KV-cache bytes of an LLM server go.\nApache-2.0; uses Qt under the LGPL.")
          .arg(to_qstring(kVersion)),
      QMessageBox::NoButton, this);
  box->setObjectName(QStringLiteral("about-box"));
  box->addButton(tr("Close"), QMessageBox::RejectRole);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

void MainWindow::show_keys() {
  QString text =
      tr("In the chart:\nW, S or wheel: zoom\nA, D or drag: move\nLeft, Right: move the cursor\nShift+drag, "
         "Shift+Left, Shift+Right: mark a range\nF: show the marked range\nHome or double click: show "
         "everything\nEsc: clear cursor and mark, or undo a drag\n\nEverywhere:\n");
  for (const QAction* action : commands_->findChildren<QAction*>()) {
    if (action->shortcut().isEmpty()) continue;
    text += tr("%1: %2\n")
                .arg(action->shortcut().toString(QKeySequence::NativeText), without_mnemonic(action->text()));
  }
  auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Keys"), text, QMessageBox::NoButton, this);
  box->setObjectName(QStringLiteral("keys-box"));
  box->addButton(tr("Close"), QMessageBox::RejectRole);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setModal(false);
  box->show();
}

}  // namespace kvplan::gui
