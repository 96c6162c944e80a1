#include "gui/view/slider_panel.h"

#include <QEvent>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QStyleOptionSlider>

#include "gui/viewmodel/formatting.h"

namespace kvplan::gui {
int row_height(const QWidget& panel) {
  return panel.fontMetrics().height() + 4;
}

MarkedSlider::MarkedSlider(QWidget* parent) : QSlider(Qt::Horizontal, parent) {
  setMinimumWidth(160);
}

void MarkedSlider::set_limit(std::optional<int> limit) {
  if (limit_ == limit) return;
  limit_ = limit;
  update();
}

int MarkedSlider::x_of(int value) const {
  QStyleOptionSlider option;
  initStyleOption(&option);
  option.sliderPosition = value;
  return style()->subControlRect(QStyle::CC_Slider, &option, QStyle::SC_SliderHandle, this).center().x();
}

void MarkedSlider::paintEvent(QPaintEvent* event) {
  QSlider::paintEvent(event);
  if (!limit_) return;
  const int x = x_of(*limit_), beyond = x_of(maximum());
  QPainter painter(this);
  QColor colour(0xD5, 0x5E, 0x00);
  painter.fillRect(QRect(x, height() - 5, beyond - x, 4), QBrush(colour, Qt::BDiagPattern));
  painter.fillRect(QRect(x - 1, 1, 2, height() - 2), colour);
}

SliderPanel::SliderPanel(QWidget* parent) : QWidget(parent) {
  auto* layout = new QGridLayout(this);
  layout->setColumnStretch(1, 1);
  for (std::size_t i = 0; i < kSliders; ++i) {
    Row& row = rows_[i];
    row.name = new QLabel(this);
    row.slider = new MarkedSlider(this);
    row.slider->setPageStep(4);
    row.slider->setObjectName(QStringLiteral("slider:") + QString::fromLatin1(kSliderNames[i]));
    row.slider->installEventFilter(this);
    row.name->setBuddy(row.slider);
    row.value = new QLabel(this);
    row.value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    const int line = static_cast<int>(i);
    layout->setRowMinimumHeight(line, row_height(*this));
    layout->addWidget(row.name, line, 0);
    layout->addWidget(row.slider, line, 1);
    layout->addWidget(row.value, line, 2);
    connect(row.slider, &QSlider::sliderPressed, this, [this, &row] { begin_movement(row); });
    connect(row.slider, &QSlider::valueChanged, this, [this, &row](int position) {
      if (row.merge == 0) begin_movement(row);
      Q_EMIT moved(to_qstring(row.model.path),
                   to_qstring(row.model.stops[static_cast<std::size_t>(position)]), row.merge);
    });
  }
  warning_ = new QLabel(this);
  warning_->setObjectName(QStringLiteral("slider-warning"));
  warning_->setWordWrap(true);
  warning_->hide();
  layout->addWidget(warning_, static_cast<int>(kSliders), 0, 1, 3);
  layout->setRowStretch(static_cast<int>(kSliders) + 1, 1);
  translate();
}

void SliderPanel::translate() {
  const std::array names{tr("&Load"), tr("&Pool"), tr("&Block"), tr("B&udget")};
  static_assert(names.size() == kSliders);
  for (std::size_t i = 0; i < kSliders; ++i) {
    const Row& row = rows_[i];
    row.name->setText(names[i]);
    row.slider->setAccessibleName(without_mnemonic(names[i]));
    row.value->setMinimumWidth(row.value->fontMetrics().horizontalAdvance(tr("65,536 tokens per step ")));
  }
}

void SliderPanel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::LanguageChange) translate();
  QWidget::changeEvent(event);
}

void SliderPanel::begin_movement(Row& row) {
  row.merge = ++movements_;
}

bool SliderPanel::eventFilter(QObject* watched, QEvent* event) {
  for (Row& row : rows_) {
    if (row.slider != watched) continue;
    // Steps by keys or wheel are one movement while the slider keeps the focus.
    if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) row.merge = 0;
    if (give_up(row, *event)) return true;
  }
  return QWidget::eventFilter(watched, event);
}

bool SliderPanel::give_up(Row& row, const QEvent& event) {
  const bool escape =
      event.type() == QEvent::KeyPress && static_cast<const QKeyEvent&>(event).key() == Qt::Key_Escape;
  if (escape && row.slider->isSliderDown() && !row.given_up) {
    row.given_up = true;
    Q_EMIT taken_back(row.merge);
    return true;
  }
  if (event.type() == QEvent::MouseButtonRelease) row.given_up = false;
  return row.given_up && event.type() == QEvent::MouseMove;
}

MarkedSlider* SliderPanel::slider(SliderKind kind) const {
  return rows_[static_cast<std::size_t>(kind)].slider;
}

void SliderPanel::show_scenario(const runs::Scenario& scenario, const SliderFacts& facts) {
  QStringList warnings;
  for (std::size_t i = 0; i < kSliders; ++i) {
    Row& row = rows_[i];
    row.model = slider_model(static_cast<SliderKind>(i), scenario, facts);
    const bool usable = !row.model.path.empty() && row.model.stops.size() > 1;
    const QSignalBlocker quiet(row.slider);
    row.slider->setEnabled(usable);
    row.name->setEnabled(usable);
    row.slider->setToolTip(row.model.explanation);
    // If the pool is not known yet, the row says what it will be a share of.
    const bool says = usable || (row.model.path.empty() && !row.model.shown.isEmpty());
    const bool warns = !row.model.warning.isEmpty();
    row.value->setText(!says   ? QStringLiteral("–")
                       : warns ? QStringLiteral("\u26A0 ") + row.model.shown
                               : row.model.shown);
    row.value->setToolTip(row.model.warning);
    row.slider->set_limit(usable ? row.model.limit : std::nullopt);
    if (warns) row.slider->setToolTip(row.model.warning);
    row.slider->setAccessibleDescription(
        QStringList{row.model.shown, row.model.explanation, row.model.warning}.join(QStringLiteral(". ")));
    warnings << row.model.warning;
    if (!usable) continue;
    row.slider->setRange(0, static_cast<int>(row.model.stops.size()) - 1);
    row.slider->setValue(row.model.position());
  }
  warnings.removeAll(QString());
  warning_->setText(warnings.join(QLatin1Char('\n')));
  warning_->setVisible(!warnings.isEmpty());
}

}  // namespace kvplan::gui
