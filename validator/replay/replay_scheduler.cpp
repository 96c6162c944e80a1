// Arrivals and scheduler steps.
#include <algorithm>
#include <utility>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

bool Replay::Impl::in_order(Request& r, Stage stage) {
  if (!follows_pass_order(r, stage)) return false;
  const bool repeats = stage == kCoursed || stage == kGranted || stage == kPublished;
  const bool late = r.rank < order_ && !header_.rules.prefills_apart;
  if (late || r.stage > stage || (r.stage == stage && !repeats)) return false;
  order_ = r.rank;
  r.stage = stage;
  return true;
}

void Replay::Impl::leave(Request& r) {
  std::erase(running_, r.id);
  r.running = false;
  found_places_ -= std::exchange(r.found_blocks, 0) * header_.entries_per_block();
  r.course.reset();
  r.gathered.reset();
}

Status Replay::Impl::give_all_back(Request& r) {
  if (bytes_) {
    const auto places = byte_places_.find(r.id);
    for (std::size_t i = 0; places != byte_places_.end() && i < places->second.size(); ++i) {
      if (header_.table_form == log::TableForm::kPages) {
        taken_ids_.erase(places->second[i]);
      } else {
        taken_ranges_.erase(places->second[i]);
      }
    }
    if (places != byte_places_.end()) byte_places_.erase(places);
    return bytes_->give_back(r);
  }
  if (header_.returns_alloc_units) {
    KVPLAN_TRY_DO(arena_.free_entries(r, 0, static_cast<std::int64_t>(r.table.size())));
    if (header_.state_blocks > 0) KVPLAN_TRY_DO(arena_.free_states(r));
  } else {
    if (r.range_place >= 0) taken_ranges_.erase(r.range_place);
    r.range_place = -1;
    KVPLAN_TRY_DO(arena_.give_range_back(r));
  }
  r.table.clear();
  r.lengths.clear();
  return Done{};
}

Status Replay::Impl::on(const log::Arrival& f) {
  if (phase_ != Phase::kIdle && phase_ != Phase::kSteps) return contradict("an arrival in a pass");
  if (f.time < last_arrival_) return contradict(f.request, "arrives before the one before it");
  if (!arrived_->insert(f.request).second) return contradict(f.request, "arrives twice");
  last_arrival_ = f.time;
  if (!f.accepted && f.prefix_ids > 0) return contradict(f.request, "is rejected, but has prompt ids");
  if (f.priority != header_.rules.priority_told(f.priority))
    return contradict(f.request, "has a priority, but the policy has none");
  if (!f.accepted) return Done{};
  if (f.input < 1 || f.output < 1) return contradict(f.request, "is accepted without tokens");
  Request& r = requests_[f.request];
  r.id = f.request;
  r.input = f.input;
  r.output = f.output;
  r.prefix_ids = f.prefix_ids;
  r.arrival = f.time;
  r.priority = f.priority;
  if (f.named != 0 && (!header_.named_answers || f.named <= f.input || f.named > Wide{f.input} + f.output))
    return contradict(f.request, "has ids for " + std::to_string(f.named) + " tokens, which it cannot have");
  const std::int64_t named = std::max(f.named, f.input);
  const bool no_room = header_.id_tokens == 0 || (f.prefix_ids - 1) * header_.id_tokens >= named;
  if (f.prefix_ids > 0 && no_room) return contradict(f.request, "has more ids than its tokens can have");
  if (header_.tree) r.pages = PageKeys(r.id, named, header_.id_tokens, header_.alloc_unit_tokens);
  r.target = f.input;
  r.waiting = true;
  ++waiting_;
  return Done{};
}

Status Replay::Impl::on(const log::PassBegin& f) {
  if (phase_ != Phase::kIdle) return contradict("a pass begins before the step has settled");
  const std::int64_t expected = work_left_ ? now_ : std::max(now_, last_arrival_);
  if (f.time != expected || last_arrival_ > f.time)
    return contradict("expected the pass at tick " + std::to_string(expected) + ", found " +
                      std::to_string(f.time));
  now_ = f.time;
  phase_ = Phase::kPass;
  preempted_ = 0;
  order_ = -1;
  first_admitted_ = next_rank_;
  victim_owes_.reset();
  first_of_pass_ = next_publication_;
  mixed_ = false;
  begin_pass_order();
  return Done{};
}

Status Replay::Impl::on(const log::Preempt& f) {
  if (phase_ != Phase::kPass) return contradict("a preemption outside a pass");
  if (running(f.request) == nullptr) return contradict(f.request, "is preempted, but does not run");
  Request& r = requests_.at(f.request);
  KVPLAN_TRY_DO(header_.rules.prefills_apart ? check_retracted(r) : check_victim(r));
  if (stopped()) return Done{};
  if (f.written != r.written)
    return contradict(
        f.request, "has written " + std::to_string(r.written) + " tokens, not " + std::to_string(f.written));
  if (r.stage > latest_stage_of_victim()) return contradict(f.request, "is preempted after it was scheduled");
  remember_what_it_owes(r);
  KVPLAN_TRY_DO(give_all_back(r));
  leave(r);
  r.waiting = true;
  ++waiting_;
  ++preempted_;
  r.written = 0;
  r.sliding = r.whole = false;
  return Done{};
}

