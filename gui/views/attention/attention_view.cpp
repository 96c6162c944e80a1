#include "gui/views/attention/attention_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QSignalBlocker>
#include <QSlider>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "gui/views/attention/attention_chart.h"
#include "gui/views/painting.h"
#include "gui/views/table_pane.h"

namespace kvplan::gui {

AttentionView::AttentionView(QWidget* parent)
    : View(parent),
      model_(new TableModel(this)),
      sequence_(new QComboBox(this)),
      layer_(new QComboBox(this)),
      head_(new QComboBox(this)),
      policies_(new QLineEdit(this)),
      slider_(new QSlider(Qt::Horizontal, this)),
      words_(new QLabel(this)),
      chart_(new AttentionChart(this)),
      table_(make_table(*model_, QStringLiteral("attention-table"), this)) {
  setObjectName(QStringLiteral("attention"));
  sequence_->setObjectName(QStringLiteral("attention-sequence"));
  layer_->setObjectName(QStringLiteral("attention-layer"));
  head_->setObjectName(QStringLiteral("attention-head"));
  policies_->setObjectName(QStringLiteral("attention-policies"));
  slider_->setObjectName(QStringLiteral("attention-step"));
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  model_->show(attention_table(nullptr, 0));
  auto* bar = new QHBoxLayout;
  for (QComboBox* box : {sequence_, layer_, head_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    bar->addWidget(box);
  }
  bar->addWidget(policies_, 1);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  column->addLayout(bar);
  column->addWidget(slider_);
  column->addWidget(words_);
  column->addWidget(chart_, 4);
  column->addWidget(table_, 1);
  for (QComboBox* box : {sequence_, layer_, head_})
    connect(box, &QComboBox::currentIndexChanged, this, [this, box] {
      if (filling_) return;
      if (box != head_) fill_choices();
      ask_run();
    });
  connect(policies_, &QLineEdit::editingFinished, this, &AttentionView::ask_run);
  connect(slider_, &QSlider::valueChanged, this, [this](int value) { set_step(value); });
  connect(chart_, &AttentionChart::step_asked, this, &AttentionView::set_step);
  translate();
  show_step();
}

void AttentionView::translate() {
  setAccessibleName(tr("Attention"));
  sequence_->setAccessibleName(tr("Sequence"));
  layer_->setAccessibleName(tr("Layer"));
  head_->setAccessibleName(tr("Query head"));
  policies_->setAccessibleName(tr("Up to four policies, separated by semicolons"));
  policies_->setToolTip(policies_->accessibleName());
  slider_->setAccessibleName(tr("Step"));
  chart_->setAccessibleName(tr("Weights, kept tokens and attended mass"));
  table_->setAccessibleName(tr("Policies"));
}

void AttentionView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) {
    translate();
    fill_choices();
    show_step();
  }
  View::changeEvent(event);
}

void AttentionView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Comma) return set_step(step_ - 1);
  if (event->key() == Qt::Key_Period) return set_step(step_ + 1);
  View::keyPressEvent(event);
}

void AttentionView::refresh() {
  const auto now = std::dynamic_pointer_cast<const RecordingDocument>(workspace().document("attention"));
  if (now != document_) {
    document_ = now;
    run_.reset();
    fill_choices();
    const auto& sequences = document_->recording->info().sequences;
    if (!sequences.empty()) {
      policies_->setText(to_qstring(usual_policies(sequences.front().tokens)));
      policies_->setCursorPosition(0);
    }
    ask_run();
  }
  show_step();
}

/// Sequences, layers and heads, with what was chosen before where it is still there.
void AttentionView::fill_choices() {
  if (!document_) return;
  filling_ = true;
  const attention::RecordingInfo& info = document_->recording->info();
  const int sequence = std::max(0, sequence_->currentIndex());
  sequence_->clear();
  for (std::size_t i = 0; i < info.sequences.size(); ++i)
    sequence_->addItem(tr("Sequence %1: %2 tokens").arg(i).arg(info.sequences[i].tokens));
  sequence_->setCurrentIndex(std::min(sequence, sequence_->count() - 1));
  const int layer = std::max(0, layer_->currentIndex());
  layer_->clear();
  for (const std::int32_t number : info.layer_numbers()) layer_->addItem(tr("Layer %1").arg(number), number);
  layer_->setCurrentIndex(std::min(layer, layer_->count() - 1));
  const int head = std::max(0, head_->currentIndex());
  head_->clear();
  const attention::LayerInfo of = info.layer(layer_->currentData().toInt());
  for (std::int32_t number = 0; number < of.query_heads; ++number)
    head_->addItem(tr("Head %1").arg(of.model_query_head(number)));
  head_->setCurrentIndex(std::min(head, head_->count() - 1));
  filling_ = false;
}

