#include "simulator/scheduling/vllm/scheduler.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::scheduling::vllm {

using namespace core;

namespace {

/// A decode run ends after about this many grants, so that collected reports do not grow with the number of requests.
constexpr std::int64_t kGrantsToldAtOnce = std::int64_t{1} << 14;

}  // namespace

Scheduler::Scheduler(const ReplicaSetup& run, const Params& params, Allocator& allocator)
    : params_(params),
      batch_(run, params, allocator),
      allocator_(allocator),
      contents_(allocator.contents()),
      observers_(run.observers),
      costs_(allocator.placing() != nullptr),
      ids_(allocator.layout().block_ids()),
      several_(run.courses != nullptr && !ids_),
      decode_runs_(batch_.grows && !costs_ && !run.contents_asked && !batch_.workload.names_answers()),
      waiting_(params.by_priority),
      moves_(allocator, run.observers) {
  // A block with tokens of an answer that others can hit must be findable from the pass on in which it fills.
  tells_insertions_ = batch_.workload.names_answers();
  for (const Observer* observer : observers_) {
    tells_insertions_ = tells_insertions_ || observer->wants_insertions();
    decode_runs_ = decode_runs_ && observer->follows_decode_runs();
  }
  tells_insertions_ = tells_insertions_ && contents_ != nullptr;
  KVPLAN_CHECK(!run.courses_find || (run.courses != nullptr && contents_ != nullptr && ids_));
  grants_together_ = batch_.grows && !costs_ && run.courses == nullptr && !tells_insertions_;
}

Status Scheduler::decide(SimTime now) {
  pass_ = Pass{};
  pass_.time = now;
  pieces_.clear();
  decode_grants_.clear();
  first_victim_rank_ = batch_.slots.next_rank();
  if (!batch_.held_back.empty()) batch_.go_on();
  for (Observer* o : observers_) o->on_pass_begin(now);
  budget_ = params_.token_budget;
  schedule_running();
  if (pass_.preempted == 0 && !admits_none()) KVPLAN_TRY_DO(admit_waiting());
  pass_.running = batch_.slots.running();
  pass_.waiting = static_cast<std::int64_t>(waiting_.size());
  pass_.pool = allocator_.counts();
  // Every scheduler step makes progress, or the one after a step that only preempted does: no livelock.
  KVPLAN_CHECK(pass_.load.requests > 0 || pass_.preempted > 0, pass_.running, pass_.waiting);
  if (pass_.load.requests > 0) pass_.delay = moves_.take_delay(*batch_.run.latency);
  alike_ = pieces_.empty() && batch_.prompts.empty() && pass_.preempted == 0 && !moves_.copying() &&
           pass_.delay.count == 0;
  for (Observer* o : observers_) o->on_pass_end(pass_);
  return Done{};
}

std::int64_t Scheduler::piece(std::int64_t wanted, std::int64_t budget) const {
  if (batch_.run.keeps_nothing) return wanted;
  const std::int64_t threshold = params_.long_prefill_threshold;
  if (threshold > 0 && wanted > threshold) wanted = threshold;
  return std::min(wanted, budget);
}

void Scheduler::schedule_running() {
  need_ = fill_ = kNoSlot;
  prompt_tokens_ = 0;
  if (batch_.grows) {
    need_ = batch_.phases.first(batch_.step);
    if (tells_insertions_ && !params_.by_priority) fill_ = batch_.phases.first(batch_.step + 1);
  }
  if (batch_.run.courses != nullptr) {
    if (batch_.grows) batch_.following.gather_grants(batch_.step);
    need_ = batch_.following.next_grant();
    if (tells_insertions_ && batch_.run.courses_find) {
      batch_.following.gather_fills(batch_.step, batch_.alloc_unit_tokens);
      fill_ = batch_.following.next_fill();
    }
  }
  if (batch_.grows_anywhere) need_ = next_to_grow();
  KVPLAN_CHECK(batch_.sums.requests <= budget_, batch_.sums.requests, budget_);
  if (need_ != kNoSlot && grants_together_) {
    const PoolCounts pool = allocator_.counts();
    const std::int64_t rank = batch_.prompts.empty() ? INT64_MAX : at(batch_.prompts.front()).rank;
    if (batch_.phases.members(batch_.step) <= pool.free + pool.cached)
      need_ = grant_full(batch_.step, rank, decode_grants_);
  }
  if (need_ != kNoSlot || fill_ != kNoSlot || !batch_.prompts.empty()) visit_running();
  tell_decode_grants();
  if (params_.by_priority) tell_computed();
  if (batch_.run.courses != nullptr) {
    const Followers::Context context = batch_.following.context(batch_.step);
    batch_.sums.context = context.tokens;
    batch_.sums.growing = context.growth;
  }
  pass_.decoding += batch_.sums.requests;
  pass_.sampled += batch_.sums.requests;
  batch_.run.keeps_nothing ? add_recomputing(pass_, batch_.sums) : add_decoding(pass_, batch_.sums);
  batch_.windows.add_decoding(pass_);
  if (batch_.reads.part()) batch_.reads.add_decoding(pass_);
  budget_ -= batch_.sums.requests + prompt_tokens_;
}

