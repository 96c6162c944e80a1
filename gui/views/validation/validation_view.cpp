#include "gui/views/validation/validation_view.h"

#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/viewmodel/formatting.h"
#include "gui/views/painting.h"
#include "gui/views/table_pane.h"

namespace kvplan::gui {

void RatioChart::show_document(std::shared_ptr<const ValidationDocument> document, int row) {
  document_ = std::move(document);
  row_ = row;
  setMinimumHeight(sizeHint().height());
  update();
}

int RatioChart::line() const {
  return fontMetrics().height() + 4;
}

QSize RatioChart::sizeHint() const {
  const int rows = document_ ? static_cast<int>(document_->quantities.size()) : 0;
  return {400, (rows + 3) * line()};
}

void RatioChart::draw(QPainter& painter, const QSize& size) const {
  if (!document_) return;
  double far = std::log(1.1);  // at least 10 % to each side
  int names = 0;
  for (const ValidatedQuantity& quantity : document_->quantities) {
    if (const auto ratio = quantity.ratio()) far = std::max(far, std::abs(std::log(*ratio)));
    names = std::max(names, painter.fontMetrics().horizontalAdvance(quantity.name) + kGap);
  }
  names = std::min(names, size.width() / 2);
  const QRect plot(names + 3 * kGap, line(), std::max(20, size.width() - names - 5 * kGap - 60),
                   line() * static_cast<int>(document_->quantities.size()));
  const auto x_of = [&](double ratio) {
    return plot.center().x() + static_cast<int>(std::log(ratio) / (far * 1.05) * plot.width() / 2);
  };
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(0, 0, size.width(), line()), Qt::AlignHCenter, tr("measured / predicted"));
  for (const double mark : {0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0, 5.0, 10.0}) {
    if (std::abs(std::log(mark)) > far * 1.05) continue;
    const int x = x_of(mark);
    painter.setPen(mark == 1.0 ? palette().color(QPalette::WindowText) : faint(palette()));
    painter.drawLine(x, plot.top(), x, plot.bottom());
    painter.drawText(QRect(x - 30, plot.bottom() + 1, 60, line()), Qt::AlignHCenter, format_number(mark));
  }
  for (std::size_t i = 0; i < document_->quantities.size(); ++i) {
    const ValidatedQuantity& quantity = document_->quantities[i];
    const QRect row(kGap, plot.top() + static_cast<int>(i) * line(), size.width() - 2 * kGap, line());
    if (static_cast<int>(i) == row_) {
      QColor mark = palette().color(QPalette::Highlight);
      mark.setAlpha(60);
      painter.fillRect(row, mark);
    }
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(kGap, row.top(), names, line()), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(quantity.name, Qt::ElideMiddle, names));
    const auto ratio = quantity.ratio();
    const int y = row.center().y();
    if (!ratio) {
      const bool equal = quantity.predicted && quantity.predicted == quantity.measured;
      painter.drawText(QRect(plot.right() + kGap, row.top(), 60, line()), Qt::AlignLeft | Qt::AlignVCenter,
                       equal ? tr("equal") : QStringLiteral("–"));
      continue;
    }
    painter.setPen(QPen(series_colour(*ratio >= 1 ? 1 : 0, palette()), 2));
    painter.drawLine(x_of(1.0), y, x_of(*ratio), y);
    painter.setBrush(series_colour(*ratio >= 1 ? 1 : 0, palette()));
    painter.drawEllipse(QPoint(x_of(*ratio), y), 4, 4);
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(plot.right() + kGap, row.top(), 60, line()), Qt::AlignLeft | Qt::AlignVCenter,
                     format_number(*ratio));
  }
}

void RatioChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  draw(painter, size());
}

void RatioChart::mousePressEvent(QMouseEvent* event) {
  const int row = static_cast<int>(event->position().y()) / line() - 1;
  if (document_ && row >= 0 && row < static_cast<int>(document_->quantities.size())) Q_EMIT row_asked(row);
}

ValidationView::ValidationView(QWidget* parent)
    : View(parent),
      model_(new TableModel(this)),
      chart_(new RatioChart(this)),
      words_(new QLabel(this)),
      table_(make_table(*model_, QStringLiteral("validation-table"), this)) {
  setObjectName(QStringLiteral("validation"));
  model_->show(validation_table(nullptr));
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(chart_);
  auto* parts = new QSplitter(Qt::Vertical, this);
  parts->addWidget(scroll);
  parts->addWidget(table_);
  parts->setChildrenCollapsible(false);
  parts->setSizes({3000, 2000});
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  column->addWidget(words_);
  column->addWidget(parts, 1);
  connect(chart_, &RatioChart::row_asked, table_, &QTableView::selectRow);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) { chart_->show_document(document_, now.row()); });
  translate();
}

void ValidationView::translate() {
  setAccessibleName(tr("Validation"));
  table_->setAccessibleName(tr("Predicted and measured quantities"));
  chart_->setAccessibleName(tr("Ratios of measured to predicted"));
}

void ValidationView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) {
    translate();
    model_->show(validation_table(document_));
  }
  View::changeEvent(event);
}

void ValidationView::refresh() {
  const auto now = std::dynamic_pointer_cast<const ValidationDocument>(workspace().document("validation"));
  if (now != document_) {
    document_ = now;
    model_->show(validation_table(document_));
    fit_columns(*table_);
    chart_->show_document(document_, -1);
  }
  words_->setText(value_text());
}

QString ValidationView::value_text() const {
  if (!document_)
    return tr("Open a file of measured quantities: %1")
        .arg(QStringLiteral("kvplan-validate run SCENARIO --backend cuda --json FILE"));
  std::optional<double> worst;
  QString name;
  for (const ValidatedQuantity& quantity : document_->quantities) {
    const auto ratio = quantity.ratio();
    if (!ratio || (worst && std::abs(std::log(*ratio)) <= std::abs(std::log(*worst)))) continue;
    worst = ratio;
    name = quantity.name;
  }
  QStringList words;
  if (!document_->device.isEmpty()) words << tr("Measured on %1.").arg(document_->device);
  if (!document_->verdict.isEmpty()) words << tr("Verdict: %1.").arg(document_->verdict);
  words << tr("%1 quantities.").arg(document_->quantities.size());
  if (worst)
    words << tr("Farthest off: %1, measured %2 times the prediction.").arg(name, format_number(*worst));
  return words.join(QLatin1Char(' '));
}

QString ValidationView::command() const {
  return document_ ? QStringLiteral("cat '%1'").arg(to_qstring(document_->path)) : QString();
}

void ValidationView::draw(QPainter& painter, const QSize& size) {
  const int line = painter.fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(kGap, kGap, size.width() - 2 * kGap, 2 * line), Qt::AlignLeft | Qt::TextWordWrap,
                   value_text());
  painter.save();
  painter.translate(0, 2 * line + 2 * kGap);
  chart_->draw(painter, QSize(size.width(), size.height() - 2 * line - 2 * kGap));
  painter.restore();
  const int below = 2 * line + 3 * kGap + chart_->sizeHint().height();
  paint_table(painter, QRect(kGap, below, size.width() - 2 * kGap, size.height() - below - kGap), *model_, 0,
              palette());
}

}  // namespace kvplan::gui
