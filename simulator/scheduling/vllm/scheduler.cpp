#include "simulator/scheduling/vllm/scheduler.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::scheduling::vllm {

using namespace core;

namespace {

/// A stretch ends about here: what is kept to be told does not grow with the requests.
constexpr std::int64_t kGrantsToldAtOnce = std::int64_t{1} << 14;

}  // namespace

Scheduler::Scheduler(const ReplicaSetup& run, const Params& params, Allocator& allocator)
    : params_(params),
      batch_(run, allocator),
      allocator_(allocator),
      contents_(allocator.contents()),
      observers_(run.observers),
      costs_(allocator.layout().costs),
      ids_(allocator.layout().block_ids),
      several_(run.courses != nullptr && !ids_),
      stretches_(batch_.grows && !costs_ && !run.contents_asked),
      moves_(allocator, run.observers) {
  for (const Observer* observer : observers_) {
    tells_publications_ = tells_publications_ || observer->wants_publications();
    stretches_ = stretches_ && observer->follows_stretches();
  }
  tells_publications_ = tells_publications_ && contents_ != nullptr;
  grants_together_ = batch_.grows && !costs_ && run.courses == nullptr && !tells_publications_;
}

Status Scheduler::decide(SimTime now) {
  pass_ = Pass{};
  pass_.time = now;
  pieces_.clear();
  decode_grants_.clear();
  first_victim_rank_ = batch_.slots.next_rank();
  for (Observer* o : observers_) o->on_pass_begin(now);
  budget_ = params_.token_budget;
  schedule_running();
  tell_decode_grants();
  if (pass_.preempted == 0 && !admits_nobody()) KVPLAN_TRY_DO(admit_waiting());
  pass_.running = batch_.slots.running();
  pass_.waiting = static_cast<std::int64_t>(waiting_.size());
  pass_.pool = allocator_.counts();
  // Every pass makes progress, or the one after a pass that preempted everybody does: no livelock.
  KVPLAN_CHECK(pass_.load.requests > 0 || pass_.preempted > 0, pass_.running, pass_.waiting);
  if (pass_.load.requests > 0) pass_.delay = moves_.take_delay(*batch_.run.latency);
  alike_ = pieces_.empty() && batch_.prompts.empty() && pass_.preempted == 0 && !moves_.copying() &&
           pass_.delay.count == 0;
  for (Observer* o : observers_) o->on_pass_end(pass_);
  return Done{};
}

std::int64_t Scheduler::piece(std::int64_t wanted, std::int64_t budget) const {
  if (!batch_.keeps) return wanted;
  const std::int64_t threshold = params_.long_prefill_threshold;
  if (threshold > 0 && wanted > threshold) wanted = threshold;
  return std::min(wanted, budget);
}

/// Visits, in admission order, those that need a block now, those whose block fills now (if somebody wants to
/// know at once), and the prompts in work. All other decoding requests are scheduled without a visit.
void Scheduler::schedule_running() {
  Slot need = kNoSlot;
  Slot fill = kNoSlot;
  if (batch_.grows) {
    need = batch_.phases.first(batch_.step);
    if (tells_publications_) fill = batch_.phases.first(batch_.step + 1);
  }
  if (batch_.run.courses != nullptr) {
    if (batch_.grows) batch_.following.gather_grants(batch_.step);
    need = batch_.following.next_grant();
  }
  if (batch_.grows_anywhere) need = next_to_grow();
  const std::int64_t decoding_before = batch_.sums.requests;
  KVPLAN_CHECK(decoding_before <= budget_, decoding_before, budget_);
  if (need != kNoSlot && grants_together_) {
    const PoolCounts pool = allocator_.counts();
    const std::int64_t rank = batch_.prompts.empty() ? INT64_MAX : at(batch_.prompts.front()).rank;
    if (batch_.phases.members(batch_.step) <= pool.free + pool.cached)
      need = grant_full(batch_.step, rank, decode_grants_);
  }
  std::size_t next_prompt = 0;
  std::int64_t prompt_tokens = 0;
  while (true) {
    const Slot prompt = next_prompt < batch_.prompts.size() ? batch_.prompts[next_prompt] : kNoSlot;
    // Preemption takes the youngest: if the one to visit is gone, so is everyone behind it.
    if (need != kNoSlot && at(need).rank >= first_victim_rank_) need = kNoSlot;
    if (fill != kNoSlot && at(fill).rank >= first_victim_rank_) fill = kNoSlot;
    const Slot slot = batch_.slots.eldest(batch_.slots.eldest(need, fill), prompt);
    if (slot == kNoSlot) break;
    if (slot == prompt) {
      ++next_prompt;
      const std::int64_t left = budget_ - decoding_before - prompt_tokens;
      const std::int64_t wish = piece(at(slot).goal - at(slot).computed, INT64_MAX);
      KVPLAN_CHECK(left >= 0 && (wish <= left || slot == batch_.slots.youngest()), wish, left);
      const std::int64_t tokens = std::min(wish, left);
      if (tokens == 0) continue;
      if (!schedule_prompt(slot, tokens)) break;
      prompt_tokens += tokens;
      continue;
    }
    const bool needs_block = slot == need;
    if (batch_.grows_anywhere) {
      if (!grow_range(slot)) break;
      need = next_to_grow();
    } else if (needs_block) {
      if (!grant_decode_block(slot)) break;
      need = batch_.run.courses != nullptr ? batch_.following.next_grant() : at(slot).phase_next;
    }
    if (slot == fill) {
      tell_decode_grants();
      contents_->publish(at(slot).request, batch_.tokens_held(at(slot)) + 1);
      fill = at(slot).phase_next;
    }
  }
  if (batch_.run.courses != nullptr) {
    const Followers::Context context = batch_.following.context(batch_.step);
    batch_.sums.context = context.tokens;
    batch_.sums.growing = context.growth;
  }
  pass_.decoding += batch_.sums.requests;
  pass_.sampled += batch_.sums.requests;
  batch_.keeps ? add_decoding(pass_, batch_.sums) : add_recomputing(pass_, batch_.sums);
  batch_.windows.add_decoding(pass_);
  if (batch_.reads.part()) batch_.reads.add_decoding(pass_);
  budget_ -= batch_.sums.requests + prompt_tokens;
}

