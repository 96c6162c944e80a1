#include "gui/view/scenario_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QFileInfo>
#include <QFormLayout>
#include <QGroupBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "gui/viewmodel/catalogue_text.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/scenario_document.h"
#include "simulator/modelfile/catalogue.h"
#include "simulator/modelfile/device_catalogue.h"

namespace kvplan::gui {
namespace {

using runs::Field;
using runs::FieldKind;

/// Shown without a search: model, device, GPUs, pool, engine and policy.
constexpr std::array<std::string_view, 6> kMatterMost{
    "model", "deployment.device", "deployment.tp", "memory.pool_bytes", "engine", "eviction"};

/// What is before the dot of a path; of a path without one the path itself.
QString group_of(const Field& field) {
  const bool general = field.path == "model" || field.path == "seed";
  if (field.path == "budget" || field.path == "reader") return field_words("eviction");
  return general ? ScenarioPanel::tr("general") : field_words(field.path.substr(0, field.path.find('.')));
}

/// A path in words: "memory allocator block tokens".
QString spoken(const QString& path) {
  QStringList out;
  for (const QString& part : path.split(QLatin1Char('.'))) out << field_words(to_utf8(part));
  return out.join(QLatin1Char(' '));
}

QString range_of(const Param& param) {
  if (param.kind != ParamKind::kInteger && param.kind != ParamKind::kDecimal) return {};
  const QString range = ScenarioPanel::tr("from %1 to %2").arg(param.low).arg(param.high);
  return param.fallback.empty() ? range
                                : ScenarioPanel::tr("%1, usually %2").arg(range, to_qstring(param.fallback));
}

QString range_of(const Field& field) {
  if (field.kind == FieldKind::kSeconds) return ScenarioPanel::tr("a positive number of seconds");
  if (field.kind == FieldKind::kFraction) return ScenarioPanel::tr("p/q or a decimal number");
  if (field.kind != FieldKind::kInteger) return {};
  return ScenarioPanel::tr("from %1 to %2").arg(field.low).arg(field.high);
}

}  // namespace

ScenarioPanel::ScenarioPanel(const ScenarioDocument& document, QWidget* parent)
    : QWidget(parent), document_(document), scroll_(new QScrollArea(this)) {
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll_->setFocusPolicy(Qt::NoFocus);
  search_ = new QLineEdit(this);
  search_->setObjectName(QStringLiteral("form-search"));
  search_->setClearButtonEnabled(true);
  all_ = new QToolButton(this);
  all_->setObjectName(QStringLiteral("form-all"));
  all_->setCheckable(true);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(6, 2, 6, 0);
  bar->addWidget(search_, 1);
  bar->addWidget(all_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(bar);
  layout->addWidget(scroll_, 1);
  connect(search_, &QLineEdit::textChanged, this, &ScenarioPanel::show_wanted);
  connect(all_, &QToolButton::toggled, this, &ScenarioPanel::show_wanted);
  translate();
  make_form();
}

void ScenarioPanel::translate() {
  search_->setPlaceholderText(tr("Search settings"));
  search_->setAccessibleName(tr("Search settings"));
  all_->setText(tr("All"));
  all_->setToolTip(tr("Shows every setting; otherwise those that matter most and those that were given"));
}

void ScenarioPanel::show_all(bool all) {
  all_->setChecked(all);
}

void ScenarioPanel::search(const QString& text) {
  search_->setText(text);
}

bool ScenarioPanel::is_wanted(const Row& row) const {
  if (all_->isChecked()) return true;
  const QString wanted = search_->text().trimmed();
  if (!wanted.isEmpty())
    return row.path.contains(wanted, Qt::CaseInsensitive) ||
           spoken(row.path).contains(wanted, Qt::CaseInsensitive) ||
           row.editor->accessibleDescription().contains(wanted, Qt::CaseInsensitive);
  return std::find(kMatterMost.begin(), kMatterMost.end(), to_utf8(row.path)) != kMatterMost.end() ||
         document_.is_given(to_utf8(row.path)) || row.editor->hasFocus();
}

void ScenarioPanel::show_wanted() {
  std::map<QFormLayout*, bool> groups;
  const auto show = [this](const Row& row, bool wanted) {
    // With all that stands in the row. Only where it changes: a slider's step comes by here.
    if (row.editor->isHidden() == wanted) row.form->setRowVisible(row.line, wanted);
    if (row.reset != nullptr) row.reset->setVisible(wanted && document_.is_given(to_utf8(row.path)));
  };
  for (const Row& row : rows_) {
    bool wanted = is_wanted(row);
    const auto component = components_.find(to_utf8(row.path));
    if (component != components_.end()) {
      const bool inside = std::any_of(component->second.rows.begin(), component->second.rows.end(),
                                      [this](const Row& param) { return is_wanted(param); });
      if (component->second.holder->isHidden() == inside)
        row.form->setRowVisible(component->second.holder, inside);
      for (const Row& param : component->second.rows) show(param, is_wanted(param));
      wanted = wanted || inside;
    }
    show(row, wanted);
    groups[row.form] = groups[row.form] || wanted;
  }
  for (const auto& [form, wanted] : groups)
    if (form->parentWidget()->isHidden() == wanted) form->parentWidget()->setVisible(wanted);
}

void ScenarioPanel::make_form() {
  groups_.clear();
  rows_.clear();
  components_.clear();
  auto* inner = new QWidget(this);
  auto* column = new QVBoxLayout(inner);
  inner->setObjectName(QStringLiteral("scenario-form"));
  for (const Field& field : runs::scenario_fields()) {
    const QString title = group_of(field);
    if (!groups_.contains(title)) {
      auto* box = new QGroupBox(title, inner);
      auto* form = new QFormLayout(box);
      form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
      form->setContentsMargins(6, 4, 4, 4);
      form->setVerticalSpacing(2);
      column->addWidget(box);
      groups_[title] = form;
    }
    add_field(groups_[title], field);
  }
  column->addStretch(1);
  inner->setEnabled(!read_only_);
  scroll_->setWidget(inner);  // the previous widget is deleted
  refresh();
}

void ScenarioPanel::set_read_only(bool read_only) {
  read_only_ = read_only;
  scroll_->widget()->setEnabled(!read_only);
}

void ScenarioPanel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) {
    translate();
    make_form();
  }
  QWidget::changeEvent(event);
}

