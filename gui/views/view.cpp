#include "gui/views/view.h"

#include <QAbstractItemModel>
#include <QAccessibleWidget>
#include <QBuffer>
#include <QEvent>
#include <QPainter>
#include <QSvgGenerator>

#include "gui/viewmodel/formatting.h"
#include "gui/views/table_model.h"
#include "simulator/base/read_files.h"
#include "traces/io/output.h"

namespace kvplan::gui {
namespace {

constexpr int kExportScale = 2;  // pixels of a picture file per logical pixel

QImage picture_of(View& view, qreal scale) {
  QImage image(view.size() * scale, QImage::Format_RGB32);
  image.setDevicePixelRatio(scale);
  image.fill(view.palette().color(QPalette::Window));
  QPainter painter(&image);
  painter.setFont(view.font());
  view.draw(painter, view.size());
  return image;
}

QByteArray svg_of(View& view) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator svg;
  svg.setOutputDevice(&buffer);
  svg.setSize(view.size());
  svg.setViewBox(QRect(QPoint(0, 0), view.size()));
  svg.setTitle(view.accessibleName());
  svg.setDescription(view.value_text());
  QPainter painter(&svg);
  painter.setFont(view.font());
  painter.fillRect(QRect(QPoint(0, 0), view.size()), view.palette().color(QPalette::Window));
  view.draw(painter, view.size());
  painter.end();
  return bytes;
}

}  // namespace

void View::attach(Workspace& workspace) {
  workspace_ = &workspace;
  connect(&workspace, &Workspace::slots_changed, this, &View::outdate);
  connect(&workspace, &Workspace::documents_changed, this, &View::outdate);
  connect(&workspace, &Workspace::inspected, this, &View::outdate);
  connect(&workspace.selection(), &SelectionModel::changed, this, &View::outdate);
  outdate();
}

void View::outdate() {
  outdated_ = true;
  if (!isVisible() || !attached()) return;
  outdated_ = false;
  refresh();
}

void View::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (!outdated_ || !attached()) return;
  outdated_ = false;
  refresh();
}

void View::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::LanguageChange) outdate();
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
}

QString View::csv() {
  return csv_of(*table());
}

QString View::copied_text() {
  return csv_of(*table(), QLatin1Char('\t'));
}

std::unique_ptr<QMimeData> View::copied() {
  auto mime = std::make_unique<QMimeData>();
  if (empty()) return mime;
  mime->setImageData(picture_of(*this, devicePixelRatioF()));
  mime->setText(copied_text());
  return mime;
}

Status export_view(View& view, const QString& path) {
  const std::string file = to_utf8(path);
  if (view.empty()) return bad_input("there is nothing to export yet").at_file(file);
  KVPLAN_TRY_DO(check_not_read(file));
  QByteArray bytes;
  if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive)) {
    QBuffer buffer(&bytes);
    if (!picture_of(view, kExportScale).save(&buffer, "PNG"))
      return bad_input("the picture could not be made").at_file(file);
  } else if (path.endsWith(QLatin1String(".svg"), Qt::CaseInsensitive)) {
    bytes = svg_of(view);
  } else if (path.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive)) {
    bytes = view.csv().toUtf8();
  } else {
    return bad_input("expected a name that ends in .png, .svg or .csv").at_file(file);
  }
  KVPLAN_TRY(const auto out, traces::create_output(file));
  KVPLAN_TRY_DO(out->write({bytes.constData(), static_cast<std::size_t>(bytes.size())}));
  return out->commit();
}

namespace {

/// A view for screen readers: a chart with its value in words.
class ViewAccessible final : public QAccessibleWidget, public QAccessibleValueInterface {
 public:
  explicit ViewAccessible(View* view) : QAccessibleWidget(view, QAccessible::Chart), view_(view) {}

  void* interface_cast(QAccessible::InterfaceType type) override {
    if (type == QAccessible::ValueInterface) return static_cast<QAccessibleValueInterface*>(this);
    return QAccessibleWidget::interface_cast(type);
  }
  [[nodiscard]] QString text(QAccessible::Text kind) const override {
    return kind == QAccessible::Value ? view_->value_text() : QAccessibleWidget::text(kind);
  }
  [[nodiscard]] QVariant currentValue() const override { return view_->value_text(); }
  void setCurrentValue(const QVariant& /*value*/) override {}
  [[nodiscard]] QVariant maximumValue() const override { return {}; }
  [[nodiscard]] QVariant minimumValue() const override { return {}; }
  [[nodiscard]] QVariant minimumStepSize() const override { return {}; }

 private:
  View* view_;
};

}  // namespace

void install_view_accessibility() {
  QAccessible::installFactory([](const QString&, QObject* object) -> QAccessibleInterface* {
    auto* view = qobject_cast<View*>(object);
    return view == nullptr ? nullptr : new ViewAccessible(view);
  });
}

}  // namespace kvplan::gui
