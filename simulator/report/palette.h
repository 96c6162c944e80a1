// How the states of the ledger are drawn: Okabe-Ito colours, which stay apart under colour-vision deficiency,
// and a hatch where memory is held without holding tokens, so that colour never stands alone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "simulator/observe/ledger.h"

namespace kvplan::report {

enum class Hatch : std::uint8_t { kNone, kDiagonal, kCross, kHorizontal, kDots };

struct StateStyle {
  std::string_view colour;  ///< #RRGGBB; empty: the ink of the theme, black on white or the other way round
  Hatch hatch{Hatch::kNone};
};

/// By state, in the order of observe::State. Grey is `free` alone and never stands beside purple.
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

/// From the bottom of a stack to its top: tokens, what is held beside them, what is idle.
inline constexpr std::array<observe::State, observe::kStates> kStackOrder{
    observe::State::kLive,     observe::State::kMetadata, observe::State::kReserved, observe::State::kHole,
    observe::State::kTail,     observe::State::kInternal, observe::State::kPadding,  observe::State::kCached,
    observe::State::kStranded, observe::State::kFree};

/// Lines: blue, vermillion, green, purple (at least 3:1 against white and near-black).
inline constexpr std::array<std::string_view, 4> kLineColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7"};

}  // namespace kvplan::report