QSize ScenarioPanel::minimumSizeHint() const {
  // The form is never cut at its side: it scrolls only up and down.
  return {scroll_->widget()->minimumSizeHint().width() + scroll_->verticalScrollBar()->sizeHint().width() + 2,
          120};
}

void ScenarioPanel::add_field(QFormLayout* form, const Field& field) {
  const QString path = to_qstring(field.path);
  QString help = catalogue_text(field.help);
  QWidget* editor = nullptr;
  if (field.kind == FieldKind::kComponent) {
    std::vector<QString> names;
    for (const Descriptor* descriptor : runs::family_descriptors(field.family))
      names.push_back(to_qstring(descriptor->name));
    editor = list_editor(path, names);
  } else if (field.path == "deployment.device") {
    std::vector<QString> names{QString()};  // none
    for (const model::DeviceShape& device : model::devices()) names.push_back(to_qstring(device.name));
    editor = list_editor(path, names);
  } else if (field.path == "model") {
    std::vector<QString> names;
    for (const model::ModelShape& shape : model::models()) names.push_back(to_qstring(shape.name));
    names.push_back(QStringLiteral("recording"));  // see the field's help
    editor = list_editor(path, names);
  } else {
    auto* line = static_cast<QLineEdit*>(line_editor(path));
    if (field.path == "workload.trace") {  // read by opening it: see File > Open
      line->setReadOnly(true);
      help = tr("%1. Open another one with File > Open").arg(help);
    }
    editor = line;
  }
  const QString range = range_of(field);
  if (!range.isEmpty()) help = tr("%1: %2").arg(help, range);
  rows_.push_back(make_row(form, path, field_words(field.path), help, editor, field.unit));
  if (field.path == "workload.trace") {  // a window without its trace shows nothing
    delete rows_.back().reset;
    rows_.back().reset = nullptr;
  }
  if (field.kind != FieldKind::kComponent) return;
  auto* holder = new QWidget(this);
  auto* inner = new QFormLayout(holder);
  inner->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  inner->setContentsMargins(10, 0, 0, 0);
  inner->setVerticalSpacing(2);
  form->addRow(holder);
  components_[field.path].holder = holder;
}