AttentionChoice AttentionView::choice() const {
  AttentionChoice choice;
  choice.sequence = std::max(0, sequence_->currentIndex());
  choice.layer = layer_->currentData().toInt();
  choice.head = std::max(0, head_->currentIndex());
  const attention::SequenceInfo& sequence =
      document_->recording->info().sequences[static_cast<std::size_t>(choice.sequence)];
  choice.prompt =
      sequence.prompt_tokens > 0 ? sequence.prompt_tokens : std::max<std::int64_t>(1, sequence.tokens / 2);
  choice.policies = split_policies(to_utf8(policies_->text()));
  return choice;
}

void AttentionView::ask_run() {
  if (!document_ || !attached() || document_->recording->info().sequences.empty()) return;
  const AttentionChoice wanted = choice();
  if (run_ && run_->choice == wanted) return;
  asked_ = true;
  using Found = Result<AttentionRunPtr>;
  workspace().compute<Found>(
      this,
      [recording = document_->recording, wanted](core::RunControl& control, runs::Inputs&) -> Found {
        return run_attention(*recording, wanted, control);
      },
      [this, wanted](const Found& found) {
        if (!(wanted == choice())) return;
        asked_ = false;
        if (!found.ok()) return Q_EMIT workspace().problem(to_qstring(found.error().to_string()));
        run_ = found.value();
        step_ = std::clamp<std::int64_t>(step_, 0, run_->steps() - 1);
        if (step_ == 0) step_ = (run_->steps() - 1) / 2;
        show_step();
        fit_columns(*table_);
      },
      [guard = QPointer<AttentionView>(this), wanted] { return guard && guard->choice() == wanted; });
}

void AttentionView::set_policies(const QString& text) {
  policies_->setText(text);
  ask_run();
}

void AttentionView::set_step(std::int64_t step) {
  if (!run_) return;
  step_ = std::clamp<std::int64_t>(step, 0, run_->steps() - 1);
  show_step();
}

void AttentionView::show_step() {
  for (QWidget* widget : std::initializer_list<QWidget*>{sequence_, layer_, head_, policies_})
    widget->setEnabled(document_ != nullptr);
  slider_->setEnabled(run_ != nullptr);
  if (run_) {
    const QSignalBlocker quiet(slider_);
    slider_->setRange(0, static_cast<int>(run_->steps() - 1));
    slider_->setValue(static_cast<int>(step_));
  }
  model_->show(attention_table(run_, step_));
  chart_->show_run(run_, step_);
  words_->setText(value_text());
}

QString AttentionView::value_text() const {
  if (!document_) return tr("Open a recording of attention (.kva).");
  if (!run_) return tr("The policies are replayed on the recording.");
  if (step_ == 0) return tr("At the end of the prompt, token %1.").arg(run_->choice.prompt - 1);
  QStringList words{tr("Token %1 asks, step %2 of %3.")
                        .arg(QString::number(run_->choice.prompt + step_ - 1), QString::number(step_),
                             QString::number(run_->steps() - 1))};
  for (const PolicyTrack& track : run_->tracks) {
    const std::string name = track.name.substr(0, track.name.find(':'));
    words << tr("%1 attends %2 of the mass.")
                 .arg(to_qstring(name), format_percent(track.mass[static_cast<std::size_t>(step_ - 1)]));
  }
  return words.join(QLatin1Char(' '));
}

QString AttentionView::command() const {
  if (!run_) return {};
  QStringList lines;
  for (const PolicyTrack& track : run_->tracks)
    lines << QStringLiteral("kvplan evict '%1' --policy '%2' --prefill %3 --sequence %4 --layer %5 --json -")
                 .arg(to_qstring(document_->path), to_qstring(track.name))
                 .arg(run_->choice.prompt)
                 .arg(run_->choice.sequence)
                 .arg(run_->choice.layer);
  return lines.join(QLatin1Char('\n'));
}

void AttentionView::draw(QPainter& painter, const QSize& size) {
  const int line = painter.fontMetrics().height();
  const int table = 6 * (line + 4);
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(QRect(kGap, kGap, size.width() - 2 * kGap, 2 * line), Qt::AlignLeft | Qt::TextWordWrap,
                   value_text());
  painter.save();
  painter.translate(0, 2 * line + kGap);
  chart_->draw(painter, QSize(size.width(), size.height() - table - 2 * line - 2 * kGap));
  painter.restore();
  paint_table(painter, QRect(kGap, size.height() - table, size.width() - 2 * kGap, table), *model_, 0,
              palette());
}

}  // namespace kvplan::gui
