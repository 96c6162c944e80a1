#include "gui/views/blocks/blocks_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/scenario_document.h"
#include "gui/views/blocks/block_map.h"
#include "gui/views/painting.h"
#include "gui/views/table_pane.h"
#include "simulator/scenario/scenario_files.h"

namespace kvplan::gui {
namespace {
constexpr int kSliderSteps = 2000;
constexpr int kFrame = 40;       // ms between pictures while it plays
constexpr int kPlayParts = 500;  // pictures from the begin of the visible range to its end
}  // namespace

BlocksView::BlocksView(QWidget* parent)
    : View(parent),
      blocks_(new TableModel(this)),
      changes_(new TableModel(this)),
      colours_(new QComboBox(this)),
      replica_(new QComboBox(this)),
      back_(new QPushButton(this)),
      play_(new QPushButton(this)),
      forward_(new QPushButton(this)),
      slider_(new QSlider(Qt::Horizontal, this)),
      words_(new QLabel(this)),
      map_(new BlockMap(this)),
      block_words_(new QLabel(this)),
      history_(make_table(*changes_, QStringLiteral("block-history"), this)) {
  setObjectName(QStringLiteral("blocks"));
  colours_->setObjectName(QStringLiteral("blocks-colours"));
  replica_->setObjectName(QStringLiteral("blocks-replica"));
  back_->setObjectName(QStringLiteral("blocks-back"));
  play_->setObjectName(QStringLiteral("blocks-play"));
  forward_->setObjectName(QStringLiteral("blocks-forward"));
  slider_->setObjectName(QStringLiteral("blocks-time"));
  slider_->setRange(0, kSliderSteps);
  play_->setCheckable(true);
  replica_->hide();
  for (int i = 0; i < 4; ++i) colours_->addItem({});
  words_->setWordWrap(true);
  block_words_->setWordWrap(true);
  for (QLabel* label : {words_, block_words_}) label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  const observe::BlockHistory nothing(0);
  blocks_->show(blocks_table(observe::BlockMoment(nothing), 0, 0));
  changes_->show(history_table({}));
  auto* bar = new QHBoxLayout;
  for (QWidget* widget : std::initializer_list<QWidget*>{colours_, replica_, back_, play_, forward_})
    bar->addWidget(widget);
  bar->addWidget(slider_, 1);
  auto* side = new QWidget(this);
  auto* beside = new QVBoxLayout(side);
  beside->setContentsMargins(0, 0, 0, 0);
  beside->addWidget(block_words_);
  beside->addWidget(history_, 1);
  auto* parts = new QSplitter(Qt::Horizontal, this);
  parts->addWidget(map_);
  parts->addWidget(side);
  parts->setChildrenCollapsible(false);
  parts->setStretchFactor(0, 3);
  parts->setStretchFactor(1, 1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  column->addLayout(bar);
  column->addWidget(words_);
  column->addWidget(parts, 1);
  connect(colours_, &QComboBox::currentIndexChanged, this, &BlocksView::show_moment);
  connect(replica_, &QComboBox::currentIndexChanged, this, &BlocksView::show_replica);
  connect(back_, &QPushButton::clicked, this, [this] { step(false); });
  connect(forward_, &QPushButton::clicked, this, [this] { step(true); });
  connect(play_, &QPushButton::toggled, this, &BlocksView::play);
  connect(slider_, &QSlider::valueChanged, this, [this](int value) {
    if (!inspection_) return;
    const auto part = static_cast<double>(value) / kSliderSteps;
    workspace().selection().set_cursor(
        static_cast<std::int64_t>(part * static_cast<double>(inspection_->end)));
  });
  connect(map_, &BlockMap::chosen, this,
          [this](std::int64_t block) { workspace().selection().set_block(block); });
  connect(history_, &QTableView::activated, this, [this](const QModelIndex& row) {
    const QVariant request = changes_->index(row.row(), 2).data(TableModel::kValueRole);
    if (!request.isValid()) return;
    workspace().selection().set_request(request.toLongLong());
    Q_EMIT workspace().view_asked(QStringLiteral("requests"));
  });
  timer_.setInterval(kFrame);
  connect(&timer_, &QTimer::timeout, this, [this] {
    if (!inspection_ || !isVisible()) return play_->setChecked(false);
    const TimeRange range = workspace().selected().visible;
    const std::int64_t end = range.length() > 0 ? std::min(range.end, inspection_->end) : inspection_->end;
    const std::int64_t next = tick() + std::max<std::int64_t>(1, (end - range.begin) / kPlayParts);
    if (next >= end) play_->setChecked(false);
    workspace().selection().set_cursor(std::min(next, end));
  });
  translate();
}

void BlocksView::translate() {
  setAccessibleName(tr("Blocks"));
  const QStringList names{tr("Colour by state"), tr("Colour by request"), tr("Colour by age"),
                          tr("Colour by sharing")};
  for (int i = 0; i < names.size(); ++i) colours_->setItemText(i, names[i]);
  colours_->setAccessibleName(tr("What colours mean"));
  replica_->setAccessibleName(tr("Replica"));
  back_->setText(tr("&Back"));
  back_->setToolTip(tr("To the last change of a block"));
  play_->setText(tr("&Play"));
  forward_->setText(tr("&Forward"));
  forward_->setToolTip(tr("To the next change of a block"));
  slider_->setAccessibleName(tr("Time"));
  map_->setAccessibleName(tr("Map of blocks"));
  history_->setAccessibleName(tr("History of the block"));
}

void BlocksView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) {
    translate();
    shown_block_.reset();
  }
  View::changeEvent(event);
}

