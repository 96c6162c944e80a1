#include "gui/views/sweep/sweep_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "gui/viewmodel/formatting.h"
#include "gui/views/painting.h"
#include "gui/views/sweep/scatter.h"
#include "gui/views/table_pane.h"
#include "simulator/sweep/table.h"

namespace kvplan::gui {

SweepView::SweepView(QWidget* parent)
    : View(parent),
      model_(new TableModel(this)),
      filtered_(new FilteredTable(*model_, this)),
      x_(new QComboBox(this)),
      y_(new QComboBox(this)),
      filter_(new QLineEdit(this)),
      words_(new QLabel(this)),
      open_(new QPushButton(this)),
      scatter_(new Scatter(this)),
      table_(make_table(*filtered_, QStringLiteral("sweep-table"), this)) {
  setObjectName(QStringLiteral("sweep"));
  x_->setObjectName(QStringLiteral("sweep-x"));
  y_->setObjectName(QStringLiteral("sweep-y"));
  filter_->setObjectName(QStringLiteral("sweep-filter"));
  open_->setObjectName(QStringLiteral("sweep-open"));
  filter_->setClearButtonEnabled(true);
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  table_->setSortingEnabled(true);
  table_->sortByColumn(0, Qt::AscendingOrder);
  for (QComboBox* box : {x_, y_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(22);
  }
  auto* bar = new QHBoxLayout;
  bar->addWidget(y_);
  bar->addWidget(x_);
  bar->addWidget(filter_, 1);
  bar->addWidget(open_);
  auto* parts = new QSplitter(Qt::Vertical, this);
  parts->addWidget(scatter_);
  parts->addWidget(table_);
  parts->setChildrenCollapsible(false);
  parts->setSizes({3000, 2000});
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  column->addLayout(bar);
  column->addWidget(words_);
  column->addWidget(parts, 1);
  for (QComboBox* box : {x_, y_})
    connect(box, &QComboBox::currentIndexChanged, this, &SweepView::show_points);
  connect(filter_, &QLineEdit::textChanged, this, &SweepView::show_points);
  connect(scatter_, &Scatter::chosen, this, &SweepView::choose);
  connect(scatter_, &Scatter::brush_changed, this, &SweepView::show_points);
  connect(open_, &QPushButton::clicked, this, &SweepView::open_chosen);
  connect(table_, &QTableView::activated, this, &SweepView::open_chosen);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
    scatter_->choose(chosen());
    open_->setEnabled(chosen().has_value());
    words_->setText(value_text());
  });
  model_->show(sweep_table(nullptr));
  open_->setEnabled(false);
  translate();
}

void SweepView::translate() {
  setAccessibleName(tr("Sweep"));
  scatter_->setAccessibleName(tr("Cases over two figures"));
  table_->setAccessibleName(tr("Cases of the sweep"));
  x_->setAccessibleName(tr("Figure from left to right"));
  y_->setAccessibleName(tr("Figure from bottom to top"));
  x_->setToolTip(x_->accessibleName());
  y_->setToolTip(y_->accessibleName());
  open_->setText(tr("Edit as &Scenario"));
  filter_->setPlaceholderText(tr("Targets: %1").arg(QStringLiteral("latency_s.ttft.p99<2 preemptions=0")));
  filter_->setAccessibleName(tr("Targets that cases must meet"));
}

void SweepView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) translate();
  View::changeEvent(event);
}

const sweep::NumberColumn& SweepView::axis(const QComboBox& box) const {
  return document_->numbers[static_cast<std::size_t>(std::max(0, box.currentIndex()))];
}

void SweepView::refresh() {
  const auto now = std::dynamic_pointer_cast<const SweepDocument>(workspace().document("sweep"));
  if (now != document_) {
    document_ = now;
    {
      const QSignalBlocker quiet_x(x_), quiet_y(y_), quiet_filter(filter_);
      filter_->clear();
      for (QComboBox* box : {x_, y_}) {
        box->clear();
        if (document_)
          for (const sweep::NumberColumn& column : document_->numbers) box->addItem(to_qstring(column.name));
      }
      if (document_) {
        const auto [x, y] = first_axes(*document_);
        x_->setCurrentIndex(static_cast<int>(x));
        y_->setCurrentIndex(static_cast<int>(y));
      }
    }
    model_->show(sweep_table(document_));
    fit_columns(*table_);
    show_points();
  }
  words_->setText(value_text());
}

bool SweepView::set_axes(const QString& x, const QString& y) {
  const int at_x = x_->findText(x), at_y = y_->findText(y);
  if (at_x < 0 || at_y < 0) return false;
  x_->setCurrentIndex(at_x);
  y_->setCurrentIndex(at_y);
  return true;
}

