#include "gui/views/timeline/timeline_view.h"

#include <QAccessible>
#include <QEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/viewmodel/formatting.h"
#include "gui/viewmodel/scenario_document.h"
#include "gui/views/timeline/timeline_table.h"

namespace kvplan::gui {
namespace {

constexpr double kZoomStep = 1.25;
constexpr double kPanStep = 0.1;
constexpr std::int64_t kLeastBins = 8;  // the closest zoom shows this many

}  // namespace

TimelineView::TimelineView(QWidget* parent)
    : View(parent), selection_(new SelectionModel(this)), table_(new TimelineTable(this)) {
  connect(selection_, &SelectionModel::changed, this, &TimelineView::follow);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setObjectName(QStringLiteral("timeline"));
  translate();
}

void TimelineView::translate() {
  legend_width_ = wanted_legend_width();
  setAccessibleName(tr("Memory over time"));
  setAccessibleDescription(
      tr("Stacked chart of the ten states of KV memory, with running and waiting requests below it. W and S "
         "zoom, A and D pan, arrow keys move the cursor, Home shows everything."));
}

void TimelineView::attach(Workspace& workspace) {
  delete selection_;
  selection_ = &workspace.selection();
  connect(selection_, &SelectionModel::changed, this, &TimelineView::follow);
  View::attach(workspace);
}

/// The window hands over data and staleness itself: a slider's step must not wait for a hidden view.
void TimelineView::refresh() {}

void TimelineView::follow(const runs::Selection& before) {
  const runs::Selection& now = selection_->get();
  if (now.visible != before.visible) {
    layers_ = {};
    Q_EMIT range_changed();
  }
  if (now.cursor != before.cursor) {
    QAccessibleValueChangeEvent changed(this, value_text());
    QAccessible::updateAccessibility(&changed);
  }
  update();
}

QAbstractItemModel* TimelineView::table() {
  table_->show_range(data_, range());
  return table_;
}

QString TimelineView::command() const {
  if (!attached() || workspace().edited().settings.empty()) return {};
  return to_qstring(command_line(workspace().edited().settings));
}

void TimelineView::set_data(std::shared_ptr<const TimelineData> data) {
  const TimeRange old = has_data() ? data_->whole() : TimeRange{};
  data_ = std::move(data);
  layers_ = {};
  const auto rescaled = [&](std::int64_t tick) {
    return static_cast<std::int64_t>(Wide{tick} * data_->whole().end / old.end);
  };
  runs::Selection next = selection_->get();
  if (!has_data()) {
    next.visible = {};
    next.cursor.reset();
    next.marked.reset();
  } else if (old.end == 0 || next.visible == old) {
    next.visible = data_->whole();
  } else {
    next.visible = allowed({rescaled(next.visible.begin), rescaled(next.visible.end)});
  }
  if (has_data() && old.end != 0) {
    if (next.cursor) next.cursor = std::min(rescaled(*next.cursor), data_->whole().end - 1);
    if (next.marked) next.marked = TimeRange{rescaled(next.marked->begin), rescaled(next.marked->end)};
  }
  const bool same = next.visible == selection_->get().visible;
  selection_->set(next);
  if (same) Q_EMIT range_changed();
  update();
}

void TimelineView::set_empty_text(const QString& text) {
  empty_text_ = text;
  update();
}

void TimelineView::set_stale(bool stale) {
  if (stale_ == stale) return;
  stale_ = stale;
  update();
}

std::int64_t TimelineView::least_length() const {
  const auto bins = static_cast<std::int64_t>(data_->bins().size());
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(Wide{data_->whole().end} * std::min(kLeastBins, bins) / bins));
}

TimeRange TimelineView::allowed(TimeRange range) const {
  const std::int64_t whole = data_->whole().end;
  const std::int64_t length = std::clamp(range.length(), least_length(), whole);
  const std::int64_t begin = std::clamp<std::int64_t>(range.begin, 0, whole - length);
  return {begin, begin + length};
}

void TimelineView::set_range(TimeRange range) {
  if (has_data()) selection_->set_visible(allowed(range));
}

void TimelineView::show_all() {
  if (has_data()) set_range(data_->whole());
}

void TimelineView::zoom(double factor, std::int64_t around) {
  if (!has_data()) return;
  const double wanted = static_cast<double>(range().length()) / factor;
  const double length =
      std::clamp(wanted, static_cast<double>(least_length()), static_cast<double>(data_->whole().end));
  const double part = static_cast<double>(around - range().begin) / static_cast<double>(range().length());
  const auto begin = static_cast<std::int64_t>(std::llround(static_cast<double>(around) - part * length));
  set_range({begin, begin + static_cast<std::int64_t>(std::llround(length))});
}

void TimelineView::pan(double parts_of_view) {
  const auto by =
      static_cast<std::int64_t>(std::llround(parts_of_view * static_cast<double>(range().length())));
  set_range({range().begin + by, range().end + by});
}

void TimelineView::show_marked() {
  if (marked() && marked()->length() > 0) set_range(*marked());
}

void TimelineView::set_marked(std::optional<TimeRange> range) {
  if (!has_data()) range.reset();
  const auto inside = [this](std::int64_t tick) {
    return std::clamp<std::int64_t>(tick, 0, data_->whole().end);
  };
  if (range) range = TimeRange{inside(range->begin), inside(range->end)};
  selection_->set_marked(range);
}

