// What fits and what it costs, as rows of the window: the tables "What fits" and "Cost" of `kvplan run`.
#pragma once

#include <vector>

#include "gui/viewmodel/headline.h"

namespace kvplan::gui {

/// The three meanings of "fits" as far as they are known, each percentile target, and what keeps the engine from
/// starting; with prices also devices and cost.
std::vector<HeadlineRow> fit_rows(const runs::RunSummary& result);

/// The rows if nothing ran: why the engine does not start. REQUIRES: there are obstacles.
std::vector<HeadlineRow> fit_rows(const std::vector<model::Obstacle>& obstacles);

}  // namespace kvplan::gui