/// Visits, in admission order, the requests that need a block now, those that fill a block now (if an observer wants to
/// know at once), and those with an incomplete prompt. All other decoding requests are scheduled without a visit.
void Scheduler::visit_running() {
  next_prompt_ = 0;
  while (true) {
    const Slot prompt = next_prompt();
    if (!params_.by_priority) {
      // Preemption takes the youngest request: if the one to visit was preempted, so were all after it.
      if (need_ != kNoSlot && at(need_).rank >= first_victim_rank_) need_ = kNoSlot;
      if (fill_ != kNoSlot && at(fill_).rank >= first_victim_rank_) fill_ = kNoSlot;
    }
    const Slot slot = batch_.slots.eldest(batch_.slots.eldest(need_, fill_), prompt);
    if (slot == kNoSlot) return;
    if (slot == prompt) {
      ++next_prompt_;
      // All decoding requests have their token: only the youngest gets less than it asks for, and they are before it.
      const std::int64_t left = budget_ - batch_.sums.requests - prompt_tokens_;
      const std::int64_t wish = piece(at(slot).goal - at(slot).computed, INT64_MAX);
      KVPLAN_CHECK(left >= 0 && (wish <= left || slot == batch_.slots.youngest()), wish, left);
      const std::int64_t tokens = std::min(wish, left);
      if (tokens == 0) continue;
      if (!schedule_prompt(slot, tokens)) return hold_back_from(behind_);
      continue;
    }
    const bool needs_block = slot == need_;
    if (batch_.grows_anywhere) {
      if (!grow_range(slot)) return hold_back_from(behind_);
      need_ = next_to_grow();
    } else if (needs_block) {
      if (!grant_decode_block(slot)) return hold_back_from(behind_);
      need_ = batch_.run.courses != nullptr ? batch_.following.next_grant() : at(slot).phase_next;
    }
    if (slot == fill_) {
      tell_decode_grants();
      contents_->insert(at(slot).request, batch_.tokens_held(at(slot)) + 1);
      fill_ = batch_.run.courses != nullptr ? batch_.following.next_fill() : at(slot).phase_next;
    }
  }
}

/// A request was preempted because its own growth failed, so the scheduler visits no more running requests in this
/// step. If victims are the youngest requests, none is left.
void Scheduler::hold_back_from(Slot slot) {
  for (; slot != kNoSlot; slot = at(slot).run_next) {
    if (!at(slot).decoding) continue;
    for (Observer* o : observers_) o->on_hold_back(at(slot).request);
    batch_.hold_back(slot);
  }
}

/// With priority scheduling a request that is already scheduled may be preempted until the last request is scheduled.
/// Only then it is certain which tokens are computed.
void Scheduler::tell_computed() {
  Slot fill = kNoSlot;
  if (tells_insertions_ && batch_.grows) fill = batch_.phases.first(batch_.step + 1);
  const auto insert_before = [&](std::int64_t rank) {
    for (; fill != kNoSlot && at(fill).rank < rank; fill = at(fill).phase_next)
      contents_->insert(at(fill).request, batch_.tokens_held(at(fill)) + 1);
  };
  for (const Piece& piece : pieces_) {
    insert_before(at(piece.slot).rank);
    tell_piece(piece);
  }
  insert_before(INT64_MAX);
}

/// Makes room for `tokens` tokens of a running request by preempting others. False: the request itself was preempted.
bool Scheduler::make_room(Slot slot, std::int64_t tokens) {
  const RequestId r = at(slot).request;
  batch_.windows.leave_blocks(at(slot), batch_.tokens_held(at(slot)));
  while (!allocator_.grow(r, tokens)) {
    pass_.refuse(allocator_.refusal());
    const Slot gone = victim();
    preempt(gone);
    if (gone == slot) return false;
  }
  tell_moves();
  return true;
}

