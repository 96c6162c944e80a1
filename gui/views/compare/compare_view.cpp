#include "gui/views/compare/compare_view.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/scenario_document.h"
#include "gui/views/compare/compare_chart.h"
#include "gui/views/painting.h"
#include "simulator/base/json_writer.h"

namespace kvplan::gui {

CompareView::CompareView(QWidget* parent)
    : View(parent),
      model_(new TableModel(this)),
      keep_(new QPushButton(this)),
      bar_(new QHBoxLayout),
      chart_(new CompareChart(this)),
      parting_(new QLabel(this)),
      go_(new QPushButton(this)),
      table_(new QTableView(this)) {
  setObjectName(QStringLiteral("compare"));
  keep_->setObjectName(QStringLiteral("compare-keep"));
  go_->setObjectName(QStringLiteral("compare-parting"));
  parting_->setWordWrap(true);
  parting_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  table_->setModel(model_);
  table_->setObjectName(QStringLiteral("compare-table"));
  table_->setTabKeyNavigation(false);
  table_->verticalHeader()->hide();
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
  bar_->addWidget(keep_);
  bar_->addStretch(1);
  auto* moment = new QHBoxLayout;
  moment->addWidget(parting_, 1);
  moment->addWidget(go_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGap, kGap / 2, kGap, kGap / 2);
  column->addLayout(bar_);
  column->addWidget(chart_, 3);
  column->addLayout(moment);
  column->addWidget(table_, 2);
  connect(keep_, &QPushButton::clicked, this, [this] {
    if (attached()) workspace().keep(workspace().edited());
  });
  connect(go_, &QPushButton::clicked, this, &CompareView::go_to_parting);
  translate();
}

void CompareView::translate() {
  setAccessibleName(tr("Comparison of scenarios"));
  chart_->setAccessibleName(tr("Memory of each scenario over time"));
  table_->setAccessibleName(tr("Differences"));
  keep_->setText(tr("&Keep Scenario"));
  keep_->setToolTip(
      tr("Keeps the present scenario and its result; what you change then is compared with it"));
  go_->setText(tr("&Go There"));
}

void CompareView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) {
    translate();
    shown_.clear();
  }
  View::changeEvent(event);
}

bool CompareView::empty() const {
  return !attached() || !workspace().edited().result;
}

bool CompareView::settled() const {
  return !attached() || (!empty() && partings_.size() + 1 >= workspace().slots().size()) ||
         (empty() && workspace().idle());
}

void CompareView::refresh() {
  const auto& slots = workspace().slots();
  keep_->setEnabled(slots.front().result && workspace().has_room() && !workspace().stale());
  make_slot_buttons();
  chart_->show_slots(workspace());
  model_->show(compared_table(slots, workspace().selected().cursor));
  table_->resizeColumnsToContents();
  show_partings();
}

void CompareView::make_slot_buttons() {
  const auto& slots = workspace().slots();
  std::vector<ResultPtr> now;
  for (std::size_t slot = 1; slot < slots.size(); ++slot) now.push_back(slots[slot].result);
  if (now == shown_ && slot_buttons_.size() == 2 * now.size()) return;
  shown_ = now;
  for (QPushButton* button : slot_buttons_) button->deleteLater();
  slot_buttons_.clear();
  for (std::size_t slot = 1; slot < slots.size(); ++slot) {
    const QString letter = slot_letter(slot);
    auto* edit = new QPushButton(tr("Edit %1").arg(letter), this);
    edit->setObjectName(QStringLiteral("compare-edit-%1").arg(letter));
    edit->setToolTip(tr("The window edits this scenario; the present one is kept in its place"));
    auto* remove = new QPushButton(tr("Remove %1").arg(letter), this);
    remove->setObjectName(QStringLiteral("compare-remove-%1").arg(letter));
    connect(edit, &QPushButton::clicked, this, [this, slot] {
      const std::vector<runs::Setting> settings = workspace().slots()[slot].settings;
      const Slot present = workspace().edited();
      workspace().drop_kept(slot);
      if (present.result) workspace().keep(present);
      Q_EMIT workspace().scenario_asked(settings);
    });
    connect(remove, &QPushButton::clicked, this, [this, slot] { workspace().drop_kept(slot); });
    for (QPushButton* button : {edit, remove}) {
      bar_->addWidget(button);
      slot_buttons_.push_back(button);
    }
  }
}