void BlocksView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Comma || event->key() == Qt::Key_Period)
    return step(event->key() == Qt::Key_Period);
  if (event->key() == Qt::Key_Space) return play_->toggle();
  View::keyPressEvent(event);
}

void BlocksView::play(bool on) {
  on ? timer_.start() : timer_.stop();
}

const observe::BlockHistory* BlocksView::history() const {
  if (!inspection_ || !inspection_->has_ids) return nullptr;
  const auto replica = static_cast<std::size_t>(std::max(0, replica_->currentIndex()));
  return replica < inspection_->by_replica.size() ? inspection_->by_replica[replica].get() : nullptr;
}

bool BlocksView::settled() const {
  return !attached() || !workspace().edited().result || !workspace().edited().result->trace ||
         (result_ == workspace().edited().result && !asked_);
}

void BlocksView::refresh() {
  const ResultPtr& result = workspace().edited().result;
  if (result != result_ && !workspace().stale()) {
    result_ = result;
    ask_inspection();
  }
  show_moment();
}

void BlocksView::ask_inspection() {
  if (!result_ || !result_->trace) {
    inspection_.reset();
    return show_replica();
  }
  asked_ = true;
  using Found = Result<BlockInspectionPtr>;
  workspace().compute<Found>(
      this,
      [result = result_](core::RunControl& control, runs::Inputs& inputs) -> Found {
        inputs.keep_only(runs::files_of(result->run.scenario));
        return inspect_blocks(result->run.scenario, result->trace->trace, inputs.openers(), control);
      },
      [this, result = result_](const Found& found) {
        if (result != result_) return;
        asked_ = false;
        if (!found.ok()) return Q_EMIT workspace().problem(to_qstring(found.error().to_string()));
        inspection_ = found.value();
        const QSignalBlocker quiet(replica_);
        replica_->clear();
        for (std::size_t i = 0; i < inspection_->by_replica.size(); ++i)
          replica_->addItem(tr("Replica %1").arg(i));
        replica_->setVisible(replica_->count() > 1);
        show_replica();
      },
      [guard = QPointer<BlocksView>(this), result = result_] { return guard && guard->result_ == result; });
}

void BlocksView::show_replica() {
  moment_ = history() != nullptr ? std::make_unique<observe::BlockMoment>(*history()) : nullptr;
  shown_block_.reset();
  show_moment();
}

std::int64_t BlocksView::tick() const {
  if (const auto cursor = workspace().selected().cursor) return *cursor;
  if (!result_ || !result_->run.memory) return 0;
  return static_cast<std::int64_t>(result_->run.memory->peak_time_s * static_cast<double>(kTicksPerNs) *
                                   static_cast<double>(kNsPerSecond));
}