void Scheduler::preempt(Slot victim) {
  tell_decode_grants();
  if (params_.by_priority) undo(victim);
  const SlotState& s = at(victim);
  const RequestId r = s.request;
  const std::int64_t rank = s.rank;
  const PriorityKey key = batch_.priority_key(victim);
  behind_ = s.run_next;
  const std::int64_t written = batch_.tokens_held(s);
  const BlockTable table = allocator_.table(r);
  for (Observer* o : observers_) o->on_preempt(Release{r, written, table.alloc_units, table.ids});
  allocator_.release(r, written);
  if (s.decoding) batch_.columns.goal[r] = static_cast<std::int32_t>(written + 1);
  batch_.leave(victim);
  if (batch_.run.courses != nullptr) batch_.run.courses->end(r);
  waiting_.come_back(key);
  ++pass_.preempted;
  first_victim_rank_ = rank;
}

/// Undoes what this step scheduled for a request that is preempted in it.
void Scheduler::undo(Slot victim) {
  if (victim == need_) need_ = batch_.grows_anywhere ? next_to_grow() : at(victim).phase_next;
  const auto prompt = std::ranges::find(batch_.prompts, victim);
  if (prompt - batch_.prompts.begin() >= static_cast<std::ptrdiff_t>(next_prompt_)) return;
  --next_prompt_;
  const auto piece = std::ranges::find(pieces_, victim, &Piece::slot);
  if (piece == pieces_.end()) return;  // its own growth was refused
  prompt_tokens_ -= piece->tokens;
  pieces_.erase(piece);
}

/// Reports the ranges that the allocator moved to make its latest answer possible.
void Scheduler::tell_moves() {
  if (!costs_) return;
  for (const RangeMove& range : allocator_.placing()->moves()) {
    const SlotState& s = at(batch_.slot_of.at(range.request));
    const std::int64_t held = batch_.tokens_held(s);
    moves_.tell(range, Batch::slots_of(s, held));
  }
}

/// False: the request itself was preempted, and so were all that follow it.
bool Scheduler::grow_range(Slot slot) {
  const RequestId r = at(slot).request;
  const std::int64_t before = allocator_.table(r).alloc_units;
  if (!make_room(slot, batch_.tokens_held(at(slot)) + 1)) return false;
  if (!moves_.copied_latest(r)) tell_grant(r, before);
  if (contents_ != nullptr) contents_->insert(r, batch_.tokens_held(at(slot)) + 1);
  batch_.windows.fill(at(slot), batch_.tokens_held(at(slot)));
  batch_.expect_growth(slot, batch_.tokens_held(at(slot)) + 1);
  return true;
}

/// False: the request itself was preempted, and so were all that follow it.
bool Scheduler::grant_decode_block(Slot slot) {
  const RequestId r = at(slot).request;
  const std::int64_t before = several_ ? allocator_.table(r).alloc_units : 0;
  if (!make_room(slot, Batch::slots_of(at(slot), batch_.tokens_held(at(slot)) + 1))) return false;
  decode_grants_.push_back(newest_grant(r, several_ ? allocator_.table(r).alloc_units - before : 1));
  if (tells_insertions_) tell_decode_grants();  // reported between the evictions that they caused
  return true;
}

bool Scheduler::schedule_prompt(Slot slot, std::int64_t tokens) {
  tell_decode_grants();
  const RequestId r = at(slot).request;
  const std::int64_t before = allocator_.table(r).alloc_units;
  if (!make_room(slot, Batch::slots_of(at(slot), at(slot).computed + tokens))) return false;
  tell_grant(r, before);
  pieces_.push_back({slot, tokens});
  if (!params_.by_priority) tell_piece(pieces_.back());
  prompt_tokens_ += tokens;
  return true;
}

void Scheduler::tell_grant(RequestId r, std::int64_t before) {
  const BlockTable table = allocator_.table(r);
  const std::int64_t after = table.alloc_units;
  if (after == before) return;
  auto blocks = table.ids;
  if (ids_ && allocator_.layout().table_by_alloc_units())
    blocks = blocks.subspan(static_cast<std::size_t>(before));
  const Grant grant{r, before, after - before, blocks, table.tensor_tokens};
  for (Observer* o : observers_) o->on_grant(grant);
}

/// Reports a piece of a prompt that the step computes: its full blocks can be found from now on.
void Scheduler::tell_piece(const Piece& piece) {
  const SlotState& s = at(piece.slot);
  if (contents_ != nullptr) contents_->insert(s.request, s.computed + piece.tokens);
  add_piece(pass_, s.computed, piece.tokens);
  batch_.windows.add_chunk(pass_.load, s.computed, piece.tokens);
  if (s.computed + piece.tokens == s.goal) ++pass_.sampled;
  for (Observer* o : observers_) o->on_chunk(Chunk{s.request, s.computed, piece.tokens});
}

