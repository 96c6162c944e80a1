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
#include "gui/view/timeline_view.h"
#include "gui/viewmodel/formatting.h"
#include "simulator/base/version.h"

namespace kvplan::gui {

QAction* MainWindow::add_action(QMenu* menu, const QString& text, const QKeySequence& keys, const char* name,
                                std::function<void()> what) {
  auto* action = new QAction(text, this);
  action->setShortcut(keys);
  action->setObjectName(QString::fromLatin1(name));
  connect(action, &QAction::triggered, this, std::move(what));
  menu->addAction(action);
  return action;
}

void MainWindow::make_menus() {
  QMenu* const file = menuBar()->addMenu(tr("&File"));
  add_action(file, tr("&Open…"), QKeySequence::Open, "open", [this] { choose_files(); });
  file->addSeparator();
  add_action(file, tr("&Quit"), QKeySequence::Quit, "quit", [this] { close(); });

  QMenu* const edit_menu = menuBar()->addMenu(tr("&Edit"));
  QAction* const undo = document_.undo_stack().createUndoAction(this, tr("Undo"));
  undo->setShortcut(QKeySequence::Undo);
  undo->setObjectName(QStringLiteral("undo"));
  QAction* const redo = document_.undo_stack().createRedoAction(this, tr("Redo"));
  redo->setShortcut(QKeySequence::Redo);
  redo->setObjectName(QStringLiteral("redo"));
  edit_menu->addActions({undo, redo});
  edit_menu->addSeparator();
  add_action(edit_menu, tr("&Copy Picture and Data"), QKeySequence::Copy, "copy", [this] { copy_shown(); });
  add_action(edit_menu, tr("Copy as Co&mmand"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C),
             "copy-command", [this] { QGuiApplication::clipboard()->setText(command()); });

  QMenu* const view = menuBar()->addMenu(tr("&View"));
  const auto middle = [this] { return timeline_->range().begin + timeline_->range().length() / 2; };
  add_action(view, tr("Zoom &In"), QKeySequence::ZoomIn, "zoom-in",
             [this, middle] { timeline_->zoom(1.25, timeline_->cursor().value_or(middle())); });
  add_action(view, tr("Zoom &Out"), QKeySequence::ZoomOut, "zoom-out",
             [this, middle] { timeline_->zoom(0.8, timeline_->cursor().value_or(middle())); });
  add_action(view, tr("Show &All"), QKeySequence(Qt::CTRL | Qt::Key_0), "show-all",
             [this] { timeline_->show_all(); });
  add_action(view, tr("Show &Marked Range"), {}, "show-marked", [this] { timeline_->show_marked(); });
  show_table_ = add_action(view, tr("Show as &Table"), QKeySequence(Qt::CTRL | Qt::Key_T), "show-table",
                           [this] { show_table(show_table_->isChecked()); });
  show_table_->setCheckable(true);
  view->addSeparator();
  QMenu* const themes = view->addMenu(tr("T&heme"));
  auto* group = new QActionGroup(this);
  for (const auto& [theme, text] :
       {std::pair{Theme::kSystem, tr("As the &Desktop")}, std::pair{Theme::kLight, tr("&Light")},
        std::pair{Theme::kDark, tr("&Dark")}}) {
    QAction* const action = themes->addAction(text);
    action->setObjectName(QStringLiteral("theme-") + theme_name(theme));
    action->setCheckable(true);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, theme = theme] { set_theme(theme); });
    connect(themes, &QMenu::aboutToShow, action,
            [this, action, theme = theme] { action->setChecked(theme == theme_); });
  }
  view->addSeparator();
  for (QDockWidget* dock : findChildren<QDockWidget*>()) view->addAction(dock->toggleViewAction());
  add_action(view, tr("&Reset Layout"), {}, "reset-layout", [this] { restoreState(first_layout_, 1); });

  QMenu* const run = menuBar()->addMenu(tr("&Run"));
  add_action(run, tr("&Run Again"), QKeySequence::Refresh, "run", [this] { request_run(true); });
  add_action(run, tr("&Cancel"), QKeySequence(Qt::CTRL | Qt::Key_Period), "cancel-run", [this] {
    cancelled_ = true;
    worker_.cancel();
  });

  QMenu* const help = menuBar()->addMenu(tr("&Help"));
  add_action(help, tr("&Keys"), QKeySequence::HelpContents, "keys", [this] { show_keys(); });
  add_action(help, tr("&About kvplan"), {}, "about", [this] {
    QMessageBox::about(
        this, tr("About kvplan"),
        tr("kvplan %1\nWhere the KV-cache bytes of a language-model server go.\nApache-2.0; uses Qt "
           "under the LGPL.")
            .arg(to_qstring(kVersion)));
  });
  add_action(help, tr("About &Qt"), {}, "about-qt", [] { QApplication::aboutQt(); });
}

void MainWindow::show_keys() {
  QString text =
      tr("In the chart:\nW, S or wheel: zoom\nA, D or drag: move\nLeft, Right: move the cursor\n"
         "Shift+drag, Shift+Left, Shift+Right: mark a range\nF: show the marked range\n"
         "Home or double click: show everything\nEsc: clear cursor and mark\n\nEverywhere:\n");
  for (const QAction* action : findChildren<QAction*>()) {
    if (action->shortcut().isEmpty()) continue;
    text += action->shortcut().toString(QKeySequence::NativeText) + QStringLiteral(": ") +
            action->text().remove(QLatin1Char('&')) + QLatin1Char('\n');
  }
  auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Keys"), text, QMessageBox::Close, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->setModal(false);
  box->show();
}

}  // namespace kvplan::gui