/// Room for `tokens` tokens of a running request; preempts the youngest until there is. False: it was the
/// victim.
bool Scheduler::make_room(Slot slot, std::int64_t tokens) {
  const RequestId r = at(slot).request;
  batch_.windows.leave_blocks(at(slot), batch_.tokens_held(at(slot)));
  while (!allocator_.grow(r, tokens)) {
    pass_.refuse(allocator_.refusal());
    const Slot victim = batch_.slots.youngest();
    preempt(victim);
    if (victim == slot) return false;
  }
  tell_moves();
  return true;
}

void Scheduler::preempt(Slot victim) {
  tell_decode_grants();
  const SlotState& s = at(victim);
  const RequestId r = s.request;
  const std::int64_t rank = s.rank;
  const std::int64_t written = batch_.tokens_held(s);
  const BlockTable table = allocator_.table(r);
  for (Observer* o : observers_) o->on_preempt(Release{r, written, table.quanta, table.ids});
  allocator_.release(r, written);
  if (s.decoding) batch_.columns.goal[r] = static_cast<std::int32_t>(written + 1);
  batch_.leave(victim);
  if (batch_.run.courses != nullptr) batch_.run.courses->end(r);
  waiting_.push_front(r);
  ++pass_.preempted;
  first_victim_rank_ = rank;
}

/// What the allocator moved so that its latest answer could be yes.
void Scheduler::tell_moves() {
  if (!costs_) return;
  for (const RangeMove& range : allocator_.placing()->moves()) {
    const SlotState& s = at(batch_.slot_of.at(range.request));
    const std::int64_t held = batch_.tokens_held(s);
    moves_.tell(range, Batch::slots_of(s, held));
  }
}

/// False: the request itself was preempted, and nobody is left behind it.
bool Scheduler::grow_range(Slot slot) {
  const RequestId r = at(slot).request;
  const std::int64_t before = allocator_.table(r).quanta;
  if (!make_room(slot, batch_.tokens_held(at(slot)) + 1)) return false;
  if (!moves_.copied_latest(r)) tell_grant(r, before);
  if (contents_ != nullptr) contents_->publish(r, batch_.tokens_held(at(slot)) + 1);
  batch_.windows.fill(at(slot), batch_.tokens_held(at(slot)));
  batch_.expect_growth(slot, batch_.tokens_held(at(slot)) + 1);
  return true;
}

/// False: the request itself was preempted, and nobody is left behind it.
bool Scheduler::grant_decode_block(Slot slot) {
  const RequestId r = at(slot).request;
  const std::int64_t before = several_ ? allocator_.table(r).quanta : 0;
  if (!make_room(slot, Batch::slots_of(at(slot), batch_.tokens_held(at(slot)) + 1))) return false;
  decode_grants_.push_back(newest_grant(r, several_ ? allocator_.table(r).quanta - before : 1));
  if (tells_publications_) tell_decode_grants();  // between the reclaims that they caused
  return true;
}

bool Scheduler::schedule_prompt(Slot slot, std::int64_t tokens) {
  tell_decode_grants();
  const RequestId r = at(slot).request;
  const std::int64_t before = allocator_.table(r).quanta;
  if (!make_room(slot, Batch::slots_of(at(slot), at(slot).computed + tokens))) return false;
  tell_grant(r, before);
  add_piece_of(slot, tokens);
  return true;
}

