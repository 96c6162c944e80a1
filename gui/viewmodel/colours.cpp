#include "gui/viewmodel/colours.h"

#include "simulator/report/palette.h"

namespace kvplan::gui {

using observe::State;

observe::State state_of_layer(std::size_t layer) {
  return report::kStackOrder.at(layer);
}

bool is_dark(const QPalette& palette) {
  return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

QColor state_colour(State state, const QPalette& palette) {
  if (state == State::kFree) return palette.color(QPalette::Base);
  const std::string_view colour = report::kStateStyles[observe::index(state)].colour;
  if (colour.empty()) return is_dark(palette) ? QColor(Qt::white) : QColor(Qt::black);
  return QColor(QLatin1String(colour.data(), static_cast<qsizetype>(colour.size())));
}

bool state_hatched(State state) {
  return report::kStateStyles[observe::index(state)].hatch != report::Hatch::kNone;
}

QColor hatch_colour(State state, const QPalette& palette) {
  const QColor colour = state_colour(state, palette);
  return colour == QColor(Qt::black) ? QColor(0x77, 0x77, 0x77) : colour.darker(150);
}

QColor running_colour(const QPalette& palette) {
  return is_dark(palette) ? QColor(0x56, 0xB4, 0xE9) : QColor(0x00, 0x72, 0xB2);
}
QColor waiting_colour(const QPalette& /*palette*/) {
  return QColor(0xD5, 0x5E, 0x00);
}

}  // namespace kvplan::gui
