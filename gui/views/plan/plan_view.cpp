#include "gui/views/plan/plan_view.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "gui/views/painting.h"
#include "gui/views/table_pane.h"

namespace kvplan::gui {
namespace {

double price(const PlannedOption& option) {
  return option.cost_per_hour.value_or(static_cast<double>(option.gpus));
}

}  // namespace

void CostChart::show_document(std::shared_ptr<const PlanDocument> document, int row) {
  document_ = std::move(document);
  row_ = row;
  setMinimumHeight(sizeHint().height());
  update();
}

int CostChart::line() const {
  return fontMetrics().height() + 6;
}

QSize CostChart::sizeHint() const {
  const int rows = document_ ? static_cast<int>(document_->options.size()) : 0;
  return {400, (std::min(rows, 12) + 1) * line()};
}

void CostChart::draw(QPainter& painter, const QSize& size) const {
  if (!document_) return;
  double most = 0;
  int names = 0;
  for (const PlannedOption& option : document_->options) {
    most = std::max(most, price(option));
    names = std::max(
        names, painter.fontMetrics().horizontalAdvance(option.role + QStringLiteral("  ") + option.name));
  }
  names = std::min(names, size.width() / 2);
  const int left = names + 3 * kGap;
  const int values = 180;
  for (std::size_t i = 0; i < document_->options.size(); ++i) {
    const PlannedOption& option = document_->options[i];
    const QRect row(kGap, static_cast<int>(i) * line(), size.width() - 2 * kGap, line());
    if (row.bottom() > size.height()) break;
    if (static_cast<int>(i) == row_) {
      QColor mark = palette().color(QPalette::Highlight);
      mark.setAlpha(60);
      painter.fillRect(row, mark);
    }
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(QRect(kGap, row.top(), names, line()), Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(option.role + QStringLiteral("  ") + option.name,
                                                      Qt::ElideRight, names));
    const double part = most > 0 ? price(option) / most : 0;
    const QRectF bar(left, row.top() + 3, part * std::max(10, size.width() - left - values - kGap),
                     line() - 6);
    painter.fillRect(bar, series_colour(option.meets ? 0 : 1, palette()));
    if (!option.meets) painter.fillRect(bar, QBrush(QColor(0, 0, 0, 110), Qt::BDiagPattern));
    const QString cost =
        option.cost_per_hour
            ? tr("%1 %2 per hour").arg(format_number(*option.cost_per_hour), document_->currency)
            : tr("%1 GPUs").arg(option.gpus);
    painter.drawText(QPointF(bar.right() + kGap, row.center().y() + painter.fontMetrics().ascent() / 2.0),
                     option.meets ? cost : tr("%1, misses").arg(cost));
  }
}

void CostChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  draw(painter, size());
}

void CostChart::mousePressEvent(QMouseEvent* event) {
  const int row = static_cast<int>(event->position().y()) / line();
  if (document_ && row >= 0 && row < static_cast<int>(document_->options.size())) Q_EMIT row_asked(row);
}

PlanView::PlanView(QWidget* parent)
    : View(parent),
      options_(new TableModel(this)),
      steps_(new TableModel(this)),
      filtered_(new FilteredTable(*steps_, this)),
      words_(new QLabel(this)),
      chart_(new CostChart(this)),
      options_table_(make_table(*options_, QStringLiteral("plan-options"), this)),
      open_(new QPushButton(this)),
      filter_(new QLineEdit(this)),
      steps_table_(make_table(*filtered_, QStringLiteral("plan-steps"), this)) {
  setObjectName(QStringLiteral("plan"));
  open_->setObjectName(QStringLiteral("plan-open"));
  filter_->setObjectName(QStringLiteral("plan-filter"));
  filter_->setClearButtonEnabled(true);
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* bar = new QHBoxLayout;
  bar->addWidget(filter_, 1);
  bar->addWidget(open_);
  auto* parts = new QSplitter(Qt::Vertical, this);
  parts->addWidget(options_table_);
  parts->addWidget(steps_table_);
  parts->setChildrenCollapsible(false);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  column->addWidget(words_);
  column->addWidget(chart_);
  column->addLayout(bar);
  column->addWidget(parts, 1);
  connect(chart_, &CostChart::row_asked, options_table_, &QTableView::selectRow);
  connect(options_table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            chart_->show_document(document_, now.row());
            open_->setEnabled(document_ && now.isValid() &&
                              !document_->options[static_cast<std::size_t>(now.row())].settings.empty());
          });
  connect(options_table_, &QTableView::activated, this, &PlanView::open_chosen);
  connect(open_, &QPushButton::clicked, this, &PlanView::open_chosen);
  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    auto terms = parse_filter(text, steps_->content().columns);
    if (terms.ok()) filtered_->set_terms(std::move(terms).value());
  });
  open_->setEnabled(false);
  show_tables();
  translate();
}

