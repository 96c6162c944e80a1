#include "gui/view/main_window.h"

#include <QCloseEvent>
#include <QCoreApplication>
#include <QDockWidget>
#include <QEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>
#include <QVBoxLayout>

#include "gui/view/answer_bar.h"
#include "gui/view/headline_panel.h"
#include "gui/view/message_bar.h"
#include "gui/view/scenario_panel.h"
#include "gui/view/slider_panel.h"
#include "gui/viewmodel/answer_words.h"
#include "gui/viewmodel/fit_rows.h"
#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/sample.h"
#include "gui/views/timeline/timeline_view.h"
#include "simulator/deployment/deployment.h"

namespace kvplan::gui {
namespace {

constexpr int kProgressPeriod = 33;   // ms
constexpr qint64 kQuietWork = 200;    // ms that work may take before progress is shown
constexpr int kQuietStale = 150;      // ms that a picture may be old before it is greyed
constexpr std::int64_t kBins = 8192;  // of a timeline, over all replicas
constexpr std::int64_t kLeastBins = 256;
// While a slider moves, the picture has only as many columns as a small window has pixels: the timeline takes a tenth
// of the time of a run. The full picture follows when the user stops.
constexpr std::int64_t kBinsOfDrag = 2048;
constexpr std::int64_t kZoomOfDrag = 16;  // from this zoom on all columns are wanted at once
constexpr int kRest = 400;                // ms
constexpr int kOfferBelow = 190;          // logical pixels: half of it from the middle to the offer

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
  setObjectName(QStringLiteral("main"));
  setAcceptDrops(true);
  resize(1280, 800);
  make_panels();
  make_status();
  translate();
  first_layout_ = saveState(kLayoutVersion);
  update_title();

  connect(&document_, &ScenarioDocument::changed, this, [this](bool discrete) { request_run(discrete); });
  connect(&document_.undo_stack(), &QUndoStack::cleanChanged, this, &MainWindow::update_title);
  connect(&worker_, &SimulationWorker::finished, this, &MainWindow::show_result);
  connect(&worker_, &SimulationWorker::opened, this, &MainWindow::show_opened);
  connect(&worker_, &SimulationWorker::failed, this, &MainWindow::show_failure);
  progress_timer_.setInterval(kProgressPeriod);
  connect(&progress_timer_, &QTimer::timeout, this, &MainWindow::show_progress);
  rest_timer_.setInterval(kRest);
  rest_timer_.setSingleShot(true);
  connect(&rest_timer_, &QTimer::timeout, this, &MainWindow::refine);
  stale_timer_.setInterval(kQuietStale);
  stale_timer_.setSingleShot(true);
  connect(&stale_timer_, &QTimer::timeout, this, [this] {
    timeline_->set_stale(stale_);
    workspace_.set_stale(stale_);
    numbers_->setEnabled(!stale_);
    fits_->setEnabled(!stale_ || !obstacles_.empty());
    answer_->setEnabled(!stale_);
  });
}

MainWindow::~MainWindow() {
  // The undo stack reports that it is clean when it is destroyed; the title's inputs no longer exist then.
  document_.undo_stack().disconnect(this);
}

void MainWindow::make_panels() {
  messages_ = new MessageBar(this);
  make_views();
  make_offer();
  auto* centre = new QWidget(this);
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(messages_);
  column->addWidget(tabs_);
  answer_ = new AnswerBar(this);
  column->addWidget(answer_);
  column->addWidget(pages_, 1);
  setCentralWidget(centre);

  form_ = new ScenarioPanel(document_, this);
  scenario_dock_ = new QDockWidget(this);
  scenario_dock_->setObjectName(QStringLiteral("dock:scenario"));
  scenario_dock_->setWidget(form_);
  addDockWidget(Qt::LeftDockWidgetArea, scenario_dock_);
  connect(form_, &ScenarioPanel::edited, this,
          [this](const QString& path, const QString& text) { edit(path, text); });
  connect(form_, &ScenarioPanel::reset_asked, this, [this](const QString& path) {
    const Status status = document_.reset(to_utf8(path));
    if (!status.ok()) show_refusal(status.error());
  });

  sliders_ = new SliderPanel(this);
  numbers_ = new HeadlinePanel(HeadlinePanel::Shape::kGrid, this);
  auto* both = new QWidget(this);
  auto* row = new QHBoxLayout(both);
  row->addWidget(sliders_, 1);
  row->addWidget(numbers_, 0);
  what_if_dock_ = new QDockWidget(this);
  what_if_dock_->setObjectName(QStringLiteral("dock:what-if"));
  what_if_dock_->setWidget(both);
  addDockWidget(Qt::BottomDockWidgetArea, what_if_dock_);
  connect(sliders_, &SliderPanel::moved, this, &MainWindow::edit);
  connect(sliders_, &SliderPanel::taken_back, &document_, &ScenarioDocument::take_back);
  setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);  // sliders have room on a small screen
  make_fits();
  resizeDocks({scenario_dock_}, {300}, Qt::Horizontal);
  show_scenario();
}

