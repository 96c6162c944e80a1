#include "gui/views/requests/requests_view.h"

#include <QCheckBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QTableView>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/viewmodel/scenario_document.h"
#include "gui/views/painting.h"
#include "gui/views/requests/lane.h"
#include "simulator/results/report.h"

namespace kvplan::gui {

RequestsView::RequestsView(QWidget* parent)
    : View(parent),
      model_(new TableModel(this)),
      rows_(new FilteredTable(*model_, this)),
      filter_(new QLineEdit(this)),
      at_cursor_(new QCheckBox(this)),
      slowest_(new QPushButton(this)),
      preempted_(new QPushButton(this)),
      biggest_(new QPushButton(this)),
      jump_(new QPushButton(this)),
      count_(new QLabel(this)),
      table_(new QTableView(this)),
      lane_(new Lane(this)) {
  setObjectName(QStringLiteral("requests"));
  filter_->setObjectName(QStringLiteral("requests-filter"));
  filter_->setClearButtonEnabled(true);
  at_cursor_->setObjectName(QStringLiteral("requests-at-cursor"));
  slowest_->setObjectName(QStringLiteral("requests-slowest"));
  preempted_->setObjectName(QStringLiteral("requests-preempted"));
  biggest_->setObjectName(QStringLiteral("requests-biggest"));
  jump_->setObjectName(QStringLiteral("requests-jump"));
  table_->setObjectName(QStringLiteral("requests-table"));
  table_->setModel(rows_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(column_of(RequestColumn::kRequest), Qt::AscendingOrder);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setTabKeyNavigation(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  table_->installEventFilter(this);

  auto* bar = new QHBoxLayout;
  for (QWidget* widget : std::initializer_list<QWidget*>{slowest_, preempted_, biggest_, at_cursor_})
    bar->addWidget(widget);
  bar->addWidget(filter_, 1);
  bar->addWidget(count_);
  bar->addWidget(jump_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  column->addLayout(bar);
  column->addWidget(table_, 1);
  column->addWidget(lane_);
  lane_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);

  model_->show(requests_table(nullptr));
  connect(filter_, &QLineEdit::textChanged, this, &RequestsView::apply_filter);
  connect(at_cursor_, &QCheckBox::toggled, this, &RequestsView::apply_filter);
  connect(slowest_, &QPushButton::clicked, this, [this] { sort_by(RequestColumn::kE2e); });
  connect(preempted_, &QPushButton::clicked, this, [this] { sort_by(RequestColumn::kPreemptions); });
  connect(biggest_, &QPushButton::clicked, this, [this] { sort_by(RequestColumn::kPeakHeld); });
  connect(jump_, &QPushButton::clicked, this, &RequestsView::show_on_timeline);
  connect(table_, &QTableView::doubleClicked, this, &RequestsView::show_on_timeline);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            if (following_ || !now.isValid() || !attached()) return;
            workspace().selection().set_request(rows_->mapToSource(now).row());
          });
  connect(lane_, &Lane::cursor_asked, this, [this](std::int64_t tick) {
    if (attached()) workspace().selection().set_cursor(tick);
  });
  translate();
}

void RequestsView::translate() {
  setAccessibleName(tr("Requests"));
  slowest_->setText(tr("S&lowest"));
  preempted_->setText(tr("&Most Preempted"));
  biggest_->setText(tr("Bi&ggest"));
  at_cursor_->setText(tr("At the c&ursor"));
  at_cursor_->setToolTip(tr("Only requests that are there at the cursor, or in the marked range"));
  jump_->setText(tr("Show on &Timeline"));
  filter_->setPlaceholderText(tr("Filter: %1").arg(QStringLiteral("preemptions>0 ttft>5")));
  filter_->setAccessibleName(tr("Filter of requests"));
  table_->setAccessibleName(tr("Requests of the run"));
}

void RequestsView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) {
    translate();
    if (inspection_) model_->show(requests_table(inspection_));
  }
  View::changeEvent(event);
}

bool RequestsView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == table_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
      show_on_timeline();
      return true;
    }
  }
  return View::eventFilter(watched, event);
}

void RequestsView::refresh() {
  const ResultPtr& result = workspace().edited().result;
  if (result != result_ || !inspection_) {
    const InspectionPtr found = workspace().inspection(result);
    if (found != inspection_ || result != result_) {
      // The table of the run before stays until the new one is there.
      if (found || !result) {
        inspection_ = found;
        result_ = result;
        model_->show(requests_table(inspection_));
        if (inspection_) table_->resizeColumnsToContents();
        apply_filter();
        if (inspection_ && !chosen()) choose_slowest();
      }
    }
  }
  table_->setEnabled(settled());
  if (at_cursor_->isChecked()) apply_filter();
  follow_selection();
}

bool RequestsView::settled() const {
  return !attached() || workspace().edited().result == result_;
}