Status Replay::Impl::on(const log::Reclaim& f) {
  if (phase_ != Phase::kPass) return contradict("an eviction outside a pass");
  if (header_.tree) return reclaim_pages(f);
  if (f.pages != 0) return contradict("pages are evicted, but there is no radix tree");
  const auto found = publications_.find(f.publication);
  if (found == publications_.end())
    return contradict("cache insertion " + std::to_string(f.publication) + " is evicted, but does not exist");
  const std::int64_t q = found->second;
  if (!arena_.alloc_unit(q).holders.empty())
    return contradict("cache insertion " + std::to_string(f.publication) + " is evicted while it is held");
  publications_.erase(found);
  return arena_.forget(q);
}

Status Replay::Impl::on(const log::Admit& f) {
  if (phase_ != Phase::kPass) return contradict("an admission outside a pass");
  const auto found = requests_.find(f.request);
  if (found == requests_.end()) return contradict(f.request, "is admitted, but does not exist");
  Request& r = found->second;
  // A long list of hits is reported in several facts.
  const bool goes_on = r.running && r.stage == kAdmitted && running_.back() == r.id && !f.hit_keys.empty();
  if (!goes_on) {
    if (!r.waiting) return contradict(f.request, "is admitted, but does not wait");
    r.waiting = false;
    --waiting_;
    r.running = true;
    r.rank = next_rank_++;
    r.stage = kNothing;
    r.published = 0;
    running_.push_back(r.id);
    if (!in_order(r, kAdmitted)) return contradict(f.request, "has an event out of order");
    if (header_.state_blocks > arena_.free_alloc_units())
      return contradict(f.request, "is admitted and needs " + std::to_string(header_.state_blocks) +
                                       " blocks for states; " + std::to_string(arena_.free_alloc_units()) +
                                       " are free");
    if (header_.state_blocks > 0) KVPLAN_TRY_DO(arena_.take_states(r));
  }
  if (header_.tree) {
    KVPLAN_TRY_DO(take_found(r, f.found_pages));
    if (stopped()) return Done{};
  } else if (f.found_pages > 0) {
    return contradict(f.request, "hits pages, but there is no radix tree");
  }
  KVPLAN_TRY_DO(begin_found(r, f, goes_on));
  return stopped() ? Status(Done{}) : take_hits(r, f);
}

Status Replay::Impl::on(const log::Grant& f) {
  Request* const r = running(f.request);
  if (phase_ != Phase::kPass || r == nullptr) return contradict(f.request, "gets memory, but does not run");
  victim_owes_.reset();
  KVPLAN_TRY_DO(check_course(*r));
  if (stopped()) return Done{};
  if (!in_order(*r, kGranted)) return contradict(f.request, "has an event out of order");
  if (!names_tables(f.first_table, f.tables))
    return contradict(f.request, "gets memory for tables that it does not have");
  if (header_.tables > 1) return grant_tables(*r, f);
  if (bytes_) return grant_bytes(*r, f);
  if (!header_.returns_alloc_units) return grant_range(*r, f);
  KVPLAN_TRY_DO(check_left(*r, r->written));
  if (stopped()) return Done{};
  const auto held = static_cast<std::int64_t>(r->table.size());
  if (f.first_block != held)
    return contradict(f.request, "gets logical block " + std::to_string(f.first_block) + " but has " +
                                     std::to_string(held) + " blocks");
  if (f.alloc_units > arena_.free_alloc_units())
    return contradict(f.request, "is granted " + std::to_string(f.alloc_units) + " quanta; " +
                                     std::to_string(arena_.free_alloc_units()) + " are free");
  std::vector<log::ContentKey> keys = f.shared_keys;
  const std::int64_t groups = header_.entries_per_block();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] % 2 != 0) return contradict(f.request, "shares a content that is its own");
    const std::int64_t group = (held + static_cast<std::int64_t>(i)) % groups;
    if (keys[i] / 2 % static_cast<log::ContentKey>(groups) != static_cast<log::ContentKey>(group))
      return contradict(f.request, "shares a content that belongs to another layer group than block " +
                                       std::to_string(held + static_cast<std::int64_t>(i)) + " of its table");
  }
  for (auto b = static_cast<std::int64_t>(keys.size()); b < f.alloc_units; ++b)
    keys.push_back(header_.tree ? r->pages.key(held + b) : log::own_key(f.request, held + b));
  return arena_.take(*r, keys);
}