QWidget* ScenarioPanel::line_editor(const QString& path) {
  auto* line = new QLineEdit(this);
  line->setMinimumWidth(70);
  connect(line, &QLineEdit::editingFinished, this, [this, path, line] {
    if (line->isModified() && !line->isReadOnly()) {
      line->setModified(false);
      Q_EMIT edited(path, line->text().trimmed());
    }
  });
  return line;
}

QWidget* ScenarioPanel::list_editor(const QString& path, const std::vector<QString>& items) {
  auto* list = new QComboBox(this);
  for (const QString& item : items) list->addItem(item);
  list->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  list->setMinimumContentsLength(8);
  connect(list, &QComboBox::activated, this,
          [this, path, list](int index) { Q_EMIT edited(path, list->itemText(index)); });
  return list;
}

QWidget* ScenarioPanel::param_editor(const QString& path, const Param& param) {
  if (param.kind == ParamKind::kFlag) {
    auto* box = new QCheckBox(this);
    connect(box, &QCheckBox::clicked, this, [this, path](bool on) {
      Q_EMIT edited(path, on ? QStringLiteral("true") : QStringLiteral("false"));
    });
    return box;
  }
  if (param.kind == ParamKind::kText && !param.choices.empty()) {
    std::vector<QString> items;
    for (const std::string_view choice : param.choices) items.push_back(to_qstring(choice));
    return list_editor(path, items);
  }
  return line_editor(path);
}

ScenarioPanel::Row ScenarioPanel::make_row(QFormLayout* form, const QString& path, const QString& name,
                                           const QString& help, QWidget* editor, Unit unit) {
  auto* reset = new QToolButton(this);
  reset->setText(QStringLiteral("↺"));
  reset->setAutoRaise(true);
  reset->setToolTip(tr("Back to the default"));
  reset->setAccessibleName(tr("Reset %1").arg(spoken(path)));
  QSizePolicy keep = reset->sizePolicy();
  keep.setRetainSizeWhenHidden(true);
  reset->setSizePolicy(keep);
  connect(reset, &QToolButton::clicked, this, [this, path] { Q_EMIT reset_asked(path); });
  // A name that ends in its unit, or a ratio, needs no unit beside it.
  const QString unit_name_text = catalogue_text(unit_name(unit));
  const bool said = unit == Unit::kRatio || name.endsWith(unit_name_text);
  const QString unit_text = said ? QString() : unit_name_text;
  editor->setObjectName(QStringLiteral("field:") + path);
  editor->setToolTip(help);
  editor->setAccessibleName(unit_text.isEmpty() ? spoken(path) : tr("%1 (%2)").arg(spoken(path), unit_text));
  editor->setAccessibleDescription(help);
  auto* label = new QLabel(unit_text.isEmpty() ? name : tr("%1 (%2)").arg(name, unit_text), this);
  label->setToolTip(help);
  label->setBuddy(editor);
  auto* line = new QHBoxLayout;
  line->setContentsMargins(0, 0, 0, 0);
  line->setSpacing(2);
  line->addWidget(editor, 1);
  line->addWidget(reset);
  form->addRow(label, line);
  return {path, editor, reset, form, line};
}