void RequestsView::sort_by(RequestColumn column) {
  table_->sortByColumn(column_of(column), Qt::DescendingOrder);
  table_->scrollToTop();
  if (rows_->rowCount() == 0) return;
  table_->selectRow(0);
  table_->setFocus();
}

/// So that a life is shown from the beginning.
void RequestsView::choose_slowest() {
  std::optional<std::int64_t> slowest;
  Ticks most;
  for (std::size_t i = 0; i < inspection_->run.records.size(); ++i) {
    const observe::RequestRecord& record = inspection_->run.records[i];
    if (record.status != observe::RequestStatus::kCompleted) continue;
    if (slowest && record.finish - record.arrival <= most) continue;
    most = record.finish - record.arrival;
    slowest = static_cast<std::int64_t>(i);
  }
  workspace().selection().set_request(slowest);
}

void RequestsView::set_filter(const QString& text) {
  filter_->setText(text);
}

void RequestsView::apply_filter() {
  auto terms = parse_filter(filter_->text(), model_->content().columns);
  filter_->setToolTip(terms.ok() ? QString() : to_qstring(terms.error().to_string()));
  if (!terms.ok()) {
    count_->setText(to_qstring(terms.error().message).left(60));
    return;
  }
  std::function<bool(int)> condition;
  if (at_cursor_->isChecked() && attached() && inspection_) {
    const runs::Selection& selection = workspace().selection().get();
    if (selection.marked || selection.cursor) {
      const TimeRange range =
          selection.marked.value_or(TimeRange{selection.cursor.value_or(0), selection.cursor.value_or(0)});
      condition = [this, range](int row) {
        return present(*inspection_, static_cast<std::size_t>(row), range.begin, range.end);
      };
    }
  }
  rows_->set_condition(std::move(condition));
  rows_->set_terms(std::move(terms).value());
  show_count();
}

void RequestsView::show_count() {
  count_->setText(tr("%1 of %2").arg(format_number(rows_->rowCount()), format_number(model_->rowCount())));
}

std::optional<int> RequestsView::chosen() const {
  if (!attached() || !inspection_) return std::nullopt;
  const auto request = workspace().selection().get().request;
  if (!request || *request < 0 || *request >= model_->rowCount()) return std::nullopt;
  return static_cast<int>(*request);
}

void RequestsView::follow_selection() {
  const std::optional<int> request = chosen();
  jump_->setEnabled(request.has_value());
  lane_->show_cursor(workspace().selection().get().cursor);
  if (!request) {
    lane_->show_life(inspection_ ? tr("Choose a request to see its life.")
                                 : tr("Requests are listed after the run of a trace."),
                     {});
    return;
  }
  auto life = life_of(*inspection_, static_cast<std::size_t>(*request));
  const QString status = status_text(inspection_->run.records[static_cast<std::size_t>(*request)].status);
  lane_->show_life(tr("Request %1, %2").arg(QString::number(*request), status), std::move(life));
  const QModelIndex row = rows_->mapFromSource(model_->index(*request, 0));
  if (!row.isValid() || table_->currentIndex().row() == row.row()) return;
  following_ = true;
  table_->setCurrentIndex(row);
  following_ = false;
  // Later: a view that is shown for the first time has no size yet.
  QTimer::singleShot(0, table_, [table = table_] { table->scrollTo(table->currentIndex()); });
}

void RequestsView::show_on_timeline() {
  const std::optional<int> request = chosen();
  if (!request) return;
  const auto life = life_of(*inspection_, static_cast<std::size_t>(*request));
  if (life.empty()) return;
  runs::Selection next = workspace().selection().get();
  next.marked = TimeRange{life.front().begin, life.back().end};
  next.cursor = life.front().begin;
  const std::int64_t margin = std::max<std::int64_t>(1, next.marked->length() / 4);
  const std::int64_t end = inspection_->run.makespan.count;
  next.visible = {std::max<std::int64_t>(0, next.marked->begin - margin),
                  std::min(end, next.marked->end + margin)};
  workspace().selection().set(next);
  Q_EMIT workspace().view_asked(QStringLiteral("timeline"));
}

QAbstractItemModel* RequestsView::table() {
  return rows_;
}

QString RequestsView::csv() {
  return inspection_ ? to_qstring(runs::requests_csv(inspection_->run)) : QString();
}

QString RequestsView::command() const {
  if (!attached() || !inspection_) return {};
  return to_qstring(command_line(workspace().edited().settings)) + QStringLiteral(" --requests requests.csv");
}

QString RequestsView::value_text() const {
  return lane_->text();
}

void RequestsView::draw(QPainter& painter, const QSize& size) {
  const int below = lane_->sizeHint().height();
  const int first = std::max(0, table_->rowAt(0));
  paint_table(painter, QRect(kGap, kGap, size.width() - 2 * kGap, size.height() - below - 2 * kGap), *rows_,
              first, palette());
  painter.save();
  painter.translate(0, size.height() - below);
  lane_->draw(painter, QSize(size.width(), below));
  painter.restore();
}

}  // namespace kvplan::gui
