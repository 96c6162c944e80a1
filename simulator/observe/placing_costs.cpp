#include "simulator/observe/placing_costs.h"

namespace kvplan::observe {

void PlacingRecords::on_pass_begin(SimTime /*time*/) {
  slid_ = false;
}

void PlacingRecords::on_move(const core::Move& move) {
  if (!move.range.slides) {
    ++costs_.copies;
    costs_.copied_tokens += move.copied;
    return;
  }
  if (!slid_) ++costs_.compactions;
  slid_ = true;
  costs_.slid_tokens += move.copied;
}

void PlacingRecords::on_pass_end(const core::Pass& pass) {
  costs_.delay = costs_.delay + pass.delay;
}

}  // namespace kvplan::observe