void MainWindow::make_fits() {
  fits_ = new HeadlinePanel(HeadlinePanel::Shape::kList, this);
  auto* scroll = new QScrollArea(this);  // a form above it that is high leaves it a few rows
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  scroll->setWidget(fits_);
  fits_dock_ = new QDockWidget(this);
  fits_dock_->setObjectName(QStringLiteral("dock:fits"));
  fits_dock_->setWidget(scroll);
  splitDockWidget(scenario_dock_, fits_dock_, Qt::Vertical);
  resizeDocks({scenario_dock_, fits_dock_}, {5, 1}, Qt::Vertical);
}

void MainWindow::make_offer() {
  offer_ = new QPushButton(timeline_);
  offer_->setObjectName(QStringLiteral("offer"));
  connect(offer_, &QPushButton::clicked, this, &MainWindow::open_sample);
  // In the middle and below the text, without a say in how small the chart may be.
  auto* column = new QVBoxLayout(timeline_);
  column->setSizeConstraint(QLayout::SetNoConstraint);
  column->addStretch();
  column->addSpacing(kOfferBelow);
  column->addWidget(offer_, 0, Qt::AlignHCenter);
  column->addStretch();
}

void MainWindow::make_status() {
  cost_ = new QLabel(this);
  progress_ = new QProgressBar(this);
  progress_->setMaximumWidth(200);
  cancel_ = new QPushButton(this);
  cancel_->setObjectName(QStringLiteral("cancel"));
  statusBar()->addWidget(cost_, 1);
  statusBar()->addPermanentWidget(progress_);
  statusBar()->addPermanentWidget(cancel_);
  progress_->hide();
  cancel_->hide();
  connect(cancel_, &QPushButton::clicked, this, &MainWindow::cancel);
}

void MainWindow::cancel() {
  cancelled_ = true;
  worker_.cancel();
}

void MainWindow::translate() {
  scenario_dock_->setWindowTitle(tr("Scenario"));
  what_if_dock_->setWindowTitle(tr("What if"));
  fits_dock_->setWindowTitle(tr("Fits and cost"));
  progress_->setAccessibleName(tr("Progress"));
  cancel_->setText(tr("Cancel"));
  make_menus();
  allow_what_is_open();
  show_fits();
  if (!result_) return;
  show_scenario();
  show_numbers();
}

void MainWindow::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) translate();
  QMainWindow::changeEvent(event);
}

bool MainWindow::settled() const {
  return !worker_.busy() && !stale_ && !coarse_;
}

void MainWindow::edit(const QString& path, const QString& text, int merge) {
  const Status status = document_.set(to_utf8(path), to_utf8(text), merge);
  if (!status.ok()) show_refusal(status.error());
}

void MainWindow::show_refusal(const Error& error) {
  messages_->show_error(to_qstring(error.to_string()));
  form_->show_error(error);
  // Handles go back to what holds; an entry of the form stays, to be mended.
  show_sliders();
}

void MainWindow::show_sliders() {
  SliderFacts facts;
  if (trace_) facts.hash_block_tokens = trace_->trace.prefix.block_tokens;
  const runs::RunSummary* const run = result_ ? &result_->run : nullptr;
  facts.derived_pool_bytes = derived_pool_bytes(document_.scenario(), run);
  facts.device_pool_bytes = facts.derived_pool_bytes;
  if (!document_.scenario().derives_pool && !document_.scenario().text("deployment.device").empty()) {
    std::vector<runs::Setting> settings = document_.settings();
    std::erase_if(settings, [](const runs::Setting& s) { return s.path.starts_with("memory.pool_"); });
    const auto derives = runs::resolve(settings);
    if (derives.ok()) facts.device_pool_bytes = derived_pool_bytes(derives.value(), nullptr);
  }
  if (run != nullptr && !run->replicas.empty()) facts.token_bytes = run->replicas.front().pool.token_bytes;
  sliders_->show_scenario(document_.scenario(), facts);
}

void MainWindow::show_scenario() {
  show_sliders();
  form_->clear_error();
  form_->refresh();
}

void MainWindow::request_run(bool discrete) {
  show_scenario();
  // Files that are being read bring their own scenario, and trigger a run when they are ready.
  if (!trace_ || opening_ != 0) return;
  if (trace_->import != document_.scenario().import) return read_again();
  cancelled_ = false;
  const auto& shown = timeline_->data();
  const bool close = shown && timeline_->range().length() < shown->whole().length() / kZoomOfDrag;
  coarse_ = !discrete && !close;
  wish_run(coarse_ ? kBinsOfDrag : kBins, discrete || refining_);
  refining_ = false;
  stale_ = true;
  if (!stale_timer_.isActive()) stale_timer_.start();
  progress_timer_.start();
}