bool ScenarioPanel::fill_component(const Field& field, const Choice& choice) {
  Component& component = components_[field.path];
  const QString name = to_qstring(choice.name());
  const bool anew = component.shown != name;
  if (anew) {
    component.shown = name;
    component.rows.clear();
    auto* form = static_cast<QFormLayout*>(component.holder->layout());
    while (form->rowCount() > 0) form->removeRow(0);
    for (const Param& param : choice.descriptor().params) {
      const QString path = to_qstring(field.path) + QLatin1Char('.') + to_qstring(param.name);
      QString help = catalogue_text(param.help);
      const QString range = range_of(param);
      if (!range.isEmpty()) help = tr("%1: %2").arg(help, range);
      component.rows.push_back(
          make_row(form, path, field_words(param.name), help, param_editor(path, param), param.unit));
    }
    editor(to_qstring(field.path))->setToolTip(catalogue_text(choice.descriptor().summary));
  }
  for (std::size_t i = 0; i < component.rows.size(); ++i)
    show_row(component.rows[i], to_qstring(choice.values()[i].text));
  return anew;
}

void ScenarioPanel::show_row(const Row& row, const QString& text) {
  const QSignalBlocker quiet(row.editor);
  if (auto* line = qobject_cast<QLineEdit*>(row.editor)) {
    const QString shown = line->isReadOnly() ? QFileInfo(text).fileName() : text;
    if (line->text() != shown && !line->isModified()) line->setText(shown);
    if (line->isReadOnly()) {
      line->setToolTip(text);
      line->setCursorPosition(0);
    }
  } else if (auto* list = qobject_cast<QComboBox*>(row.editor)) {
    if (list->findText(text) < 0) list->addItem(text);  // a scenario may name what no catalogue has
    list->setCurrentIndex(list->findText(text));
  } else if (auto* box = qobject_cast<QCheckBox*>(row.editor)) {
    box->setChecked(text == QStringLiteral("true"));
  }
  if (row.reset != nullptr) row.reset->setVisible(document_.is_given(to_utf8(row.path)));
}

void ScenarioPanel::refresh() {
  const runs::Scenario& scenario = document_.scenario();
  const auto fields = runs::scenario_fields();
  bool anew = false;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind != FieldKind::kComponent) {
      show_row(rows_[i], to_qstring(scenario.texts[i]));
      continue;
    }
    const Choice choice = runs::parse_member(fields[i].family, scenario.texts[i]).value();
    show_row(rows_[i], to_qstring(choice.name()));
    anew |= fill_component(fields[i], choice);
  }
  if (anew) order_tabs();
  show_wanted();
}

void ScenarioPanel::order_tabs() {
  setTabOrder(search_, all_);
  QWidget* last = all_;
  const auto follow = [&last](const Row& row) {
    for (QWidget* next : {row.editor, static_cast<QWidget*>(row.reset)}) {
      if (next == nullptr) continue;
      setTabOrder(last, next);
      last = next;
    }
  };
  for (const Row& row : rows_) {
    follow(row);
    const auto component = components_.find(to_utf8(row.path));
    if (component == components_.end()) continue;
    for (const Row& param : component->second.rows) follow(param);
  }
}

QWidget* ScenarioPanel::editor(const QString& path) const {
  return findChild<QWidget*>(QStringLiteral("field:") + path);
}

void ScenarioPanel::show_error(const Error& error) {
  clear_error();
  // "memory.allocator: block_tokens" names a parameter of a component.
  QString path = to_qstring(error.field);
  path.replace(QStringLiteral(": "), QStringLiteral("."));
  auto* line = qobject_cast<QLineEdit*>(editor(path));
  if (line == nullptr) return;
  error_sign_ =
      line->addAction(style()->standardIcon(QStyle::SP_MessageBoxWarning), QLineEdit::TrailingPosition);
  error_sign_->setToolTip(to_qstring(error.message));
}

void ScenarioPanel::clear_error() {
  delete error_sign_.data();
}

}  // namespace kvplan::gui
