// What fits and what it costs, in the words of the window: the tables "What fits" and "Cost" of `kvplan run`.
#pragma once

#include <vector>

#include "gui/viewmodel/headline.h"

namespace kvplan::gui {

/// The three meanings of "fits" as far as they are known, each percentile that is a target, what keeps the engine from
/// starting; then, where there are prices, devices and cost.
std::vector<HeadlineRow> fit_rows(const plan::RunSummary& result);

/// Where nothing ran: that the engine does not start, and why. REQUIRES: there are obstacles.
std::vector<HeadlineRow> fit_rows(const std::vector<model::Obstacle>& obstacles);

}  // namespace kvplan::gui
