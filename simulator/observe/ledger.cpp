#include "simulator/observe/ledger.h"

#include <algorithm>
#include <tuple>

#include "simulator/base/check.h"
#include "simulator/core/table_bytes.h"

namespace kvplan::observe {
namespace {

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

/// Counts per token slot, for requests without courses; 0 if tokens have no slots.
std::int64_t counts_of_token(const core::MemoryLayout& layout) {
  switch (layout.form) {
    case core::TableForm::kBlocks:
    case core::TableForm::kRange:
      return 1;
    case core::TableForm::kNothing:
      return 0;
    default:
      return layout.token_bytes;
  }
}

}  // namespace

Ledger::Ledger(const core::Workload& workload, const core::MemoryLayout& layout, const core::KeepRule& keep,
               std::vector<LedgerSink*> sinks, const core::AccountColumns* columns)
    : workload_(workload),
      layout_(layout),
      keep_(keep),
      sinks_(std::move(sinks)),
      alone_(!layout.returns_alloc_units() || !layout.block_ids()),
      token_counts_(counts_of_token(layout)),
      own_bytes_(layout.of_tokens() ? layout.token_bytes : 1),
      columns_(columns != nullptr ? *columns : core::AccountColumns(workload.input.size())),
      kept_(keep, layout.alloc_unit_tokens, alone_, columns_.place) {
  std::copy_if(sinks_.begin(), sinks_.end(), std::back_inserter(none_held_sinks_),
               [](const LedgerSink* sink) { return sink->wants_nothing_held(); });
  if (!layout_.groups.empty()) {
    KVPLAN_CHECK(!keep_.evicts());
    groups_ = GroupAccount::make(workload, layout_, columns_);
  }
  find_how_told();
  cell(State::kFree) = layout_.alloc_units * alloc_unit_counts_;
  check();
}

void Ledger::check() const {
  const std::int64_t cells = std::apply([](auto... state) { return (state + ...); }, cells_);
  const std::int64_t signs = std::apply([](auto... state) { return (state | ...); }, cells_);
  KVPLAN_CHECK(signs >= 0, *std::min_element(cells_.begin(), cells_.end()));
  const std::int64_t sum = layout_.padding_bytes() + cells * check_bytes_;
  KVPLAN_CHECK(sum == layout_.capacity_bytes, sum, layout_.capacity_bytes);
}

void Ledger::set_pool(const core::PoolCounts& pool) {
  cell(State::kLive) += (pool.shared - told_pool_.shared) * alloc_unit_counts_;  // all of the tree is written
  cell(State::kCached) = pool.cached * alloc_unit_counts_;
  cell(State::kStranded) = refused_ ? pool.free * alloc_unit_counts_ : 0;
  cell(State::kFree) = refused_ ? 0 : pool.free * alloc_unit_counts_;
  check();
  const bool alike = same_beside_states(pool, told_pool_) && refusal_ == told_refusal_;
  told_pool_ = pool;
  if (alike) return;
  told_refusal_ = refusal_;
  for (LedgerSink* sink : sinks_) sink->on_pool(observed_until_, pool, refusal_);
}

// ---- unwritten cells ----

/// The unwritten cells [from, to) of a request's table: those before its final token will be written; after it, the
/// rest of the last needed allocation unit is tail, and everything after that over-reservation.
inline Ledger::Unwritten Ledger::unwritten(RequestId request, std::int64_t from, std::int64_t to) const {
  const std::int64_t final_tokens = workload_.final_tokens(request);
  if (to <= final_tokens) return {to - from, 0, 0};
  const std::int64_t needed_end =
      ceil_div(final_tokens, layout_.alloc_unit_tokens) * layout_.alloc_unit_tokens;
  const std::int64_t writable_end = std::clamp(final_tokens, from, to);
  const std::int64_t tail_end = std::clamp(needed_end, writable_end, to);
  return {writable_end - from, tail_end - writable_end, to - tail_end};
}

/// Adds (+1) or removes (-1) positions [from, to) of a request's table, all of them unwritten.
void Ledger::add_unwritten(RequestId request, std::int64_t from, std::int64_t to, int sign) {
  if (from >= to) return;
  const Unwritten cells = unwritten(request, from, to);
  cell(State::kReserved) += sign * cells.reserved;
  cell(State::kTail) += sign * cells.tail;
  cell(State::kInternal) += sign * cells.internal;
}

/// Adds (+1) or removes (-1) the bytes of a table with `alloc_units` allocation units, all unwritten.
void Ledger::add_table(RequestId request, std::int64_t alloc_units, int sign) {
  const bool tensors = layout_.form == core::TableForm::kTensors;
  const core::TableBytes bytes = core::table_bytes(layout_, workload_.final_tokens(request), alloc_units,
                                                   tensors ? tensor_tokens_.at(request) : 0);
  cell(State::kReserved) += sign * bytes.reserved;
  cell(State::kTail) += sign * bytes.tail;
  cell(State::kInternal) += sign * bytes.internal;
  cell(State::kPadding) += sign * bytes.padding;
}

void Ledger::on_grant(const core::Grant& grant) {
  if (courses_) {
    courses_->grant_prompt(grant.request, grant.first_block, grant.alloc_units, grant.blocks);
    return set_courses();
  }
  if (groups_) {
    groups_->grant(grant);
    return set_groups();
  }
  if (!layout_.of_tokens()) {
    if (layout_.form == core::TableForm::kTensors) tensor_tokens_[grant.request] = grant.tensor_tokens;
    add_table(grant.request, grant.first_block, -1);
    return add_table(grant.request, grant.first_block + grant.alloc_units, 1);
  }
  if (!alone_)
    for (const BlockId block : grant.blocks) kept_.hold_fresh(block);
  add_unwritten(grant.request, grant.first_block * layout_.alloc_unit_tokens,
                (grant.first_block + grant.alloc_units) * layout_.alloc_unit_tokens, 1);
}

void Ledger::on_decode_grants(std::span<const core::DecodeGrant> grants) {
  for (const core::DecodeGrant& grant : grants) {
    if (courses_) {
      courses_->grant_next(grant.request, grant.alloc_units, grant.block);
      set_courses();
      continue;
    }
    if (!alone_) kept_.hold_fresh(grant.block);
    const std::int64_t from = grant.logical_block * layout_.alloc_unit_tokens;
    add_unwritten(grant.request, from, from + layout_.alloc_unit_tokens, 1);
  }
}

// ---- ranges that move ----

/// A range that slides keeps its states. Until a copy ends, the part of the old range that it reads counts as live,
/// dropped or not; the rest of the old range is unusable, and the new range is still to be written.
void Ledger::on_move(const core::Move& move) {
  const core::RangeMove& range = move.range;
  if (range.slides) return;
  KVPLAN_CHECK(alone_ && !courses_, range.request);
  const std::int64_t holes = kept_.holes_alone(range.request);
  cell(State::kHole) -= holes;
  cell(State::kLive) += holes;
  add_unwritten(range.request, move.copied, range.from_slots, -1);
  cell(State::kInternal) += range.from_slots - move.copied;
  cell(State::kReserved) += move.copied;
  add_unwritten(range.request, move.copied, range.slots, 1);
}

void Ledger::on_copies_end(SimTime /*time*/, std::span<const core::Move> copies,
                           const core::PoolCounts& pool) {
  for (const core::Move& move : copies) {
    const std::int64_t holes = kept_.holes_alone(move.range.request);
    cell(State::kInternal) -= move.range.from_slots - move.copied;
    cell(State::kReserved) -= move.copied;
    cell(State::kLive) -= holes;
    cell(State::kHole) += holes;
  }
  set_pool(pool);
}

// ---- sharing and freeing ----

void Ledger::on_admit(const core::Admission& admission) {
  if (groups_) {
    groups_->enter(admission);
    return set_groups();
  }
  if (layout_.tree()) return;  // the pool counts the pages of the hit
  if (courses_) {
    found_.assign(admission.hits.begin(), admission.hits.end());  // until its course is known
    return;
  }
  if (alone_) {
    cell(State::kLive) += admission.hit_tokens;
    return;
  }
  // A new holder of a block keeps tokens that others have dropped.
  for (const BlockId block : admission.hits)
    if (kept_.share(block)) cell(State::kLive) += layout_.alloc_unit_tokens;
  if (keep_.evicts()) set_holes();
}

void Ledger::give_back(const core::Release& release) {
  const RequestId r = release.request;
  if (courses_) {
    courses_->leave(r);
    return set_courses();
  }
  if (groups_) {
    groups_->leave(r);
    return set_groups();
  }
  if (alone_) return give_back_alone(release);
  kept_.leave(r);
  const std::int64_t alloc_unit = layout_.alloc_unit_tokens;
  add_unwritten(r, release.written, release.alloc_units * alloc_unit, -1);
  const std::int64_t full = release.written / alloc_unit;
  for (std::int64_t b = 0; b < static_cast<std::int64_t>(release.table.size()); ++b) {
    const BlockId block = release.table[at(b)];
    if (block == kNoBlock) continue;
    if (kept_.give_back(block))
      cell(State::kLive) -=
          b < full ? alloc_unit : std::max<std::int64_t>(release.written - b * alloc_unit, 0);
  }
  if (keep_.evicts()) set_holes();
}

void Ledger::give_back_alone(const core::Release& release) {
  if (layout_.of_tokens()) {
    add_unwritten(release.request, release.written, release.alloc_units * layout_.alloc_unit_tokens, -1);
  } else {
    add_table(release.request, release.alloc_units, -1);
    cell(State::kReserved) += release.written * token_counts_;  // written cells are live, or holes
    tensor_tokens_.erase(release.request);
  }
  const std::int64_t freed = kept_.leave(release.request);
  cell(State::kLive) -= (release.written - release.in_tree - freed) * token_counts_;
  if (keep_.evicts()) set_holes();
}

void Ledger::on_settle(const core::Settled& settled) {
  KVPLAN_CHECK(layout_.tree(), settled.request);
  cell(State::kLive) -= settled.to - settled.from;
}

void Ledger::on_preempt(const core::Release& release) {
  give_back(release);
}

void Ledger::on_finish(SimTime /*time*/, const core::Release& release) {
  give_back(release);
}

void Ledger::on_settled(SimTime time, const core::PoolCounts& pool) {
  if (pool != told_pool_) set_pool(pool);  // otherwise nothing was freed
  if (pool.held > 0 || none_held_sinks_.empty()) return;
  if (groups_) tell_kinds(groups_->held(), {});
  for (LedgerSink* sink : none_held_sinks_) sink->on_nothing_held(time, told(cells_));
}

void Ledger::on_end(SimTime time) {
  end_ = time;
  for (LedgerSink* sink : sinks_) sink->on_end(time, told(cells_));
}

// ---- scheduler steps and model steps ----

void Ledger::on_pass_begin(SimTime time) {
  if (time > observed_until_) {  // nothing ran since then
    if (groups_) tell_kinds(groups_->held(), {});
    const LedgerSpan idle{
        observed_until_, time, {time - observed_until_, Ticks{0}, 1}, told(cells_), {}, 0, 0};
    for (LedgerSink* sink : sinks_) sink->on_span(idle);
    observed_until_ = time;
  }
}

void Ledger::on_pass_end(const core::Pass& pass) {
  refused_ = pass.refused;
  refusal_ = pass.refusal;
  running_ = pass.running;
  waiting_ = pass.waiting;
  set_pool(pass.pool);
  const StateCounts& now = told_now();
  if (groups_) tell_kinds(groups_->held(), {});
  for (LedgerSink* sink : sinks_) sink->on_pass(pass.time, now, running_);
}

void Ledger::on_steps(const core::Steps& steps) {
  const std::int64_t written = steps.pass.load.tokens * token_counts_;
  const std::int64_t growing = kept_.growth() * token_counts_;
  LedgerSpan span{steps.pass.time, steps.end, steps.series, told_now(), {}, running_, waiting_};
  const std::int64_t last = steps.series.steps - 1;
  if (groups_) {
    span.growth = run_groups(steps.series.steps);
  } else if (!courses_) {
    span.growth[index(State::kLive)] = written - growing;
    span.growth[index(State::kReserved)] = -written;
    span.growth[index(State::kHole)] = growing;
    if (!told_as_kept_) span.growth = told(span.growth);
  } else if (last > 0) {
    span.growth = counts_of(courses_->growth());
  }
  for (LedgerSink* sink : sinks_) sink->on_span(span);
  const std::int64_t holes_now = span.cells[index(State::kHole)];
  const std::int64_t most_holes = holes_now + span.growth[index(State::kHole)] * last;
  evictions_.hole_cells_peak = std::max({evictions_.hole_cells_peak, holes_now, most_holes});
  observed_until_ = steps.end;
  steps_in_progress_ = steps.series.steps;
  if (courses_) return;  // cells change when the last step ends
  if (groups_) {
    evictions_.tokens = groups_->left_tokens();
    return set_groups();
  }

  cell(State::kLive) += written * steps.series.steps;
  cell(State::kReserved) -= written * steps.series.steps;
  // The drops of the last step come with on_step_end, which knows the requests that end there.
  if (!kept_.slides()) return;
  kept_.run(last);
  set_holes();
}

void Ledger::on_decode_run(const core::DecodeRun& decode_run) {
  KVPLAN_CHECK(!courses_ && !kept_.slides() && !refused_ && token_counts_ == 1, token_counts_);
  const std::int64_t written = decode_run.pass.load.tokens;
  const std::int64_t steps = decode_run.series.steps;
  StateCounts growth{};
  growth[index(State::kLive)] = written;
  growth[index(State::kReserved)] = -written;
  LedgerDecodeRun told{.span = {decode_run.pass.time, decode_run.end, decode_run.series, told_now(), growth,
                                running_, waiting_},
                       .passes = {},
                       .granted = decode_run.passes,
                       .pool_changes = false,
                       .pool_before = told_pool_,
                       .refusal = refusal_};
  if (!told_as_kept_) told.span.growth = this->told(growth);
  const std::int64_t unit = told_as_kept_ ? 1 : own_bytes_;
  decode_run_passes_.resize(decode_run.passes.size());
  const core::PoolCounts* before = &told.pool_before;
  LedgerGrants sum{};
  std::size_t next_grant = 0;
  for (std::size_t i = 0; i < decode_run.passes.size(); ++i) {
    const core::GrantingPass& pass = decode_run.passes[i];
    const auto count = static_cast<std::size_t>(pass.grants);
    LedgerGrants grants = grants_of(decode_run.grants.subspan(next_grant, count));
    next_grant += count;
    grants.cached = (pass.pool.cached - before->cached) * alloc_unit_counts_;
    grants.free = (pass.pool.free - before->free) * alloc_unit_counts_;
    // This replaces all checks of a scheduler step. The other numbers only fall or only grow, so the check at the end
    // of the decode run covers them.
    KVPLAN_CHECK(cell(State::kReserved) + sum.reserved >= written * pass.step, pass.step, written);
    KVPLAN_CHECK(grants.reserved + grants.tail + grants.internal + grants.cached + grants.free == 0,
                 grants.reserved, grants.cached, grants.free);
    sum.reserved += grants.reserved;
    sum.tail += grants.tail;
    sum.internal += grants.internal;
    told.pool_changes = told.pool_changes || !same_beside_states(pass.pool, *before);
    before = &pass.pool;
    const Ticks since{static_cast<std::int64_t>(decode_run.series.span(pass.step))};
    decode_run_passes_[i] = {.time = decode_run.pass.time + since,
                             .step = pass.step,
                             .reserved = grants.reserved * unit,
                             .tail = grants.tail * unit,
                             .internal = grants.internal * unit,
                             .cached = grants.cached * unit,
                             .free = grants.free * unit};
  }
  cell(State::kLive) += written * steps;
  cell(State::kReserved) += sum.reserved - written * steps;
  cell(State::kTail) += sum.tail;
  cell(State::kInternal) += sum.internal;
  cell(State::kCached) += (before->cached - told_pool_.cached) * alloc_unit_counts_;
  cell(State::kFree) += (before->free - told_pool_.free) * alloc_unit_counts_;
  KVPLAN_CHECK(before->shared == told_pool_.shared, before->shared, told_pool_.shared);
  told_pool_ = *before;
  check();
  told.passes = decode_run_passes_;
  for (LedgerSink* sink : sinks_) sink->on_decode_run(told);
  observed_until_ = decode_run.end;
  steps_in_progress_ = steps;
}

/// States of the blocks that one scheduler step grants.
LedgerGrants Ledger::grants_of(std::span<const core::DecodeGrant> grants) {
  LedgerGrants sum{};
  for (const core::DecodeGrant& grant : grants) {
    if (!alone_) kept_.hold_fresh(grant.block);
    const std::int64_t from = grant.logical_block * layout_.alloc_unit_tokens;
    const Unwritten cells = unwritten(grant.request, from, from + layout_.alloc_unit_tokens);
    sum.reserved += cells.reserved;
    sum.tail += cells.tail;
    sum.internal += cells.internal;
  }
  return sum;
}

void Ledger::on_step_end(SimTime /*time*/, std::span<const RequestId> finishing) {
  if (courses_) {
    courses_->end_steps(steps_in_progress_, finishing);
    evictions_.tokens = courses_->dropped_cells() / layout_.cells_per_token;
    set_courses();
  }
  if (kept_.slides()) {
    kept_.end_step(finishing);
    set_holes();
  }
  check();
}

void Ledger::extend_to(SimTime time) {
  on_pass_begin(time);
}

// ---- courses ----

void Ledger::set_held(const core::HeldCells& cells) {
  const StateCounts held = counts_of(cells);
  for (const State s : {State::kMetadata, State::kLive, State::kReserved, State::kHole, State::kTail,
                        State::kPadding, State::kInternal})
    cell(s) = held[index(s)];
}

void Ledger::on_course(RequestId request, const core::Course& course) {
  KVPLAN_CHECK(course.units() == layout_.cells_per_token, course.units(), layout_.cells_per_token);
  if (!courses_) {
    cells_ = told(cells_);
    const bool shares = layout_.block_ids() && layout_.returns_alloc_units() && course.drops() != nullptr &&
                        course.shape().placement == core::Placement::kHoles;
    courses_.emplace(columns_.place, shares ? layout_.alloc_unit_tokens : 0);
    find_how_told();
  }
  courses_->enter(request, course, found_);
  found_.clear();
  set_courses();
}

void Ledger::on_chunk(const core::Chunk& chunk) {
  if (courses_) courses_->chunk(chunk.request, chunk.tokens);
  if (groups_) groups_->chunk(chunk.request, chunk.tokens);
}

void Ledger::on_free_blocks(const core::FreedBlocks& gone) {
  const auto blocks = static_cast<std::int64_t>(gone.entries.size());
  evictions_.blocks_freed += blocks;
  if (groups_) {
    groups_->free_entries(gone.request, gone.entries);
    set_groups();
  } else if (courses_) {
    courses_->free_entries(gone.request, gone.written, blocks, gone.entries);
    set_courses();
  } else {
    std::int64_t free = 0;  // blocks that no request holds any more
    if (alone_) {
      kept_.free_alone(gone.request, blocks);
      free = blocks;
    } else {
      for (const std::int32_t entry : gone.entries) free += kept_.give_back(gone.table[at(entry)]) ? 1 : 0;
    }
    cell(State::kLive) -= free * layout_.alloc_unit_tokens;
    set_holes();
  }
}

void Ledger::on_compact(const core::Compacted& compacted) {
  const std::int64_t blocks = compacted.moved.alloc_units_before - compacted.moved.alloc_units;
  if (compacted.moved.kept_cells > 0) {
    ++evictions_.compactions;
    evictions_.compacted_cells += compacted.moved.kept_cells;
    evictions_.blocks_freed += blocks;
  }
  courses_->free_entries(compacted.request, compacted.written, blocks, {});
  set_courses();
}

// ---- windows ----

void Ledger::set_groups() {
  core::HeldCells held;
  for (const core::HeldCells& kind : groups_->held()) held += kind;
  set_held(held);
}

/// The change of the states by the steps of a span, per step.
StateCounts Ledger::run_groups(std::int64_t steps) {
  const GroupAccount::ByKind held = groups_->held();
  const GroupAccount::ByKind growth = groups_->run(steps);
  tell_kinds(held, growth);
  core::HeldCells sum;
  for (const core::HeldCells& kind : growth) sum += kind;
  return counts_of(sum);
}

// ---- dropped cells ----

void Ledger::on_drop(const core::Drop& drop) {
  kept_.drop(drop);
  set_holes();
}

}  // namespace kvplan::observe