void TimelineView::clear_marks() {
  set_marked(std::nullopt);
  set_cursor(std::nullopt);
}

void TimelineView::set_cursor(std::optional<std::int64_t> tick) {
  if (!has_data()) tick.reset();
  if (tick) tick = std::clamp<std::int64_t>(*tick, 0, data_->whole().end - 1);
  selection_->set_cursor(tick);
}

void TimelineView::move_cursor(int direction, bool mark) {
  if (!has_data()) return;
  const std::int64_t from = cursor_tick().value_or(range().begin + range().length() / 2);
  const std::int64_t step = std::max<std::int64_t>(1, range().length() / 100);
  set_cursor(cursor_tick() ? from + direction * step : from);
  const std::int64_t now = *cursor_tick();
  if (mark) {
    // The mark's far end stays where the first Shift+arrow was.
    const auto old = marked();
    const std::int64_t anchor = !old ? from : old->begin == from ? old->end : old->begin;
    selection_->set_marked(TimeRange{std::min(anchor, now), std::max(anchor, now)});
  }
  if (now < range().begin || now >= range().end) pan(direction * 0.5);
}

std::int64_t TimelineView::tick_at(double x) const {
  const QRect plot = plot_rect();
  const double part = (x - plot.left()) / std::max(1, plot.width());
  return range().begin +
         static_cast<std::int64_t>(std::llround(part * static_cast<double>(range().length())));
}

double TimelineView::x_of(std::int64_t tick) const {
  const QRect plot = plot_rect();
  return plot.left() + static_cast<double>(tick - range().begin) /
                           static_cast<double>(std::max<std::int64_t>(1, range().length())) * plot.width();
}

bool TimelineView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString text = tool_tip_at(help->pos());
    if (text.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), text, this);
    }
    return true;
  }
  return View::event(event);
}

void TimelineView::changeEvent(QEvent* event) {
  switch (event->type()) {
    case QEvent::StyleChange:
    case QEvent::FontChange:
    case QEvent::LanguageChange:
      translate();
      [[fallthrough]];
    case QEvent::PaletteChange:
      layers_ = {};
      update();
      break;
    default:
      break;
  }
  View::changeEvent(event);
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (!has_data() || (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier)) != 0)
    return View::keyPressEvent(event);
  const bool shift = (event->modifiers() & Qt::ShiftModifier) != 0;
  const std::int64_t middle = cursor_tick() && *cursor_tick() >= range().begin && *cursor_tick() < range().end
                                  ? *cursor_tick()
                                  : range().begin + range().length() / 2;
  switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Up:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return zoom(kZoomStep, middle);
    case Qt::Key_S:
    case Qt::Key_Down:
    case Qt::Key_Minus:
      return zoom(1 / kZoomStep, middle);
    case Qt::Key_A:
      return pan(-kPanStep);
    case Qt::Key_D:
      return pan(kPanStep);
    case Qt::Key_Left:
      return move_cursor(-1, shift);
    case Qt::Key_Right:
      return move_cursor(1, shift);
    case Qt::Key_Home:
      return show_all();
    case Qt::Key_F:
      return show_marked();
    case Qt::Key_Escape:
      return drag_ == Drag::kNone ? clear_marks() : give_up_drag();
    default:
      return View::keyPressEvent(event);
  }
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  if (!has_data()) return event->ignore();
  const QPoint delta = event->angleDelta();
  // Some platforms turn Shift+wheel into a horizontal one.
  const double turns = (delta.y() != 0 ? delta.y() : delta.x()) / 120.0;
  if ((event->modifiers() & Qt::ShiftModifier) != 0 || delta.y() == 0) {
    pan(-turns * kPanStep);
  } else {
    zoom(std::pow(kZoomStep, turns), tick_at(event->position().x()));
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (!has_data() || (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton)) return;
  const bool mark = event->button() == Qt::LeftButton && (event->modifiers() & Qt::ShiftModifier) != 0;
  drag_ = mark ? Drag::kMark : Drag::kPan;
  drag_from_ = event->position();
  drag_range_ = range();
  drag_marked_ = marked();
  set_cursor(tick_at(event->position().x()));
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (!has_data()) return;
  const double x = event->position().x();
  if (drag_ == Drag::kPan) {
    const double parts = (drag_from_.x() - x) / std::max(1, plot_rect().width());
    const auto by =
        static_cast<std::int64_t>(std::llround(parts * static_cast<double>(drag_range_.length())));
    set_range({drag_range_.begin + by, drag_range_.end + by});
    return;
  }
  const QRect plot = plot_rect();
  if (drag_ == Drag::kMark) {
    const std::int64_t a = std::clamp(tick_at(drag_from_.x()), range().begin, range().end);
    const std::int64_t b = std::clamp(tick_at(x), range().begin, range().end);
    selection_->set_marked(TimeRange{std::min(a, b), std::max(a, b)});
  }
  if (x >= plot.left() && x <= plot.right()) set_cursor(tick_at(x));
}

void TimelineView::give_up_drag() {
  drag_ = Drag::kNone;
  set_range(drag_range_);
  set_marked(drag_marked_);
}

void TimelineView::mouseReleaseEvent(QMouseEvent* /*event*/) {
  drag_ = Drag::kNone;
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  show_all();
}

}  // namespace kvplan::gui