Status Scheduler::admit_waiting() {
  while (!admits_none()) {
    const RequestId r = waiting_.front();
    const std::int64_t goal = batch_.columns.goal[r];
    if (contents_ != nullptr && (looked_up_ != r || looked_up_epoch_ != contents_->lookup_epoch())) {
      found_ = contents_->lookup(r, batch_.run.lookup_tokens(goal));
      looked_up_ = r;
      looked_up_epoch_ = contents_->lookup_epoch();
    }
    const std::int64_t tokens = piece(goal - found_.tokens, budget_);
    if (!allocator_.admit(r, found_, found_.tokens + tokens, goal)) {
      pass_.refuse(allocator_.refusal());
      return Done{};
    }
    tell_moves();
    looked_up_ = kNoRequest;
    const Slot slot = batch_.enter(r, waiting_.pop());
    SlotState& s = at(slot);
    s.computed = found_.tokens;
    s.goal = goal;
    const std::int64_t hit_blocks = found_.tokens / batch_.alloc_unit_tokens * batch_.block_entries;
    const auto hits = allocator_.table(r).ids.subspan(0, ids_ ? static_cast<std::size_t>(hit_blocks) : 0);
    for (Observer* o : observers_)
      o->on_admit(Admission{r, (batch_.columns.seen[r] & kAdmitted) != 0, found_.tokens, hits});
    batch_.columns.seen[r] |= kAdmitted;
    if (batch_.run.courses != nullptr) {
      KVPLAN_TRY(s.course, batch_.run.courses->begin(r, goal));
      for (Observer* o : observers_) o->on_course(r, *s.course);
    }
    tell_grant(r, hit_blocks);
    pieces_.push_back({slot, tokens});
    tell_piece(pieces_.back());
    budget_ -= std::min(tokens, budget_);
  }
  return Done{};
}

// ---- alike steps ----

std::int64_t Scheduler::alike_steps(bool granting) {
  const std::int64_t step = batch_.step;
  std::int64_t most = batch_.following.alike_steps(step);
  if (batch_.run.courses_find && !batch_.following.empty()) {
    // Blocks that fill after a request's first drop cannot be hit. A dropped part of a shared block stays as long as
    // another request holds the block, so no step is like the step before.
    if (batch_.following.drops(step, pass_.pool.sharers == 0)) most = 1;
    if (tells_insertions_)
      most = std::min(most, batch_.following.steps_to_fill(step, batch_.alloc_unit_tokens));
  }
  if (batch_.following.empty()) {
    const auto due = batch_.dues.next();
    KVPLAN_CHECK(due, batch_.sums.requests);
    most = *due - step;
  }
  if (batch_.grows && batch_.following.empty()) {
    // The scheduler grants a block before the step that needs it: a run of steps ends before a step that needs a
    // block; a decode run, before the first step that would be short of blocks, or when it has collected enough
    // grants to report.
    const std::int64_t room = std::min(pass_.pool.free + pass_.pool.cached, kGrantsToldAtOnce);
    most = granting ? batch_.phases.steps_to_more(step, room, most)
                    : std::min(most, batch_.phases.steps_to_members(step));
    if (tells_insertions_) most = std::min(most, batch_.phases.steps_to_members(step + 1));
    if (batch_.sums.sliding > 0)
      most = std::min(most, batch_.phases.steps_to_sliding(step - batch_.run.keep.recent));
  }
  if (batch_.grows_anywhere)
    if (const auto growth = batch_.growths.next()) most = std::min(most, *growth - step);
  KVPLAN_CHECK(most >= 1, most);
  return most;
}

/// Grants one allocation unit to each request with a full table before the step, in admission order, up to the first
/// one with rank `until_rank` or higher, which is returned. REQUIRES: as many allocation units are free or cached.
Slot Scheduler::grant_full(std::int64_t step, std::int64_t until_rank, std::vector<DecodeGrant>& granted) {
  full_.clear();
  Slot slot = batch_.phases.first(step);
  while (slot != kNoSlot && at(slot).rank < until_rank) {
    const SlotState& s = at(slot);
    full_.push_back(s.request);
    granted.push_back({s.request, kNoBlock, (step + s.offset) / batch_.alloc_unit_tokens, 1});
    slot = s.phase_next;
  }
  allocator_.grow_full(full_);
  if (ids_)
    for (DecodeGrant& grant : std::span(granted).last(full_.size()))
      grant.block = allocator_.table(grant.request).ids.back();
  return slot;
}

void Scheduler::grant_ahead(std::int64_t steps) {
  granting_passes_.clear();
  granted_ahead_.clear();
  for (std::int64_t k = batch_.phases.steps_to_members(batch_.step); k > 0 && k < steps;) {
    grant_full(batch_.step + k, INT64_MAX, granted_ahead_);
    granting_passes_.push_back({k, static_cast<std::int64_t>(full_.size()), allocator_.counts()});
    k += batch_.phases.steps_to_members(batch_.step + k);
  }
}

}  // namespace kvplan::scheduling::vllm
