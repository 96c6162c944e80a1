// How the ledger reports its counts: the conversion of counts to bytes of states.
#include <array>
#include <span>
#include <tuple>

#include "simulator/base/check.h"
#include "simulator/observe/ledger.h"

namespace kvplan::observe {

void Ledger::find_how_told() {
  const bool nothing_beside = layout_.metadata_bytes == 0 || layout_.form == core::TableForm::kNothing;
  told_as_kept_ = by_cell() || (nothing_beside && own_bytes_ == layout_.count_bytes());
  check_bytes_ = by_cell() ? layout_.count_bytes() : own_bytes_;
  alloc_unit_counts_ =
      by_cell() || !layout_.of_tokens() ? layout_.alloc_unit_counts() : layout_.alloc_unit_tokens;
}

StateCounts Ledger::told(const StateCounts& counts) const {
  if (told_as_kept_) return counts;
  StateCounts out{};
  for (std::size_t s = 0; s < kStates; ++s) out[s] = counts[s] * own_bytes_;
  out[index(State::kMetadata)] = counts[index(State::kLive)] / token_counts_ * layout_.metadata_bytes;
  out[index(State::kLive)] -= out[index(State::kMetadata)];
  return out;
}

StateCounts Ledger::bytes() const {
  StateCounts bytes = told(cells_);
  for (std::int64_t& state : bytes) state *= layout_.count_bytes();
  bytes[index(State::kPadding)] += layout_.padding_bytes();
  return bytes;
}

StateCounts Ledger::course_bytes(RequestId request) const {
  KVPLAN_CHECK(courses_, request);
  core::HeldCells held = courses_->held(request);
  if (courses_->shared() != nullptr) held -= courses_->shared()->shared_cells(request);
  StateCounts bytes = counts_of(held);
  bytes[index(State::kMetadata)] += courses_->alloc_units(request) * layout_.entry_bytes;
  for (std::int64_t& state : bytes) state *= layout_.count_bytes();
  return bytes;
}

std::vector<Ledger::SharedBytes> Ledger::shared_bytes() const {
  std::vector<SharedBytes> out;
  if (!courses_ || courses_->shared() == nullptr) return out;
  for (SharedBlocks::Row& row : courses_->shared()->rows()) {
    out.push_back({row.block, std::move(row.holders), counts_of(row.cells)});
    for (std::int64_t& state : out.back().bytes) state *= layout_.count_bytes();
  }
  return out;
}

StateCounts Ledger::counts_of(const core::HeldCells& cells) const {
  const std::int64_t metadata = layout_.metadata_bytes / layout_.count_bytes();
  const std::int64_t cell = layout_.cell_bytes() / layout_.count_bytes();
  StateCounts counts{};
  counts[index(State::kMetadata)] = cells.live * metadata + cells.metadata * cell;
  counts[index(State::kLive)] = cells.live * (cell - metadata);
  counts[index(State::kReserved)] = cells.reserved * cell;
  counts[index(State::kHole)] = cells.hole * cell;
  counts[index(State::kTail)] = cells.tail * cell;
  counts[index(State::kPadding)] = cells.padding * cell;
  counts[index(State::kInternal)] = cells.internal * cell;
  return counts;
}

/// Table entries are bytes in addition to the cells, for every allocation unit that is held.
void Ledger::set_courses() {
  set_held(courses_->held());
  cell(State::kMetadata) += courses_->alloc_units() * layout_.entry_bytes;
}

void Ledger::tell_kinds(const GroupAccount::ByKind& held, const GroupAccount::ByKind& growth) const {
  std::array<StateCounts, std::tuple_size_v<GroupAccount::ByKind>> counts, each_step;
  const std::size_t kinds = groups_->kinds().size();
  for (std::size_t k = 0; k < kinds; ++k) {
    counts[k] = counts_of(held[k]);
    each_step[k] = counts_of(growth[k]);
  }
  for (LedgerSink* sink : sinks_)
    sink->on_kinds(std::span(counts).first(kinds), std::span(each_step).first(kinds));
}

}  // namespace kvplan::observe