void PlanView::translate() {
  setAccessibleName(tr("Plan"));
  chart_->setAccessibleName(tr("Cost of the deployments"));
  options_table_->setAccessibleName(tr("Deployments of the plan"));
  steps_table_->setAccessibleName(tr("What the search tried, and why"));
  open_->setText(tr("Edit as &Scenario"));
  filter_->setPlaceholderText(
      tr("Filter what the search tried: a word of the deployment, the reason or the outcome"));
  filter_->setAccessibleName(tr("Filter of the search"));
}

void PlanView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) {
    translate();
    show_tables();
  }
  View::changeEvent(event);
}

void PlanView::show_tables() {
  options_->show(plan_options_table(document_));
  steps_->show(plan_steps_table(document_));
  fit_columns(*options_table_);
  fit_columns(*steps_table_);
}

void PlanView::refresh() {
  const auto now = std::dynamic_pointer_cast<const PlanDocument>(workspace().document("plan"));
  if (now != document_) {
    document_ = now;
    show_tables();
    chart_->show_document(document_, -1);
    if (document_ && !document_->options.empty()) options_table_->selectRow(0);
  }
  words_->setText(value_text());
}

QString PlanView::value_text() const {
  if (!document_)
    return tr("Open a plan: %1")
        .arg(QStringLiteral("kvplan plan SCENARIO --target 'ttft p99 < 2' --json FILE"));
  QStringList words;
  if (!document_->options.empty() && document_->options.front().meets) {
    const PlannedOption& best = document_->options.front();
    words << tr("The cheapest deployment that meets the targets: %1.").arg(best.name);
    if (!best.targets.isEmpty()) words << best.targets + QLatin1Char('.');
  } else {
    words << tr("No deployment that was tried meets the targets.");
  }
  if (!document_->binding.isEmpty())
    words << tr("It is limited by %1.").arg(document_->binding.join(QStringLiteral(", ")));
  if (!document_->headroom.isEmpty())
    words << tr("It holds up to %1 times the load.").arg(document_->headroom);
  words << tr("The search tried %1 cases.").arg(document_->steps.size());
  return words.join(QLatin1Char(' '));
}

void PlanView::open_chosen() {
  const QModelIndex row = options_table_->currentIndex();
  if (!document_ || !row.isValid()) return;
  const auto& settings = document_->options[static_cast<std::size_t>(row.row())].settings;
  if (settings.empty()) return;
  Q_EMIT workspace().scenario_asked(settings);
  Q_EMIT workspace().view_asked(QStringLiteral("timeline"));
}

QString PlanView::csv() {
  return csv_of(*options_) + QLatin1Char('\n') + csv_of(*filtered_);
}

QString PlanView::command() const {
  return document_ ? QStringLiteral("cat '%1'").arg(to_qstring(document_->path)) : QString();
}

void PlanView::draw(QPainter& painter, const QSize& size) {
  const int line = painter.fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(kGap, kGap, size.width() - 2 * kGap, 3 * line), Qt::AlignLeft | Qt::TextWordWrap,
                   value_text());
  const int chart = std::min(chart_->sizeHint().height(), size.height() / 3);
  painter.save();
  painter.translate(0, 3 * line + 2 * kGap);
  chart_->draw(painter, QSize(size.width(), chart));
  painter.restore();
  const int below = 3 * line + 3 * kGap + chart;
  const int half = (size.height() - below) / 2;
  paint_table(painter, QRect(kGap, below, size.width() - 2 * kGap, half - kGap), *options_, 0, palette());
  paint_table(painter, QRect(kGap, below + half, size.width() - 2 * kGap, half - kGap), *filtered_, 0,
              palette());
}

}  // namespace kvplan::gui
