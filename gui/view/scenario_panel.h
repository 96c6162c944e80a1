// The scenario as a form, made from runs::scenario_fields() and the catalogues of components. A component or parameter
// in its catalogue gets a row in the form.
//
// A row has the name, an editor, the unit, and an arrow to reset a given value to the default. An invalid entry keeps
// its text, and its row shows an error sign.
#pragma once

#include <QAction>
#include <QPointer>
#include <QWidget>
#include <map>
#include <vector>

#include "simulator/scenario/scenario.h"

class QFormLayout;
class QLayout;
class QLineEdit;
class QScrollArea;
class QToolButton;

namespace kvplan::gui {

class ScenarioDocument;

class ScenarioPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit ScenarioPanel(const ScenarioDocument& document, QWidget* parent = nullptr);

  /// Shows the document's scenario; rows of components are created again when another component is chosen.
  void refresh();
  /// Puts an error sign at the row that the error names, if any.
  void show_error(const Error& error);
  void clear_error();
  /// Shows every setting; otherwise those that matter most, those that were given, and those that the search finds.
  void show_all(bool all);
  /// A word of the names, paths or explanations of settings.
  void search(const QString& text);
  /// Values can be viewed and scrolled, but not changed.
  void set_read_only(bool read_only);
  /// The editor of a path; null if there is none.
  [[nodiscard]] QWidget* editor(const QString& path) const;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void edited(const QString& path, const QString& text);
  void reset_asked(const QString& path);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  struct Row {
    QString path;
    QWidget* editor{nullptr};
    QToolButton* reset{nullptr};
    QFormLayout* form{nullptr};
    QLayout* line{nullptr};
  };
  void make_form();
  void translate();
  [[nodiscard]] bool is_wanted(const Row& row) const;
  void show_wanted();
  void add_field(QFormLayout* form, const runs::Field& field);
  /// Returns true if it created new rows.
  bool fill_component(const runs::Field& field, const Choice& choice);
  /// Sets the order of the Tab key to that of the rows, whenever they were created.
  void order_tabs();
  Row make_row(QFormLayout* form, const QString& path, const QString& name, const QString& help,
               QWidget* editor, Unit unit);
  QWidget* param_editor(const QString& path, const Param& param);
  QWidget* line_editor(const QString& path);
  QWidget* list_editor(const QString& path, const std::vector<QString>& items);
  void show_row(const Row& row, const QString& text);

  const ScenarioDocument& document_;
  std::map<QString, QFormLayout*> groups_;
  std::vector<Row> rows_;
  struct Component {
    QString shown;  ///< the component of the shown rows
    QWidget* holder{nullptr};
    std::vector<Row> rows;
  };
  std::map<std::string_view, Component> components_;  // by path
  QLineEdit* search_{nullptr};
  QToolButton* all_{nullptr};
  QScrollArea* scroll_{nullptr};
  bool read_only_{false};
  QPointer<QAction> error_sign_;  // in a line editor
};

}  // namespace kvplan::gui
