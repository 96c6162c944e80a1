#include "simulator/observe/placement.h"

namespace kvplan::observe {

void PlacementRecords::on_pass_begin(SimTime /*time*/) {
  slid_ = false;
}

void PlacementRecords::on_move(const core::Move& move) {
  if (!move.range.slides) {
    ++counts_.copies;
    counts_.copied_tokens += move.copied;
    return;
  }
  if (!slid_) ++counts_.compactions;
  slid_ = true;
  counts_.slid_tokens += move.copied;
}

void PlacementRecords::on_pass_end(const core::Pass& pass) {
  counts_.delay = counts_.delay + pass.delay;
}

}  // namespace kvplan::observe
