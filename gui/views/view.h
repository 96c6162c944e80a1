// A view: a page of the window that shows results, or a file of its own kind, and that can be exported.
//
// A view is a folder of gui/views with a model of plain data, a painter, and a line in registry.cpp. It reads the
// workspace, which all views share; `refresh` is called when something there changed, but only while the view is
// visible, or as soon as it is.
#pragma once

#include <QMimeData>
#include <QWidget>
#include <memory>

#include "gui/views/workspace.h"

class QAbstractItemModel;

namespace kvplan::gui {

class View : public QWidget {
  Q_OBJECT

 public:
  explicit View(QWidget* parent = nullptr) : QWidget(parent) {}

  /// Connects the view to a workspace; called once, before the view is shown.
  virtual void attach(Workspace& workspace);

  /// The numbers of the picture, as a table for screen readers and files; never null.
  [[nodiscard]] virtual QAbstractItemModel* table() = 0;
  /// The same as CSV. If a command writes such a file, the text equals that file.
  [[nodiscard]] virtual QString csv();
  /// The command that prints these numbers; empty if nothing is shown.
  [[nodiscard]] virtual QString command() const = 0;
  /// Draws the picture into a rectangle from (0, 0), without focus marks: for files.
  virtual void draw(QPainter& painter, const QSize& size) = 0;
  /// The view's content in words: for screen readers and tests.
  [[nodiscard]] virtual QString value_text() const { return {}; }
  /// False: the view waits for a computation.
  [[nodiscard]] virtual bool settled() const { return true; }
  /// True: there is nothing to export.
  [[nodiscard]] virtual bool empty() const = 0;

  /// The picture, and its numbers separated by tabs.
  [[nodiscard]] std::unique_ptr<QMimeData> copied();

 protected:
  /// Shows the present contents of the workspace. REQUIRES: attached.
  virtual void refresh() = 0;
  [[nodiscard]] virtual QString copied_text();
  void outdate();
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;
  [[nodiscard]] Workspace& workspace() const { return *workspace_; }
  [[nodiscard]] bool attached() const { return workspace_ != nullptr; }

 private:
  Workspace* workspace_{nullptr};
  bool outdated_{true};
};

/// Writes a view as a picture (.png, .svg) or as numbers (.csv), by the ending of the file's name. Errors: another
/// ending, a file that was read, a file that cannot be written.
Status export_view(View& view, const QString& path);

/// Makes the values of views readable by screen readers; once per program, before the first view.
void install_view_accessibility();

}  // namespace kvplan::gui