void Scheduler::tell_grant(RequestId r, std::int64_t before) {
  const BlockTable table = allocator_.table(r);
  const std::int64_t after = table.quanta;
  if (after == before) return;
  auto blocks = table.ids;
  if (ids_ && allocator_.layout().table_by_quanta())
    blocks = blocks.subspan(static_cast<std::size_t>(before));
  const Grant grant{r, before, after - before, blocks, table.tensor_tokens};
  for (Observer* o : observers_) o->on_grant(grant);
}

/// A piece of a prompt is scheduled: its full blocks can be found from now on.
void Scheduler::add_piece_of(Slot slot, std::int64_t tokens) {
  const SlotState& s = at(slot);
  if (contents_ != nullptr) contents_->publish(s.request, s.computed + tokens);
  pieces_.push_back({slot, tokens});
  add_piece(pass_, s.computed, tokens);
  batch_.windows.add_chunk(pass_.load, s.computed, tokens);
  if (s.computed + tokens == s.goal) ++pass_.sampled;
  for (Observer* o : observers_) o->on_chunk(Chunk{s.request, s.computed, tokens});
}

Status Scheduler::admit_waiting() {
  while (!admits_nobody()) {
    const RequestId r = waiting_.front();
    const std::int64_t goal = batch_.columns.goal[r];
    if (contents_ != nullptr && (looked_up_ != r || looked_up_epoch_ != contents_->lookup_epoch())) {
      found_ = contents_->lookup(r, goal);
      looked_up_ = r;
      looked_up_epoch_ = contents_->lookup_epoch();
    }
    const std::int64_t tokens = piece(goal - found_.tokens, budget_);
    if (!allocator_.admit(r, found_, found_.tokens + tokens, goal)) {
      pass_.refuse(allocator_.refusal());
      return Done{};
    }
    tell_moves();
    looked_up_ = -1;
    waiting_.pop_front();
    const Slot slot = batch_.slots.open(r);
    if (costs_) batch_.slot_of.emplace(r, slot);
    SlotState& s = at(slot);
    s.computed = found_.tokens;
    s.goal = goal;
    batch_.prompts.push_back(slot);
    const std::int64_t hit_blocks = found_.tokens / batch_.quantum_tokens * batch_.block_entries;
    const auto hits = allocator_.table(r).ids.subspan(0, ids_ ? static_cast<std::size_t>(hit_blocks) : 0);
    for (Observer* o : observers_)
      o->on_admit(Admission{r, (batch_.columns.seen[r] & kAdmitted) != 0, found_.tokens, hits});
    batch_.columns.seen[r] |= kAdmitted;
    if (batch_.run.courses != nullptr) {
      KVPLAN_TRY(s.course, batch_.run.courses->begin(r, goal));
      for (Observer* o : observers_) o->on_course(r, *s.course);
    }
    tell_grant(r, hit_blocks);
    add_piece_of(slot, tokens);
    budget_ -= std::min(tokens, budget_);
  }
  return Done{};
}

// ---- passes that are alike ----

std::int64_t Scheduler::alike_steps(bool granting) {
  const std::int64_t step = batch_.step;
  std::int64_t most = batch_.following.alike_steps(step);
  if (batch_.following.empty()) {
    const auto due = batch_.dues.next();
    KVPLAN_CHECK(due, batch_.sums.requests);
    most = *due - step;
  }
  if (batch_.grows && batch_.following.empty()) {
    // The pass that grants a block comes before the step: the run ends where that pass begins; a stretch before the
    // first one that would be short of blocks, or after which there is enough to tell.
    const std::int64_t room = std::min(pass_.pool.free + pass_.pool.cached, kGrantsToldAtOnce);
    most = granting ? batch_.phases.steps_to_more(step, room, most)
                    : std::min(most, batch_.phases.steps_to_members(step));
    if (tells_publications_) most = std::min(most, batch_.phases.steps_to_members(step + 1));
    if (batch_.sums.sliding > 0)
      most = std::min(most, batch_.phases.steps_to_sliding(step - batch_.run.keep.recent));
  }
  if (batch_.grows_anywhere)
    if (const auto growth = batch_.growths.next()) most = std::min(most, *growth - step);
  KVPLAN_CHECK(most >= 1, most);
  return most;
}

/// A quantum for each of those whose tables are full before the step, in admission order, up to whoever has that rank
/// or a higher one; who that is. REQUIRES: as many quanta are free or cached.
Slot Scheduler::grant_full(std::int64_t step, std::int64_t until_rank, std::vector<DecodeGrant>& granted) {
  full_.clear();
  Slot slot = batch_.phases.first(step);
  while (slot != kNoSlot && at(slot).rank < until_rank) {
    const SlotState& s = at(slot);
    full_.push_back(s.request);
    granted.push_back({s.request, kNoBlock, (step + s.offset) / batch_.quantum_tokens, 1});
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
