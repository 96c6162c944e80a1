// The four sliders: the setting that each one changes in the present scenario, and the values at which it stops.
//
// A slider is a list of stops. Each stop is the exact text of a setting, so its value can be typed on a command line,
// and its keys step through the same values as its handle.
#pragma once

#include <QString>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "simulator/run/run.h"

namespace kvplan::gui {

enum class SliderKind : std::uint8_t { kLoad, kPool, kBlock, kBudget };
/// By SliderKind: the name of the widget.
inline constexpr std::array kSliderNames{"load", "pool", "block", "budget"};
inline constexpr std::size_t kSliders = kSliderNames.size();

struct SliderModel {
  std::string path;                ///< path of the setting; empty: the scenario has nothing for this slider
  std::vector<std::string> stops;  ///< ascending; not empty if `path` is set
  std::string text;                ///< the present value, which may lie between two stops
  QString shown;                   ///< the same as displayed, with its unit
  QString explanation;             ///< what it changes, or why it is disabled

  /// The last stop that the device has memory for; absent: it holds all of them, or it is not known.
  std::optional<int> limit;
  QString warning;  ///< why the present value cannot be had; empty: it can, or that is not known

  /// The stop nearest to the present value, by ratio.
  [[nodiscard]] int position() const;
};

/// Facts that a slider needs and the scenario does not contain.
struct SliderFacts {
  /// Block size of the trace's prefix hashes, 0 if it has none; blocks must divide it
  std::int64_t hash_block_tokens{0};
  /// The pool derived from device and model; 0: not known yet, or the scenario derives none.
  std::int64_t derived_pool_bytes{0};
  /// The pool that device and model leave room for, whether the scenario uses it or not; 0: not known.
  std::int64_t device_pool_bytes{0};
  /// Bytes of a token in the pool, as in the last run; 0: not known.
  std::int64_t token_bytes{0};
};

/// The pool of a scenario that derives one: from its model if that is known by name, else from `run`, the last one
/// (may be null), if everything that determines the pool is the same there. 0 if the scenario derives none, if device
/// and model leave no room for one, or if it is not known before a run because the model is in a file.
std::int64_t derived_pool_bytes(const runs::Scenario& scenario, const runs::RunSummary* run);

SliderModel slider_model(SliderKind kind, const runs::Scenario& scenario, const SliderFacts& facts);

}  // namespace kvplan::gui
