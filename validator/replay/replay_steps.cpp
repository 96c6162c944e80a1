// Steps, and what happens when they end.
#include <algorithm>
#include <utility>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

Status Replay::Impl::on(const log::StepRun& f) {
  if (phase_ != Phase::kDecided && !(phase_ == Phase::kSteps && steps_ > 0 && !mixed_))
    return contradict("steps without a pass that decided them");
  if (f.time != now_)
    return contradict("expected steps from tick " + std::to_string(now_) + ", found " +
                      std::to_string(f.time));
  if (mixed_ && f.steps != 1)
    return contradict("a step with a prompt chunk, or with a request held back, is repeated");
  if (f.span() > log::kMostTime - f.time) return contradict("time passes 2^62 ticks");
  now_ = f.time + static_cast<std::int64_t>(f.span());
  steps_ += f.steps;
  runs_.push_back(f);
  phase_ = Phase::kSteps;
  return Done{};
}

std::int64_t Replay::Impl::tokens_in(const Request& r, const StepsTaken& taken) const {
  if (r.chunk > 0) return r.chunk;
  const bool waits = (header_.rules.prefills_apart && mixed_) || r.held_back;
  return r.whole && !waits ? taken.steps : 0;
}

/// Checks that the slots of the request's next tokens exist, and belong to it.
Status Replay::Impl::check_room(Request& r, std::int64_t tokens) {
  const std::int64_t end = r.written + tokens;
  if (end > r.final_tokens()) return contradict(r.id, "writes more tokens than it will have");
  if (bytes_)
    return end > bytes_->tokens_held(r.id)
               ? contradict(r.id, "writes token " + std::to_string(end - 1) + " but has room for " +
                                      std::to_string(bytes_->tokens_held(r.id)))
               : Status(Done{});
  if (!header_.returns_alloc_units)
    return end > r.range_cells ? contradict(r.id, "writes past the end of its range") : Status(Done{});
  const std::int64_t q = header_.alloc_unit_tokens;
  const std::int64_t each = header_.entries_per_block();
  if (ceil_div(end, q) * each > static_cast<std::int64_t>(r.table.size()))
    return contradict(r.id, "writes token " + std::to_string(end - 1) + " but has " +
                                std::to_string(r.table.size()) + " blocks");
  // All that had to be freed must be freed before the last of these steps.
  KVPLAN_TRY_DO(check_left(r, r.chunk > 0 ? r.written : end - 1));
  if (stopped()) return Done{};
  for (std::int64_t b = r.written / q * each; b < ceil_div(end, q) * each; ++b) {
    const std::int64_t place = r.table[static_cast<std::size_t>(b)];
    if (place == kGone || arena_.alloc_unit(place).owner != r.id)
      return contradict(r.id, "writes into a block that it does not own");
  }
  return Done{};
}

/// Computes what every running request does in these steps.
Status Replay::Impl::plan_steps(const StepsTaken& taken, std::vector<Arena::Progress>& all) {
  for (const RequestId id : running_) {
    Request& r = requests_.at(id);
    const std::int64_t tokens = tokens_in(r, taken);
    r.wrote = tokens > 0;
    if (tokens == 0) {
      if (r.ends) return contradict(id, "ends without a token");
      continue;
    }
    if (follows_courses()) {
      KVPLAN_TRY_DO(check_course_room(r, tokens));
      if (!stopped()) KVPLAN_TRY_DO(check_let_go_between(r, tokens + (taken.last ? 0 : 1)));
    } else {
      KVPLAN_TRY_DO(check_room(r, tokens));
    }
    if (stopped()) return Done{};
    const std::int64_t drops = r.sliding ? tokens - (r.ends ? 1 : 0) : 0;
    if (r.sliding && r.begin + drops > r.written + tokens)
      return contradict(id, "evicts a token that it has not written");
    all.push_back({&r, r.written, r.written + tokens, r.begin, r.begin + drops});
    if ((r.written + tokens == r.final_tokens()) != r.ends)
      return contradict(id, r.ends ? "ends early" : "has all its tokens, but does not end");
  }
  if (all.empty()) return contradict("a step without a token");
  return Done{};
}

Status Replay::Impl::on(const log::StepEnd& f) {
  if (phase_ != Phase::kSteps) return contradict("a step ends that did not begin");
  if (f.time != now_ || last_arrival_ > now_)
    return contradict("expected the step's end at tick " + std::to_string(now_) + ", found " +
                      std::to_string(f.time));
  KVPLAN_TRY_DO(arena_.end_copies());
  for (const std::int64_t address : std::exchange(read_ranges_, {})) taken_ranges_.erase(address);
  for (const RequestId id : f.finishing) {
    Request* const r = running(id);
    if (r == nullptr || r->ends) return contradict(id, "ends, but does not run");
    r->ends = true;
  }
  KVPLAN_TRY_DO(take_steps({steps_ - taken_, true}));
  if (stopped()) return Done{};
  phase_ = Phase::kEnding;
  ending_order_ = -1;
  return after_step();
}

