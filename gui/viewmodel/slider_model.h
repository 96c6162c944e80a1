// The four sliders: which setting each one moves in the present scenario, and the values it stops at.
//
// A slider is a list of stops, each the exact text of a setting, so what it sets can be typed on a command
// line and its keys step through the same values as its handle.
#pragma once

#include <QString>
#include <array>
#include <string>
#include <vector>

#include "simulator/plan/scenario.h"

namespace kvplan::gui {

enum class SliderKind : std::uint8_t { kLoad, kPool, kBlock, kBudget };
/// By SliderKind: the name of the widget.
inline constexpr std::array kSliderNames{"load", "pool", "block", "budget"};
inline constexpr std::size_t kSliders = kSliderNames.size();

struct SliderModel {
  std::string path;  ///< of the setting; empty: the scenario has nothing for this slider to move
  std::vector<std::string> stops;  ///< ascending; not empty where path is not
  std::string text;                ///< the value in force, which may lie between two stops
  QString shown;                   ///< the same for people, with its unit
  QString explanation;             ///< what it moves, or why it cannot

  /// The stop nearest to the value in force, by ratio.
  [[nodiscard]] int position() const;
};

/// `hash_block_tokens`: of the trace, 0 where it has none; blocks must divide it.
SliderModel slider_model(SliderKind kind, const plan::Scenario& scenario, std::int64_t hash_block_tokens);

}  // namespace kvplan::gui