/// The first range of a request, or the growth of its range at its place.
Status Replay::Impl::grant_range(Request& r, const log::Grant& f) {
  if (f.first_block != r.range_cells)
    return contradict(r.id, "gets slots from " + std::to_string(f.first_block) + " but has " +
                                std::to_string(r.range_cells));
  if (r.range_cells == 0) {
    KVPLAN_TRY(const bool placed, arena_.take_range(r, f.alloc_units));
    if (placed) return Done{};
    return contradict(r.id,
                      "is granted " + std::to_string(f.alloc_units) + " slots; no free range is that long");
  }
  if (arena_.in_copy(r.id)) return contradict(r.id, "grows in place while it is being copied");
  KVPLAN_TRY(const bool grown, arena_.grow_range(r, f.alloc_units));
  if (grown) return Done{};
  return contradict(r.id,
                    "grows by " + std::to_string(f.alloc_units) + " slots in place, where they are not free");
}

Status Replay::Impl::on(const log::Move& f) {
  Request* const r = running(f.request);
  if (phase_ != Phase::kPass || r == nullptr || header_.returns_alloc_units || r->range_cells == 0)
    return contradict(f.request, "moves, but holds no range in a pass");
  if (arena_.in_copy(r->id)) return contradict(f.request, "moves while it is being copied");
  KVPLAN_TRY_DO(check_course(*r));
  if (stopped()) return Done{};
  const std::int64_t written = follows_courses() ? r->course->slots_written(r->written) : r->written;
  if (f.copied != written)
    return contradict(f.request,
                      "has written " + std::to_string(written) + " slots, not " + std::to_string(f.copied));
  if (f.slides) {
    if (f.slots != r->range_cells) return contradict(f.request, "moves and changes its length");
    KVPLAN_TRY(const std::int64_t distance, arena_.slide_range(*r));
    return distance > 0 ? Status(Done{})
                        : contradict(f.request, "moves, but there is no free memory beside it");
  }
  if (follows_courses()) return contradict(f.request, "is copied although it follows a retention schedule");
  if (!in_order(*r, kGranted)) return contradict(f.request, "has an event out of order");
  if (f.slots <= r->range_cells) return contradict(f.request, "is copied, but not to a longer range");
  KVPLAN_TRY(const bool placed, arena_.copy_range(*r, f.slots, f.copied));
  if (!placed)
    return contradict(f.request,
                      "is copied to " + std::to_string(f.slots) + " slots; no free range is that long");
  mixed_ = true;
  return Done{};
}

Status Replay::Impl::grant_bytes(const Request& r, const log::Grant& f) {
  KVPLAN_TRY(const std::string wrong, bytes_->grant(r, f));
  return wrong.empty() ? Status(Done{}) : contradict(r.id, wrong);
}

Status Replay::Impl::on(const log::Chunk& f) {
  Request* const r = running(f.request);
  if (phase_ != Phase::kPass || r == nullptr)
    return contradict(f.request, "computes a chunk, but does not run");
  KVPLAN_TRY_DO(check_course(*r));
  if (stopped()) return Done{};
  if (!in_order(*r, kScheduled)) return contradict(f.request, "has an event out of order");
  if (r->whole) return contradict(f.request, "computes a chunk of a prompt that is complete");
  if (f.computed != r->written)
    return contradict(f.request,
                      "has " + std::to_string(r->written) + " tokens, not " + std::to_string(f.computed));
  if (f.tokens > r->target - r->written)
    return contradict(f.request, "computes more tokens than its prompt has");
  KVPLAN_TRY_DO(check_left(*r, r->written));
  if (stopped()) return Done{};
  if (header_.tree && r->published != r->written / header_.alloc_unit_tokens)
    return contradict(f.request,
                      "continues its prompt, but the prompt's whole pages are not in the radix tree");
  r->chunk = f.tokens;
  mixed_ = true;
  return Done{};
}

Status Replay::Impl::on(const log::PassEnd& f) {
  if (phase_ != Phase::kPass) return contradict("a pass ends that did not begin");
  if (preempted_ > 0 && !f.refused)
    return contradict("a request was preempted although no allocation failed");
  if (f.refused && header_.table_form == log::TableForm::kNothing)
    return contradict("an allocation failed in a run without a KV cache");
  if (f.refused && preempted_ == 0 && waiting_ == 0)
    return contradict("an allocation failed, but no request was preempted and none waits");
  if (victim_owes_)
    return contradict(*victim_owes_,
                      "is preempted when it asks for memory itself, but did not free the blocks "
                      "behind its windows before");
  KVPLAN_TRY_DO(check_all_held_back());
  if (!stopped()) KVPLAN_TRY_DO(check_found());
  if (stopped()) return Done{};
  const bool idles = header_.rules.prefills_apart && order_ < 0;  // the request has nothing to report
  // If no request is left, or none was reached, no model step follows, but another scheduler step.
  const bool none_runs = !any_request_computes();
  if (none_runs && preempted_ == 0 && !idles) return contradict("a pass leaves no request running");
  refused_ = f.refused;
  phase_ = none_runs ? Phase::kIdle : Phase::kDecided;
  work_left_ = !running_.empty() || waiting_ > 0;
  steps_ = 0;
  runs_.clear();
  run_ = 0;
  taken_ = taken_of_run_ = 0;
  return Done{};
}

}  // namespace kvplan::validator