Status Replay::Impl::take_steps(const StepsTaken& taken) {
  std::vector<Arena::Progress> all;
  KVPLAN_TRY_DO(plan_steps(taken, all));
  if (stopped()) return Done{};
  const auto go_on = [&] {
    for (const Arena::Progress& p : all) {
      p.request->written = p.to;
      if (p.request->sliding) p.request->begin = p.drop_to;
    }
  };
  if (!follows_courses()) return progress(all, go_on);
  std::vector<Arena::Followed> followed;
  followed.reserve(all.size());
  for (const Arena::Progress& p : all) followed.push_back({p.request, p.from, p.to});
  return header_.compacts ? arena_.follow_gathered(followed, go_on) : arena_.follow(followed, go_on);
}

// ---- where others look at the replica between its facts ----

namespace {

/// How many of these steps have ended by `time`; durations are not negative.
std::int64_t ended_by(const log::StepRun& run, std::int64_t time) {
  std::int64_t ended = 0;
  std::int64_t beyond = run.steps + 1;
  while (beyond - ended > 1) {
    const std::int64_t middle = ended + (beyond - ended) / 2;
    (run.time + run.span(middle) <= time ? ended : beyond) = middle;
  }
  return ended;
}

}  // namespace

std::int64_t Replay::Impl::next_step_end() const {
  if (phase_ != Phase::kSteps) return INT64_MAX;
  if (run_ == runs_.size()) return now_;
  const log::StepRun& run = runs_[run_];
  return run.time + static_cast<std::int64_t>(run.span(taken_of_run_ + 1));
}

Status Replay::Impl::step_to(std::int64_t time, std::int64_t event) {
  if (phase_ != Phase::kSteps || stopped()) return Done{};
  std::int64_t steps = 0;
  while (run_ < runs_.size()) {
    const std::int64_t ended = ended_by(runs_[run_], time);
    steps += ended - std::exchange(taken_of_run_, ended);
    if (ended < runs_[run_].steps) break;
    ++run_;
    taken_of_run_ = 0;
  }
  taken_ += steps;
  if (taken_ == steps_) {
    event_ = event;
    return contradict("steps have ended at tick " + std::to_string(now_) + ", which is not told");
  }
  return steps == 0 ? Status(Done{}) : take_steps({steps, false});
}

/// Checks that every full block can be found in the cache, unless cells were dropped before it became full.
Status Replay::Impl::check_published(Request& r) {
  if (!header_.prefix_cache || r.sliding) return Done{};
  const std::int64_t full = findable_to(r) / header_.alloc_unit_tokens;
  if (r.published == full) return Done{};
  return contradict(
      r.id, "has " + std::to_string(full) + " full blocks and published " + std::to_string(r.published));
}

Status Replay::Impl::after_step() {
  for (const auto& [id, block] : publishing_) {
    if ((block + 1) * header_.alloc_unit_tokens > requests_.at(id).written)
      return contradict(id, "published block " + std::to_string(block) + ", which does not fill");
  }
  publishing_.clear();
  for (auto& [q, key] : unfinished_hits_) {
    KVPLAN_TRY(const CellCounts cells, arena_.read(q, key));
    hit_cells_read_ += arena_.alloc_unit_cells();
    hit_cells_right_ += cells.cached;
    if (cells.cached < arena_.alloc_unit_cells()) return contradict("a block of a prefix hit was not filled");
  }
  unfinished_hits_.clear();

  for (const RequestId id : running_) {
    Request& r = requests_.at(id);
    const bool prefilled = std::exchange(r.chunk, 0) > 0;
    r.stage = kNothing;
    r.owes_first_token = r.owes_drop = r.owes_tree = false;
    r.freed_reported = 0;
    if (!r.wrote) continue;
    KVPLAN_TRY_DO(check_published(r));
    if (r.written < r.target) continue;
    r.whole = true;
    const bool new_pages = r.written / header_.alloc_unit_tokens > r.published;
    r.owes_tree = header_.tree && prefilled && new_pages && !r.ends;
    r.target = r.written + 1;
    if (!r.first_token) r.owes_first_token = r.first_token = true;
    r.owes_drop = !r.ends && r.sliding && header_.returns_alloc_units && blocks_to_free(r).released > 0;
  }
  return Done{};
}

// ---- the end of a step ----

bool Replay::Impl::in_ending_order(const Request& r) {
  const bool late = r.rank < ending_order_ && !header_.rules.prefills_apart;
  if (phase_ != Phase::kEnding || !r.wrote || !r.whole || late) return false;
  ending_order_ = r.rank;
  return true;
}