void CompareView::show_partings() {
  const auto& slots = workspace().slots();
  std::erase_if(partings_, [&](const Found& found) {
    return found.a != slots.front().result ||
           std::none_of(slots.begin() + 1, slots.end(), [&](const Slot& s) { return s.result == found.b; });
  });
  const bool wanted = slots.size() > 1 && slots.front().result && !workspace().stale();
  const InspectionPtr a = wanted ? workspace().inspection(slots.front().result) : nullptr;
  for (std::size_t slot = 1; wanted && slot < slots.size(); ++slot) {
    const ResultPtr& result = slots[slot].result;
    const bool known = std::any_of(partings_.begin(), partings_.end(),
                                   [&](const Found& found) { return found.b == result; });
    const InspectionPtr b = known ? nullptr : workspace().inspection(result);
    if (a && b) partings_.push_back({slots.front().result, result, runs::parting_of(a->decided, b->decided)});
  }
  parting_->setText(parting_text());
  go_->setEnabled(std::any_of(partings_.begin(), partings_.end(),
                              [](const Found& found) { return found.parting.has_value(); }));
}

QString CompareView::parting_text() const {
  if (!attached()) return {};
  const auto& slots = workspace().slots();
  if (slots.size() < 2)
    return tr("Keep the scenario, then change something: both are compared here, moment by moment.");
  QStringList lines;
  for (std::size_t slot = 1; slot < slots.size(); ++slot) {
    const auto found = std::find_if(partings_.begin(), partings_.end(),
                                    [&](const Found& each) { return each.b == slots[slot].result; });
    if (found == partings_.end()) continue;
    const QString letter = slot_letter(slot);
    if (!found->parting) {
      lines << tr("A and %1 decide the same in every step.").arg(letter);
      continue;
    }
    const runs::Parting& parting = *found->parting;
    const auto first = [](const std::vector<observe::Decision>& decisions) {
      return decisions.empty() ? tr("decides nothing") : to_qstring(runs::decision_text(decisions.front()));
    };
    lines << tr("A and %1 part at %2, in step %3: A %4; %1 %5.")
                 .arg(letter, format_seconds(seconds(parting.time().since_start)),
                      format_number(static_cast<double>(parting.step)), first(parting.only_a),
                      first(parting.only_b));
  }
  return lines.join(QLatin1Char('\n'));
}

void CompareView::go_to_parting() {
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> request;
  for (const Found& found : partings_) {
    if (!found.parting) continue;
    const std::int64_t tick = found.parting->time().since_start.count;
    if (first && *first <= tick) continue;
    first = tick;
    const auto& decisions = found.parting->only_a.empty() ? found.parting->only_b : found.parting->only_a;
    request = number(decisions.front().request);
  }
  if (!first) return;
  runs::Selection next = workspace().selected();
  next.cursor = first;
  next.request = request;
  workspace().selection().set(next);
}

QString CompareView::csv() {
  const auto& slots = workspace().slots();
  QString out = QStringLiteral("figure");
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    out += QLatin1Char(',') + slot_letter(slot);
    if (slot > 0) out += QLatin1Char(',') + slot_letter(slot) + QStringLiteral("-A");
  }
  out += QLatin1Char('\n');
  for (const ComparedRow& row : compared_rows(slots, workspace().selected().cursor)) {
    out += row.name;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      const auto& value = row.values[slot];
      out += QLatin1Char(',');
      if (value) out += to_qstring(shortest(*value));
      if (slot == 0) continue;
      out += QLatin1Char(',');
      if (value && row.values.front()) out += to_qstring(shortest(*value - *row.values.front()));
    }
    out += QLatin1Char('\n');
  }
  return out;
}

QString CompareView::command() const {
  if (empty()) return {};
  QStringList lines;
  for (const Slot& slot : workspace().slots())
    lines << to_qstring(command_line(slot.settings)) + QStringLiteral(" --json -");
  return lines.join(QLatin1Char('\n'));
}

QString CompareView::value_text() const {
  return parting_text();
}

void CompareView::draw(QPainter& painter, const QSize& size) {
  const int line = painter.fontMetrics().height();
  const int table = std::min(size.height() / 2, (model_->rowCount() + 1) * (line + 4));
  const QString words = parting_text();
  const QRect text(kGap, kGap, size.width() - 2 * kGap,
                   line * static_cast<int>(words.count(QLatin1Char('\n')) + 2));
  painter.setPen(palette().color(QPalette::WindowText));
  painter.drawText(text, Qt::AlignLeft | Qt::TextWordWrap, words);
  painter.save();
  painter.translate(0, text.bottom() + kGap);
  chart_->draw(painter, QSize(size.width(), size.height() - table - text.bottom() - 3 * kGap));
  painter.restore();
  paint_table(painter, QRect(kGap, size.height() - table, size.width() - 2 * kGap, table), *model_, 0,
              palette());
}

}  // namespace kvplan::gui
