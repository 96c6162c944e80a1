// The few numbers next to the picture; `kvplan run --json` has the same values.
#pragma once

#include <QString>
#include <vector>

#include "simulator/run/run.h"

namespace kvplan::gui {

struct HeadlineRow {
  QString name;         ///< "TTFT p50"
  QString value;        ///< with unit; a dash if there is none
  QString explanation;  ///< one sentence
};

std::vector<HeadlineRow> headline(const runs::RunSummary& result);

/// The name of a state, and a sentence that explains it.
QString state_name(observe::State state);
QString state_meaning(observe::State state);

}  // namespace kvplan::gui