void MainWindow::read_again() {
  stale_ = true;
  if (!stale_timer_.isActive()) stale_timer_.start();
  // What could not be read is not tried again until something else is said about it: the message stays.
  if (tried_import_ == document_.scenario().import) return;
  tried_import_ = document_.scenario().import;
  cancelled_ = false;
  opening_ = worker_.open({}, document_.settings());
  progress_timer_.start();
}

void MainWindow::wish_run(std::int64_t bins, bool at_once) {
  rest_timer_.stop();
  const std::int64_t each = std::max(kLeastBins, bins / document_.scenario().replicas);
  wanted_ = worker_.run(document_.scenario(), trace_, each, at_once);
}

void MainWindow::refine() {
  if (stale_ || !coarse_ || opening_ != 0 || worker_.busy()) return;
  refining_ = true;
  wish_run(kBins, false);
  coarse_ = false;
  progress_timer_.start();
}

void MainWindow::show_result(const ResultPtr& result) {
  if (result->trace != trace_ || (result_ && result->generation < result_->generation)) return;
  result_ = result;
  obstacles_.clear();
  if (result->generation == wanted_) {
    stale_ = false;
    refining_ = false;
    stale_timer_.stop();
    if (coarse_) rest_timer_.start();
    messages_->clear();
    if (!result->run.warnings.empty()) messages_->show_note(to_qstring(result->run.warnings.front()));
  }
  timeline_->set_stale(timeline_->stale() && stale_);
  workspace_.set_stale(timeline_->stale());
  for (HeadlinePanel* panel : {numbers_, fits_}) panel->setEnabled(panel->isEnabled() || !stale_);
  answer_->setEnabled(answer_->isEnabled() || !stale_);
  timeline_->set_data(result->timeline);
  show_slot();
  if (wanted_view_) restore_view(*wanted_view_);
  wanted_view_.reset();
  if (document_.scenario().derives_pool) show_sliders();  // now it is known how much
  show_numbers();
  Q_EMIT result_shown();
}

void MainWindow::show_numbers() {
  const runs::RunSummary& run = result_->run;
  numbers_->show_rows(headline(run));
  answer_->show_sentences(answer_of(run));
  show_fits();
  if (report_) {
    cost_->setText(tr("%1 requests, %2 steps, from the report of a finished run")
                       .arg(format_number(static_cast<double>(run.arrived)),
                            format_number(static_cast<double>(run.iterations))));
    return;
  }
  cost_->setText(tr("%1 requests, %2 steps, simulated in %3 of processor time")
                     .arg(format_number(static_cast<double>(run.arrived)),
                          format_number(static_cast<double>(run.iterations)),
                          format_seconds(result_->cpu_seconds)));
}

void MainWindow::show_opened(quint64 generation, const Opened& opened) {
  if (generation != opening_) return;
  opening_ = 0;
  const bool again = tried_import_.has_value();
  tried_import_.reset();
  show_documents(opened);
  if (opened.report) return show_report(generation, opened);
  if (!opened.trace) return Q_EMIT result_shown();  // documents alone
  report_.reset();
  trace_ = opened.trace;
  if (again) return request_run(true);  // in the scenario of now
  wanted_view_ = opened.view;
  remember_opened(opened);
  std::vector<OpenedScenario> others = opened.others;
  if (opened.view)
    for (const auto& settings : opened.view->kept) others.push_back({settings, opened.trace});
  keep_opened(others);
  result_.reset();  // of another trace: it is replaced, not greyed
  allow_what_is_open();
  messages_->clear();
  timeline_->show_all();
  timeline_->clear_marks();
  const Status status = document_.load(opened.settings);
  if (!status.ok()) messages_->show_error(to_qstring(status.error().to_string()));
  update_title();
}

void MainWindow::show_report(quint64 generation, const Opened& opened) {
  trace_.reset();  // so that no run of it is shown or requested any more
  obstacles_.clear();
  report_ = opened.report;
  wanted_view_.reset();
  wanted_ = 0;
  stale_ = coarse_ = refining_ = false;
  stale_timer_.stop();
  rest_timer_.stop();
  remember_opened(opened);
  auto result = std::make_shared<SimulationResult>();
  result->generation = generation;
  result->run = report_->run;
  result->timeline = report_->timeline;
  result_ = std::move(result);
  const Status status = document_.load(opened.settings);
  allow_what_is_open();
  timeline_->show_all();
  timeline_->clear_marks();
  timeline_->set_stale(false);
  timeline_->set_data(result_->timeline);
  show_slot();
  for (HeadlinePanel* panel : {numbers_, fits_}) panel->setEnabled(true);
  show_numbers();
  if (status.ok()) {
    messages_->show_note(tr("This is the report of a finished run. Open its trace to simulate it again."));
  } else {
    messages_->show_error(to_qstring(status.error().to_string()));
  }
  update_title();
  Q_EMIT result_shown();
}

