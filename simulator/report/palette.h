// How the states of the ledger are drawn: Okabe-Ito colours, which are distinct under colour-vision deficiency, and a
// hatch if memory is held without holding tokens, so that colour is never the only difference.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "simulator/observe/ledger.h"

namespace kvplan::report {

enum class Hatch : std::uint8_t { kNone, kDiagonal, kCross, kHorizontal, kDots };

struct StateStyle {
  /// #RRGGBB; empty: the text colour of the theme, black on white or white on black
  std::string_view colour;
  Hatch hatch{Hatch::kNone};
};

/// By state, in the order of observe::State. Only `free` is grey, and it is never next to purple.
inline constexpr std::array<StateStyle, observe::kStates> kStateStyles{{
    {"", Hatch::kNone},             // metadata
    {"#0072B2", Hatch::kNone},      // live: blue
    {"#56B4E9", Hatch::kDiagonal},  // reserved: sky
    {"#E69F00", Hatch::kCross},     // hole: orange
    {"#F0E442", Hatch::kNone},      // tail: yellow
    {"", Hatch::kHorizontal},       // padding
    {"#CC79A7", Hatch::kDots},      // internal: purple
    {"#009E73", Hatch::kNone},      // cached: green
    {"#D55E00", Hatch::kNone},      // stranded: vermillion
    {"#999999", Hatch::kNone},      // free: grey
}};

/// From the bottom of a stack to its top: tokens, other held memory, idle memory.
inline constexpr std::array<observe::State, observe::kStates> kStackOrder{
    observe::State::kLive,     observe::State::kMetadata, observe::State::kReserved, observe::State::kHole,
    observe::State::kTail,     observe::State::kInternal, observe::State::kPadding,  observe::State::kCached,
    observe::State::kStranded, observe::State::kFree};

/// Lines: blue, vermillion, green, purple (at least 3:1 against white and near-black).
inline constexpr std::array<std::string_view, 4> kLineColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7"};

}  // namespace kvplan::report
