#include "gui/viewmodel/colours.h"

namespace kvplan::gui {

using observe::State;

bool is_dark(const QPalette& palette) {
  return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

QColor state_colour(State state, const QPalette& palette) {
  switch (state) {
    case State::kMetadata:
      return QColor(0xF0, 0xE4, 0x42);
    case State::kLive:
      return QColor(0x00, 0x72, 0xB2);
    case State::kReserved:
      return QColor(0x56, 0xB4, 0xE9);
    case State::kHole:
      return QColor(0xD5, 0x5E, 0x00);
    case State::kTail:
      return QColor(0xCC, 0x79, 0xA7);
    case State::kPadding:
      return is_dark(palette) ? QColor(0xFF, 0xFF, 0xFF) : QColor(0x00, 0x00, 0x00);
    case State::kInternal:
      return QColor(0xE6, 0x9F, 0x00);
    case State::kCached:
      return QColor(0x00, 0x9E, 0x73);
    case State::kStranded:
      return QColor(0x99, 0x99, 0x99);
    case State::kFree:
      break;
  }
  return palette.color(QPalette::Base);
}

bool state_hatched(State state) {
  return state == State::kReserved || state == State::kHole || state == State::kStranded;
}

QColor hatch_colour(State state, const QPalette& palette) {
  return state_colour(state, palette).darker(150);
}

QColor running_colour(const QPalette& palette) {
  return is_dark(palette) ? QColor(0x56, 0xB4, 0xE9) : QColor(0x00, 0x72, 0xB2);
}
QColor waiting_colour(const QPalette& /*palette*/) {
  return QColor(0xD5, 0x5E, 0x00);
}

}  // namespace kvplan::gui
