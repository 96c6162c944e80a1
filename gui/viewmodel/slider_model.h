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

/// What a slider must know that the scenario does not say.
struct SliderFacts {
  std::int64_t hash_block_tokens{0};  ///< of the trace, 0 where it has none; blocks must divide it
  /// Of the pool that was derived from device and model when the scenario ran; 0: it did not run yet, or derives none.
  std::int64_t derived_pool_bytes{0};
};

SliderModel slider_model(SliderKind kind, const plan::Scenario& scenario, const SliderFacts& facts);

}  // namespace kvplan::gui