void BlocksView::show_moment() {
  if (!attached()) return;
  const bool there = moment_ != nullptr;
  for (QWidget* widget : std::initializer_list<QWidget*>{back_, play_, forward_, slider_, colours_, history_})
    widget->setEnabled(there);
  if (!there) {
    map_->show_blocks({}, 0, 0, BlockColours::kState, -1);
    words_->setText(value_text());
    block_words_->clear();
    return;
  }
  const std::int64_t now = tick();
  moment_->seek(now);
  {
    const QSignalBlocker quiet(slider_);
    slider_->setValue(static_cast<int>(static_cast<double>(now) /
                                       static_cast<double>(std::max<std::int64_t>(1, inspection_->end)) *
                                       kSliderSteps));
  }
  const runs::Selection& selection = workspace().selected();
  const auto colours = static_cast<BlockColours>(std::max(0, colours_->currentIndex()));
  map_->show_blocks(moment_->blocks(), inspection_->first_block, now, colours,
                    colours == BlockColours::kRequest ? selection.request.value_or(-1) : -1);
  map_->choose(selection.block);
  if (!timer_.isActive()) blocks_->show(blocks_table(*moment_, now, inspection_->first_block));
  words_->setText(value_text());
  if (!selection.block || *selection.block >= history()->blocks()) {
    block_words_->setText(tr("Choose a block to see its history."));
    return;
  }
  const auto block = static_cast<std::int32_t>(*selection.block);
  if (shown_block_ != selection.block) {
    shown_block_ = selection.block;
    changes_->show(history_table(history()->of_block(block)));
    fit_columns(*history_);
  }
  QStringList holders;
  for (const std::int32_t request : moment_->holders(block)) holders << QString::number(request);
  const observe::BlockState& state = moment_->blocks()[static_cast<std::size_t>(block)];
  block_words_->setText(
      !holders.isEmpty()
          ? tr("Block %1 is held by %2.").arg(QString::number(block), holders.join(QStringLiteral(", ")))
      : state.findable
          ? tr("Block %1 is cached: no request holds it, and its content can be found.").arg(block)
          : tr("Block %1 is free.").arg(block));
}

void BlocksView::step(bool forward) {
  if (history() == nullptr) return;
  const std::int64_t now = tick();
  workspace().selection().set_cursor(forward ? history()->next_moment(now) : history()->last_moment(now));
}

QString BlocksView::value_text() const {
  if (!attached() || !result_) return tr("Blocks are shown after the run of a trace.");
  if (asked_ && !inspection_) return tr("The run is repeated to see its blocks.");
  if (!moment_)
    return tr("This memory does not say which block a request holds: only paged pools with block ids do.");
  const BlockCounts counts = count_blocks(*moment_, inspection_->first_block);
  return tr("At %1: %2 blocks held (%3 of them by several requests), %4 cached, %5 free; a block is %6.")
      .arg(format_seconds(seconds(Ticks{tick()})), format_number(static_cast<double>(counts.held)),
           format_number(static_cast<double>(counts.shared)),
           format_number(static_cast<double>(counts.cached)), format_number(static_cast<double>(counts.free)),
           format_bytes(static_cast<double>(inspection_->block_bytes)));
}

QString BlocksView::command() const {
  if (empty()) return {};
  return to_qstring(command_line(workspace().edited().settings)) +
         QStringLiteral(" --holders holders.csv --holders-at ") +
         QString::number(seconds(Ticks{tick()}), 'f', 9);
}

void BlocksView::draw(QPainter& painter, const QSize& size) {
  const int line = painter.fontMetrics().height();
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(kGap, kGap, size.width() - 2 * kGap, 2 * line), Qt::AlignLeft | Qt::TextWordWrap,
                   value_text());
  const int below = 2 * line + kGap;
  painter.save();
  painter.translate(0, below);
  map_->draw(painter, QSize(size.width() * 2 / 3, size.height() - below));
  painter.restore();
  const QRect side(size.width() * 2 / 3 + kGap, below, size.width() / 3 - 2 * kGap, size.height() - below);
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(side.left(), side.top(), side.width(), 2 * line), Qt::TextWordWrap,
                   block_words_->text());
  paint_table(painter, side.adjusted(0, 2 * line, 0, 0), *changes_, 0, palette());
}

}  // namespace kvplan::gui
