// The four sliders: which setting each one moves in the present scenario, and the values it stops at.
//
// A slider is a list of stops, each the exact text of a setting, so what it sets can be typed on a command
// line and its keys step through the same values as its handle.
#pragma once

#include <QString>
#include <array>
#include <string>
#include <vector>

#include "simulator/run/run.h"

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
  /// Of the pool that is derived from device and model; 0: nobody knows it yet, or the scenario derives none.
  std::int64_t derived_pool_bytes{0};
};

/// The pool of a scenario that derives one: from its model where that is known by name, else as it was in `run`, the
/// last one (null: none), if all that a pool follows from is the same there. 0 where the scenario derives none, where
/// device and model have no room for one, and where nobody knows it before a run: the model stands in a file.
std::int64_t derived_pool_bytes(const plan::Scenario& scenario, const plan::RunSummary* run);

SliderModel slider_model(SliderKind kind, const plan::Scenario& scenario, const SliderFacts& facts);

}  // namespace kvplan::gui