void MainWindow::allow_what_is_open() {
  for (QAction* action : {save_, save_as_, run_again_, keep_}) action->setEnabled(trace_ != nullptr);
  sliders_->setEnabled(trace_ != nullptr);
  form_->set_read_only(report_ != nullptr);
  timeline_->set_empty_text(empty_text());
  const bool sample = !sample_file(QCoreApplication::applicationDirPath()).isEmpty();
  sample_->setEnabled(sample);
  offer_->setText(without_mnemonic(sample_->text()));
  offer_->setVisible(sample && !trace_ && !report_);
}

QString MainWindow::empty_text() const {
  if (report_)
    return tr("This report has no timeline.\n%1 writes a report with a timeline.")
        .arg(QStringLiteral("kvplan run --report FILE.kvr --timeline FILE.csv"));
  return {};
}

void MainWindow::show_failure(quint64 generation, const Error& error) {
  const bool files = generation == opening_;
  if (!files && generation != wanted_) return;  // of a request that was replaced by a newer one
  if (files) opening_ = 0;
  if (refining_ && !files) {  // the picture is the scenario's all the same
    refining_ = false;
    return;
  }
  if (error.kind == ErrorKind::kInterrupted) {
    if (files) tried_import_.reset();
    if (!cancelled_) return;
    messages_->show_note(files
                             ? tr("Opening was cancelled.")
                             : tr("Cancelled: the picture shows an earlier scenario. Use Run > Run again."));
  } else {
    const QString text = to_qstring(error.to_string());
    messages_->show_error(text);
    form_->show_error(error);
    if (!files) find_obstacles();
    Q_EMIT problem(text);
  }
  // A run that gave way to files that could not be read.
  if (files && stale_ && !cancelled_) request_run(true);
  if (files && coarse_ && !stale_) rest_timer_.start();
}

void MainWindow::find_obstacles() {
  obstacles_.clear();
  const runs::Scenario& scenario = document_.scenario();
  if (scenario.model == nullptr) return;
  auto found = runs::obstacles_of(scenario, *scenario.model, {});  // no file is read in this thread
  if (!found.ok() || !found.value()) return;
  obstacles_ = std::move(*found.value());
  show_fits();
}

void MainWindow::show_fits() {
  if (!obstacles_.empty()) {
    fits_->show_rows(fit_rows(obstacles_));
    fits_->setEnabled(true);
  } else if (result_) {
    fits_->show_rows(fit_rows(result_->run));
  }
}

void MainWindow::show_progress() {
  const bool busy = worker_.busy();
  const bool shown = busy && worker_.busy_ms() > kQuietWork;
  progress_->setVisible(shown);
  cancel_->setVisible(shown);
  if (shown) {
    const double part = worker_.progress();
    progress_->setFormat(opening_ != 0 ? tr("Reading %p %") : tr("Simulating %p %"));
    progress_->setRange(0, part < 0 ? 0 : 1000);
    if (part >= 0) progress_->setValue(static_cast<int>(part * 1000));
  }
  if (!busy) progress_timer_.stop();
}

void MainWindow::update_title() {
  const std::string path = report_ ? report_->path : trace_ ? trace_->path : std::string();
  const QString shown = session_file_.isEmpty() ? to_qstring(path) : session_file_;
  const QString name = QFileInfo(shown).fileName();
  setWindowTitle(name.isEmpty() ? QStringLiteral("kvplan") : QStringLiteral("%1[*] – kvplan").arg(name));
  setWindowModified(!session_file_.isEmpty() && !document_.undo_stack().isClean());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  save_layout();
  QMainWindow::closeEvent(event);
}

void MainWindow::set_theme(Theme theme) {
  theme_ = theme;
  apply_theme(theme);
}

void MainWindow::choose_language(Language language) {
  QSettings().setValue(QStringLiteral("window/language"), language_name(language));
  apply_language(language);
}

void MainWindow::save_layout() const {
  QSettings settings;
  settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
  settings.setValue(QStringLiteral("window/state"), saveState(kLayoutVersion));
  settings.setValue(QStringLiteral("window/theme"), theme_name(theme_));
}

void MainWindow::restore_layout() {
  const QSettings settings;
  restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray());
  restoreState(settings.value(QStringLiteral("window/state")).toByteArray(), kLayoutVersion);
  const auto theme = theme_by_name(settings.value(QStringLiteral("window/theme")).toString());
  set_theme(theme.value_or(Theme::kSystem));
}

}  // namespace kvplan::gui