Status Replay::Impl::on(const log::FirstToken& f) {
  Request* const r = running(f.request);
  if (r == nullptr || !in_ending_order(*r) || !r->owes_first_token)
    return contradict(f.request, "has a first token out of order");
  r->owes_first_token = false;
  return Done{};
}

/// The logical blocks that are still held although they have no kept and no unwritten token.
log::Drop Replay::Impl::blocks_to_free(const Request& r) const {
  const std::int64_t q = header_.alloc_unit_tokens;
  log::Drop out{r.id, r.sink, r.begin, 0, 0};
  for (std::int64_t b = r.begin / q - 1; b >= ceil_div(r.sink, q); --b) {
    if (r.table[static_cast<std::size_t>(b)] == kGone) break;  // so are those below it
    out.first_released = b;
    ++out.released;
  }
  return out;
}

Status Replay::Impl::on(const log::Drop& f) {
  Request* const r = running(f.request);
  if (header_.table_form == log::TableForm::kNothing)
    return contradict(f.request, "evicts tokens in a run without a KV cache");
  const bool by_rule = !follows_courses() && !has_groups();
  if (r == nullptr || !by_rule || !in_ending_order(*r) || r->ends || r->owes_first_token)
    return contradict(f.request, "evicts out of order");
  if (!r->sliding) {
    if (f.sink > f.begin || f.begin > r->written || f.sink == f.begin)
      return contradict(f.request, "evicts a token that it does not have");
    r->owes_drop = false;
    // Only the position of the drop is new: nothing is written here.
    const std::vector<Arena::Progress> all{{r, r->written, r->written, f.sink, f.begin}};
    KVPLAN_TRY_DO(progress(all, [&] {
      r->sliding = true;
      r->sink = f.sink;
      r->begin = f.begin;
    }));
  } else if (f.sink != r->sink || f.begin != r->begin) {
    return contradict(f.request, "has dropped [" + std::to_string(r->sink) + ", " + std::to_string(r->begin) +
                                     "), not [" + std::to_string(f.sink) + ", " + std::to_string(f.begin) +
                                     ")");
  }
  r->owes_drop = false;
  const log::Drop due = header_.returns_alloc_units ? blocks_to_free(*r) : log::Drop{f.request, 0, 0, 0, 0};
  if (due.released != f.released || due.first_released != f.first_released)
    return contradict(f.request, "frees " + std::to_string(f.released) + " blocks from " +
                                     std::to_string(f.first_released) + ", expected " +
                                     std::to_string(due.released) + " from " +
                                     std::to_string(due.first_released));
  return f.released > 0 ? arena_.free_entries(*r, f.first_released, f.released) : Status(Done{});
}

Status Replay::Impl::on(const log::Finish& f) {
  Request* const r = running(f.request);
  if (r == nullptr || !in_ending_order(*r) || !r->ends || r->owes_first_token)
    return contradict(f.request, "finishes out of order");
  if (f.written != r->written)
    return contradict(
        f.request, "has written " + std::to_string(r->written) + " tokens, not " + std::to_string(f.written));
  if (header_.tree) KVPLAN_TRY_DO(put_into_tree(*r, r->written / header_.alloc_unit_tokens));
  if (stopped()) return Done{};
  KVPLAN_TRY_DO(give_all_back(*r));
  leave(*r);
  requests_.erase(f.request);
  return Done{};
}

Status Replay::Impl::on(const log::Settled& f) {
  if (phase_ != Phase::kEnding || f.time != now_)
    return contradict("a step settles that did not end at that time");
  for (const RequestId id : running_) {
    const Request& r = requests_.at(id);
    if (r.ends) return contradict(id, "has all its tokens, but keeps its memory");
    if (r.owes_first_token) return contradict(id, "has no event for its first token");
    if (r.owes_tree) return contradict(id, "does not insert its prompt into the radix tree");
    if (r.gathered != nullptr && owes_blocks(r)) return contradict(id, "does not compact");
    if (r.owes_drop || owes_blocks(r)) return contradict(id, "keeps blocks without any kept token");
  }
  work_left_ = !running_.empty() || waiting_ > 0;
  phase_ = Phase::kIdle;
  return Done{};
}

Status Replay::Impl::on(const log::TickEnd& /*f*/) {
  return contradict("an event of all replicas in a log of one replica");
}
Status Replay::Impl::on(const log::FleetEnd& /*f*/) {
  return contradict("an event of all replicas in a log of one replica");
}

Status Replay::Impl::on(const log::End& f) {
  if (phase_ != Phase::kIdle || f.time != now_) return contradict("the log ends in the middle");
  if (!running_.empty() || waiting_ > 0)
    return contradict(std::to_string(running_.size()) + " requests run and " + std::to_string(waiting_) +
                      " wait at the end of the log");
  phase_ = Phase::kOver;
  return Done{};
}

}  // namespace kvplan::validator