void SweepView::set_filter(const QString& text) {
  filter_->setText(text);
}

void SweepView::show_points() {
  if (!document_ || document_->numbers.empty()) {
    scatter_->show_points({}, {}, {}, {});
    return;
  }
  auto terms = parse_filter(filter_->text(), model_->content().columns);
  filter_->setToolTip(terms.ok() ? QString() : to_qstring(terms.error().to_string()));
  if (!terms.ok()) {
    words_->setText(to_qstring(terms.error().to_string()));
    return;
  }
  const sweep::NumberColumn &x = axis(*x_), &y = axis(*y_);
  std::vector<ScatterPoint> points;
  std::vector<std::size_t> shown;
  for (std::size_t row = 0; row < document_->rows.size(); ++row) {
    const auto of_x = document_->number(row, x.name), of_y = document_->number(row, y.name);
    if (!of_x || !of_y) continue;
    const bool passes = accepts(terms.value(), model_->content(), static_cast<int>(row));
    points.push_back({row, *of_x, *of_y, passes});
    if (passes) shown.push_back(row);
  }
  const auto title = [](const sweep::NumberColumn& column) {
    const QString better =
        better_of(column) == runs::Better::kLower ? tr("lower is better") : tr("higher is better");
    return column.unit.empty()
               ? tr("%1, %2").arg(to_qstring(column.name), better)
               : tr("%1 (%2), %3").arg(to_qstring(column.name), to_qstring(column.unit), better);
  };
  scatter_->show_points(std::move(points), front_of(*document_, shown, x, y), title(x), title(y));
  filtered_->set_condition([this](int row) { return scatter_->brushed(static_cast<std::size_t>(row)); });
  filtered_->set_terms(std::move(terms).value());
  words_->setText(value_text());
}

std::optional<std::size_t> SweepView::chosen() const {
  const QModelIndex row = table_->currentIndex();
  if (!document_ || !row.isValid()) return std::nullopt;
  return static_cast<std::size_t>(filtered_->mapToSource(row).row());
}

void SweepView::choose(std::size_t row) {
  const QModelIndex index = filtered_->mapFromSource(model_->index(static_cast<int>(row), 0));
  if (index.isValid()) table_->setCurrentIndex(index);
}

void SweepView::open_chosen() {
  const auto row = chosen();
  if (!row) return;
  Q_EMIT workspace().scenario_asked(document_->settings_of(*row));
  Q_EMIT workspace().view_asked(QStringLiteral("timeline"));
}

QString SweepView::value_text() const {
  if (!document_)
    return tr("Open the database of a sweep: %1")
        .arg(QStringLiteral("kvplan sweep SCENARIO --vary 'PATH=...' --out FILE.db"));
  QString words = tr("%1 of %2 cases are shown; %3 of them are on the Pareto front.")
                      .arg(format_number(filtered_->rowCount()),
                           format_number(static_cast<double>(document_->head.cases)),
                           format_number(static_cast<double>(scatter_->front().size())));
  if (const auto row = chosen()) words += QLatin1Char(' ') + tr("Chosen: %1.").arg(document_->name_of(*row));
  return words;
}

QString SweepView::csv() {
  if (!document_) return {};
  std::string text;
  auto database = sweep::Database::open(document_->path);
  if (!database.ok()) return csv_of(*filtered_);
  const Status written = sweep::write_csv(database.value(), [&](std::string_view piece) -> Status {
    text += piece;
    return Done{};
  });
  return written.ok() ? to_qstring(text) : csv_of(*filtered_);
}

QString SweepView::command() const {
  if (!document_ || document_->numbers.empty()) return {};
  const auto column = [this](const QComboBox& box) {
    const sweep::NumberColumn& of = axis(box);
    return to_qstring(of.name) + QLatin1Char(':') + to_qstring(runs::better_name(better_of(of)));
  };
  return QStringLiteral("kvplan report '%1' --pareto %2,%3")
      .arg(to_qstring(document_->path), column(*x_), column(*y_));
}

void SweepView::draw(QPainter& painter, const QSize& size) {
  const int line = painter.fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(kGap, kGap, size.width() - 2 * kGap, 2 * line), Qt::AlignLeft | Qt::TextWordWrap,
                   value_text());
  const int chart = (size.height() - 2 * line) * 3 / 5;
  painter.save();
  painter.translate(0, 2 * line + kGap);
  scatter_->draw(painter, QSize(size.width(), chart));
  painter.restore();
  const int below = 2 * line + 2 * kGap + chart;
  paint_table(painter, QRect(kGap, below, size.width() - 2 * kGap, size.height() - below - kGap), *filtered_,
              0, palette());
}

}  // namespace kvplan::gui
