// The replica without per-request work in every step. README.md says how, and why it is exact: lockstep, runs and
// stretches of decode steps, what waits in queues.
#include "simulator/scheduling/vllm/replicas.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/decode_load.h"
#include "simulator/core/due_steps.h"
#include "simulator/core/followers.h"
#include "simulator/core/letting_go.h"
#include "simulator/core/pass_moves.h"
#include "simulator/core/running_slots.h"
#include "simulator/core/window_sums.h"

namespace kvplan::scheduling::vllm {
namespace {

using namespace core;

/// A stretch ends about here: what is kept to be told does not grow with the requests.
constexpr std::int64_t kGrantsToldAtOnce = std::int64_t{1} << 14;

/// Bits of RequestColumns::seen.
constexpr std::uint8_t kAdmitted = 1, kGenerated = 2;

class FastReplica final : public Replica, public BlockListener {
 public:
  FastReplica(const ReplicaSetup& run, const Params& params, Allocator& allocator)
      : run_(run),
        params_(params),
        workload_(*run.workload),
        allocator_(allocator),
        grows_(allocator.growth_tokens() > 0),
        grows_anywhere_(allocator.growth_tokens() < 0),
        keeps_(allocator.layout().form != TableForm::kNothing),
        contents_(allocator.contents()),
        returns_(allocator.block_returns()),
        costs_(allocator.layout().costs),
        ids_(allocator.layout().block_ids),
        quantum_(allocator.layout().quantum_tokens),
        several_(run.courses != nullptr && !ids_),
        phases_(std::max<std::int64_t>(allocator.growth_tokens(), 1)),
        stretches_(!run.contents_asked),
        columns_(run.columns != nullptr ? *run.columns : RequestColumns(run.workload->input.size())) {
    for (const Observer* observer : run.observers) {
      tell_publications_ = tell_publications_ || observer->wants_publications();
      stretches_ = stretches_ && observer->follows_stretches();
    }
    tell_publications_ = tell_publications_ && contents_ != nullptr;
    if (tell_publications_) contents_->set_listener(this);
    if (costs_) slot_of_.resize(run.workload->input.size(), kNoSlot);
    KVPLAN_CHECK(!grows_anywhere_ || run.courses == nullptr);
    sums_.reads = {run.keep, run.reads_holes, returns_ != nullptr ? quantum_ : 0};
  }
  ~FastReplica() override {
    if (contents_ != nullptr) contents_->set_listener(nullptr);
  }

  SimTime step_end() const override { return planned_ ? end_ : kNever; }
  SimTime told_until() const override { return planned_ ? now_ : kNever; }
  bool wants_pass() const override { return !planned_ && (slots_.running() > 0 || !waiting_.empty()); }

  bool deliver(RequestId r, SimTime time) override {
    const bool accepted = is_served(workload_, r, params_.max_model_len, allocator_);
    if (accepted) {
      const std::int32_t prompt = workload_.input[static_cast<std::size_t>(r)];
      columns_.goal[r] = prompt;
      known_tokens_ += prompt;
      waiting_.push_back(r);
    }
    if (!planned_) {
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
      return accepted;
    }
    arrived_.push_back({time, r, accepted});
    const std::int64_t steps = steps_to_reach(series_, (time - now_).count);
    if (steps < series_.steps) plan(steps);
    return accepted;
  }

  Status pass(SimTime now) override {
    now_ = now;
    do {
      KVPLAN_TRY_DO(decide());
    } while (pass_.load.requests == 0);  // everybody was preempted
    stretch_ = only_grants_follow();
    series_ = choose_series();
    if (series_.first.count == 0) series_.steps = 1;  // others may act at this tick between such steps
    if (plan(series_.steps)) return Done{};
    const std::int64_t beyond = steps_to_reach(series_, kLastTick - now_.since_start.count + 1);
    return beyond > 1 && plan(beyond - 1) ? Status(Done{}) : time_is_up();
  }

  void end_steps(std::vector<RequestId>& ended) override {
    planned_ = false;
    moves_.computes(series_.duration(series_.steps - 1) - pass_.delay);
    if (stretch_) grant_ahead();
    if (granting_passes_.empty()) {
      const Steps steps{pass_, series_, end_};
      for (Observer* o : run_.observers) o->on_steps(steps);
    } else {
      const Stretch stretch{pass_, series_, granting_passes_, decode_grants_, end_};
      for (Observer* o : run_.observers) o->on_stretch(stretch);
      pass_.pool = granting_passes_.back().pool;
      granting_passes_.clear();
      decode_grants_.clear();
    }
    now_ = end_;
    for (const auto& [time, r, accepted] : arrived_)
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
    arrived_.clear();
    if (moves_.end(now_)) pass_.pool = allocator_.counts();
    finish_steps(series_.steps, ended);
  }

  void end() override {
    KVPLAN_CHECK(!planned_ && !wants_pass(), slots_.running());
    for (Observer* o : run_.observers) o->on_end(last_end_);
  }

  Load load(SimTime now) const override {
    Load load{.running = slots_.running(),
              .waiting = static_cast<std::int64_t>(waiting_.size()),
              .tokens = known_tokens_,
              .blocks = pass_.pool.held};
    if (!planned_ || series_.steps == 1 || now == now_) return load;
    // A token counts from the end of its step; a pass between steps comes after whatever else happens at its moment.
    const std::int64_t distance = (now - now_).count;
    const std::int64_t ended = steps_ended(series_, distance);
    load.tokens += ended * sums_.requests;
    if (stretch_) load.blocks += phases_.members_within(step_, steps_ended(series_, distance - 1));
    return load;
  }
  std::int64_t cached_tokens(RequestId r) const override {
    KVPLAN_CHECK(run_.contents_asked, r);
    return contents_ == nullptr ? 0
                                : contents_->cached_tokens(r, workload_.input[static_cast<std::size_t>(r)]);
  }

  void on_publish(RequestId request, std::int64_t logical_block, BlockId block) override {
    for (Observer* o : run_.observers) o->on_publish(request, logical_block, block);
  }
  void on_reclaim(BlockId block) override {
    for (Observer* o : run_.observers) o->on_reclaim(block);
  }

 private:
  SlotState& at(Slot s) { return slots_[s]; }
  [[nodiscard]] const SlotState& at(Slot s) const { return slots_[s]; }
  [[nodiscard]] std::int64_t tokens_held(const SlotState& s) const {
    return s.decoding ? step_ + s.offset : s.computed;
  }

  /// What a table must reach for so many tokens.
  [[nodiscard]] static std::int64_t slots_of(const SlotState& s, std::int64_t tokens) {
    return s.course == nullptr ? tokens : s.course->table_slots(tokens);
  }

  void leave(Slot slot) {
    const SlotState& s = at(slot);
    if (s.decoding && s.course != nullptr) {
      following_.leave(slot);
      --sums_.requests;
    } else if (s.decoding) {
      phases_.leave(slots_, slot);
      const std::int64_t held = tokens_held(s);
      sums_.leave(held, s.sliding, held == workload_.final_tokens(s.request));
      windows_.leave(s, held);
    } else {
      std::erase(prompts_, slot);
    }
    slots_.close(slot);
  }

  // ---- a pass ----

  Status decide() {
    pass_ = Pass{};
    pass_.time = now_;
    in_step_.clear();
    decode_grants_.clear();
    first_victim_rank_ = slots_.next_rank();
    for (Observer* o : run_.observers) o->on_pass_begin(now_);
    budget_ = params_.token_budget;
    schedule_running();
    tell_decode_grants();
    KVPLAN_TRY_DO(admit_waiting());
    pass_.running = slots_.running();
    pass_.waiting = static_cast<std::int64_t>(waiting_.size());
    pass_.pool = allocator_.counts();
    // Every pass makes progress, or the one after a pass that preempted everybody does: no livelock.
    KVPLAN_CHECK(pass_.load.requests > 0 || pass_.preempted > 0, pass_.running, pass_.waiting);
    if (pass_.load.requests > 0) pass_.delay = moves_.take_delay(*run_.latency);
    for (Observer* o : run_.observers) o->on_pass_end(pass_);
    return Done{};
  }

  [[nodiscard]] std::int64_t piece(std::int64_t wanted, std::int64_t budget) const {
    if (!keeps_) return wanted;
    const std::int64_t threshold = params_.long_prefill_threshold;
    if (threshold > 0 && wanted > threshold) wanted = threshold;
    return std::min(wanted, budget);
  }

  /// Room for `tokens` tokens of a running request; preempts the youngest until there is. False: it was the
  /// victim.
  bool make_room(Slot slot, std::int64_t tokens) {
    const RequestId r = at(slot).request;
    windows_.leave_blocks(at(slot), tokens_held(at(slot)));
    while (!allocator_.grow(r, tokens)) {
      pass_.refuse(allocator_.refusal());
      const Slot victim = slots_.youngest();
      preempt(victim);
      if (victim == slot) return false;
    }
    tell_moves();
    return true;
  }

  /// What the allocator moved so that its latest answer could be yes.
  void tell_moves() {
    if (!costs_) return;
    for (const RangeMove& range : allocator_.placing()->moves()) {
      const SlotState& s = at(slot_of_[static_cast<std::size_t>(range.request)]);
      const std::int64_t held = tokens_held(s);
      moves_.tell(range, slots_of(s, held));
    }
  }

  void preempt(Slot victim) {
    tell_decode_grants();
    const SlotState& s = at(victim);
    const RequestId r = s.request;
    const std::int64_t rank = s.rank;
    const std::int64_t written = tokens_held(s);
    const BlockTable table = allocator_.table(r);
    for (Observer* o : run_.observers) o->on_preempt(Release{r, written, table.quanta, table.ids});
    allocator_.release(r, written);
    if (s.decoding) columns_.goal[r] = static_cast<std::int32_t>(written + 1);
    leave(victim);
    if (run_.courses != nullptr) run_.courses->end(r);
    waiting_.push_front(r);
    ++pass_.preempted;
    first_victim_rank_ = rank;
  }

  /// Visits, in admission order, those that need a block now, those whose block fills now (if somebody wants to
  /// know at once), and the prompts in work. All other decoding requests are scheduled without a visit.
  void schedule_running() {
    Slot need = kNoSlot;
    Slot fill = kNoSlot;
    if (grows_) {
      need = phases_.first(step_);
      if (tell_publications_) fill = phases_.first(step_ + 1);
    }
    if (run_.courses != nullptr) {
      if (grows_) following_.gather_grants(step_);
      need = following_.next_grant();
    }
    if (grows_anywhere_) need = next_to_grow();
    const std::int64_t decoding_before = sums_.requests;
    KVPLAN_CHECK(decoding_before <= budget_, decoding_before, budget_);
    std::size_t next_prompt = 0;
    std::int64_t prompt_tokens = 0;
    while (true) {
      const Slot prompt = next_prompt < prompts_.size() ? prompts_[next_prompt] : kNoSlot;
      // Preemption takes the youngest: if the one to visit is gone, so is everyone behind it.
      if (need != kNoSlot && at(need).rank >= first_victim_rank_) need = kNoSlot;
      if (fill != kNoSlot && at(fill).rank >= first_victim_rank_) fill = kNoSlot;
      const Slot slot = slots_.eldest(slots_.eldest(need, fill), prompt);
      if (slot == kNoSlot) break;
      if (slot == prompt) {
        ++next_prompt;
        const std::int64_t left = budget_ - decoding_before - prompt_tokens;
        const std::int64_t wish = piece(at(slot).goal - at(slot).computed, INT64_MAX);
        KVPLAN_CHECK(left >= 0 && (wish <= left || slot == slots_.youngest()), wish, left);
        const std::int64_t tokens = std::min(wish, left);
        if (tokens == 0) continue;
        if (!schedule_prompt(slot, tokens)) break;
        prompt_tokens += tokens;
        continue;
      }
      const bool needs_block = slot == need;
      if (grows_anywhere_) {
        if (!grow_range(slot)) break;
        need = next_to_grow();
      } else if (needs_block) {
        if (!grant_decode_block(slot)) break;
        need = run_.courses != nullptr ? following_.next_grant() : at(slot).phase_next;
      }
      if (slot == fill) {
        tell_decode_grants();
        contents_->publish(at(slot).request, tokens_held(at(slot)) + 1);
        fill = at(slot).phase_next;
      }
    }
    if (run_.courses != nullptr) {
      const Followers::Context context = following_.context(step_);
      sums_.context = context.tokens;
      sums_.growing = context.growth;
    }
    pass_.decoding += sums_.requests;
    pass_.sampled += sums_.requests;
    keeps_ ? add_decoding(pass_, sums_) : add_recomputing(pass_, sums_);
    windows_.add_decoding(pass_);
    budget_ -= sums_.requests + prompt_tokens;
  }

  Slot next_to_grow() { return growths_.due(step_) ? growths_.take() : kNoSlot; }

  /// False: the request itself was preempted, and nobody is left behind it.
  bool grow_range(Slot slot) {
    const RequestId r = at(slot).request;
    const std::int64_t before = allocator_.table(r).quanta;
    if (!make_room(slot, tokens_held(at(slot)) + 1)) return false;
    if (!moves_.copied_latest(r)) tell_grant(r, before);
    windows_.fill(at(slot), tokens_held(at(slot)));
    expect_growth(slot, tokens_held(at(slot)) + 1);
    return true;
  }

  /// When it needs room, or something happens at a window. `held`: tokens after the step in progress. REQUIRES:
  /// grows_anywhere_, decoding.
  void expect_growth(Slot slot, std::int64_t held) {
    const SlotState& s = at(slot);
    const std::int64_t tokens = std::min(allocator_.next_growth(s.request), windows_.next_change(s, held));
    if (tokens < workload_.final_tokens(s.request)) growths_.expect(tokens - s.offset, slot);
  }

  /// False: the request itself was preempted, and nobody is left behind it.
  bool grant_decode_block(Slot slot) {
    const RequestId r = at(slot).request;
    const std::int64_t before = several_ ? allocator_.table(r).quanta : 0;
    if (!make_room(slot, slots_of(at(slot), tokens_held(at(slot)) + 1))) return false;
    decode_grants_.push_back(newest_grant(r, several_ ? allocator_.table(r).quanta - before : 1));
    if (tell_publications_) tell_decode_grants();  // between the reclaims that they caused
    return true;
  }

  [[nodiscard]] DecodeGrant newest_grant(RequestId r, std::int64_t quanta = 1) const {
    const BlockTable table = allocator_.table(r);
    return {r, ids_ ? table.ids.back() : kNoBlock, table.quanta - quanta, quanta};
  }

  void tell_decode_grants() {
    if (decode_grants_.empty()) return;
    for (Observer* o : run_.observers) o->on_decode_grants(decode_grants_);
    decode_grants_.clear();
  }

  bool schedule_prompt(Slot slot, std::int64_t tokens) {
    tell_decode_grants();
    const RequestId r = at(slot).request;
    const std::int64_t before = allocator_.table(r).quanta;
    if (!make_room(slot, slots_of(at(slot), at(slot).computed + tokens))) return false;
    tell_grant(r, before);
    add_chunk(slot, tokens);
    return true;
  }

  void tell_grant(RequestId r, std::int64_t before) {
    const BlockTable table = allocator_.table(r);
    const std::int64_t after = table.quanta;
    if (after == before) return;
    auto blocks = table.ids;
    if (ids_ && allocator_.layout().table_by_quanta())
      blocks = blocks.subspan(static_cast<std::size_t>(before));
    const Grant grant{r, before, after - before, blocks, table.tensor_tokens};
    for (Observer* o : run_.observers) o->on_grant(grant);
  }

  /// A piece of a prompt is scheduled: its full blocks can be found from now on.
  void add_chunk(Slot slot, std::int64_t tokens) {
    const SlotState& s = at(slot);
    if (contents_ != nullptr) contents_->publish(s.request, s.computed + tokens);
    in_step_.push_back({slot, tokens});
    add_piece(pass_, s.computed, tokens);
    windows_.add_chunk(pass_.load, s.computed, tokens);
    if (s.computed + tokens == s.goal) ++pass_.sampled;
    for (Observer* o : run_.observers) o->on_chunk(Chunk{s.request, s.computed, tokens});
  }

  Status admit_waiting() {
    while (pass_.preempted == 0 && !waiting_.empty() && budget_ > 0 && slots_.running() < params_.max_seqs) {
      const RequestId r = waiting_.front();
      const std::int64_t goal = columns_.goal[r];
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
      const Slot slot = slots_.open(r);
      if (costs_) slot_of_[static_cast<std::size_t>(r)] = slot;
      SlotState& s = at(slot);
      s.computed = found_.tokens;
      s.goal = goal;
      prompts_.push_back(slot);
      const std::int64_t hit_blocks = found_.tokens / quantum_;
      const auto hits = allocator_.table(r).ids.subspan(0, ids_ ? static_cast<std::size_t>(hit_blocks) : 0);
      for (Observer* o : run_.observers)
        o->on_admit(Admission{r, (columns_.seen[r] & kAdmitted) != 0, found_.tokens, hits});
      columns_.seen[r] |= kAdmitted;
      if (run_.courses != nullptr) {
        KVPLAN_TRY(s.course, run_.courses->begin(r, goal));
        for (Observer* o : run_.observers) o->on_course(r, *s.course);
      }
      tell_grant(r, hit_blocks);
      add_chunk(slot, tokens);
      budget_ -= std::min(tokens, budget_);
    }
    return Done{};
  }

  // ---- runs ----

  [[nodiscard]] bool alike() const {
    return in_step_.empty() && prompts_.empty() && pass_.preempted == 0 && !moves_.copying() &&
           pass_.delay.count == 0;
  }

  /// Whether the passes that follow do nothing but grant blocks to decoding requests, until a request ends or
  /// begins to drop cells, an arrival, or a shortage. Nothing may be at the head of the queue that could be looked
  /// at: what is granted may take the place of content that it would find.
  [[nodiscard]] bool only_grants_follow() const {
    return stretches_ && grows_ && !costs_ && alike() && following_.empty() && sums_.sliding == 0 &&
           (waiting_.empty() || budget_ == 0 || slots_.running() == params_.max_seqs);
  }

  /// Steps of a stretch before the first pass that would be short of blocks, or after which there is enough to tell.
  [[nodiscard]] std::int64_t steps_with_grants(std::int64_t most) const {
    return phases_.steps_to_more(step_, std::min(pass_.pool.free + pass_.pool.cached, kGrantsToldAtOnce),
                                 most);
  }

  /// Does what the passes between the planned steps do.
  void grant_ahead() {
    for (std::int64_t k = phases_.steps_to_members(step_); k > 0 && k < series_.steps;) {
      full_.clear();
      for (Slot slot = phases_.first(step_ + k); slot != kNoSlot; slot = at(slot).phase_next)
        full_.push_back(at(slot).request);
      allocator_.grow_full(full_);
      for (const RequestId r : full_) decode_grants_.push_back(newest_grant(r));
      const auto grants = static_cast<std::int64_t>(full_.size());
      granting_passes_.push_back({k, grants, allocator_.counts()});
      k += phases_.steps_to_members(step_ + k);
    }
  }

  /// So many of the steps of `series_` are planned. False: they would end too late.
  bool plan(std::int64_t steps) {
    const Wide span = series_.span(steps);
    if (span > kLastTick - now_.since_start.count) return false;
    series_.steps = steps;
    end_ = now_ + Ticks{static_cast<std::int64_t>(span)};
    return planned_ = true;
  }

  /// REQUIRES: stretch_ is what only_grants_follow() says now.
  [[nodiscard]] StepSeries choose_series() {
    if (!alike()) return {run_.latency->step(pass_.load) + pass_.delay, Ticks{0}, 1};
    std::int64_t most = following_.alike_steps(step_);
    if (following_.empty()) {
      const auto due = dues_.next();
      KVPLAN_CHECK(due, sums_.requests);
      most = *due - step_;
    }
    if (grows_ && following_.empty()) {
      // The pass that grants a block comes before the step: the run ends where that pass begins.
      most = stretch_ ? steps_with_grants(most) : std::min(most, phases_.steps_to_members(step_));
      if (tell_publications_) most = std::min(most, phases_.steps_to_members(step_ + 1));
      if (sums_.sliding > 0) most = std::min(most, phases_.steps_to_sliding(step_ - run_.keep.recent));
    }
    if (grows_anywhere_)
      if (const auto growth = growths_.next()) most = std::min(most, *growth - step_);
    KVPLAN_CHECK(most >= 1, most);
    return run_.latency->decode_series(pass_.load, pass_.growth, most);
  }

  // ---- the end of a step ----

  /// When this decoding request must be looked at: at its end, or when it drops its first cell.
  void expect(Slot slot) {
    const SlotState& s = at(slot);
    std::int64_t tokens = workload_.final_tokens(s.request);
    if (run_.keep.evicts() && !s.sliding) tokens = std::min(tokens, run_.keep.sink + run_.keep.recent + 1);
    dues_.expect(tokens - s.offset, slot);
  }

  struct Visit {
    std::int64_t rank;
    Slot slot;
    std::int64_t tokens;  ///< of its prompt in this step; 0 for decoding requests
    bool operator<(const Visit& other) const { return rank < other.rank; }
  };

  void finish_steps(std::int64_t steps, std::vector<RequestId>& ended) {
    last_end_ = now_;
    step_ += steps;
    known_tokens_ += sums_.requests * steps;
    sums_.run(steps);
    windows_.run(steps);
    visits_.clear();
    for (const Slot slot : following_.members()) {
      const SlotState& s = at(slot);
      const std::int64_t held = tokens_held(s);
      if (held == workload_.final_tokens(s.request) || s.course->returns_blocks(held))
        visits_.push_back({s.rank, slot, 0});
    }
    for (const auto& [slot, tokens] : in_step_) visits_.push_back({at(slot).rank, slot, tokens});
    while (dues_.due(step_)) {
      const Slot slot = dues_.take();
      visits_.push_back({at(slot).rank, slot, 0});
    }
    if (sums_.sliding > 0 && grows_) {
      // Their tokens less `recent` are a multiple of the block: the drop that is due completes one.
      for (Slot slot = phases_.first(step_ - run_.keep.recent); slot != kNoSlot; slot = at(slot).phase_next) {
        if (!at(slot).sliding || tokens_held(at(slot)) == workload_.final_tokens(at(slot).request)) continue;
        visits_.push_back({at(slot).rank, slot, 0});
      }
    }
    if (visits_.size() > 1) std::sort(visits_.begin(), visits_.end());

    finishing_.clear();
    for (const Visit& visit : visits_) {
      const SlotState& s = at(visit.slot);
      const std::int64_t held = s.decoding ? tokens_held(s) : s.computed + visit.tokens;
      if (held == workload_.final_tokens(s.request)) finishing_.push_back(s.request);
    }
    for (Observer* o : run_.observers) o->on_step_end(now_, finishing_);
    for (const Visit& visit : visits_) settle(visit, ended);
    if (!visits_.empty()) pass_.pool = allocator_.counts();  // else nothing came back
    for (Observer* o : run_.observers) o->on_settled(now_, pass_.pool);
  }

  void settle(const Visit& visit, std::vector<RequestId>& ended) {
    SlotState& s = at(visit.slot);
    const RequestId r = s.request;
    if (!s.decoding) {
      s.computed += visit.tokens;
      if (s.computed < s.goal) return;
      ++known_tokens_;
      if ((columns_.seen[r] & kGenerated) == 0) {
        columns_.seen[r] |= kGenerated;
        for (Observer* o : run_.observers) o->on_first_token(now_, r);
      }
    }
    const std::int64_t held = tokens_held(s);
    if (held == workload_.final_tokens(r)) {
      const BlockTable table = allocator_.table(r);
      for (Observer* o : run_.observers) o->on_finish(now_, Release{r, held, table.quanta, table.ids});
      allocator_.release(r, held);
      if (contents_ != nullptr) contents_->forget(r);
      leave(visit.slot);
      if (run_.courses != nullptr) run_.courses->end(r);
      const auto i = static_cast<std::size_t>(r);
      known_tokens_ -= std::int64_t{workload_.input[i]} + workload_.output[i];
      ended.push_back(r);
      if (run_.control != nullptr) run_.control->requests_done.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (!s.decoding) begin_decoding(visit.slot);
    if (s.course != nullptr) {
      if (const auto moved = s.course->compaction(held)) moves_.compact(r, held, *moved);
      const auto blocks = s.course->let_go(held);
      if (blocks.empty()) return;
      returns_->give_back(r, blocks);
      for (Observer* o : run_.observers) o->on_give_back(GivenBack{r, held, blocks});
      return;
    }
    if (run_.keep.evicts() && held > run_.keep.sink + run_.keep.recent) drop(visit.slot, held);
  }

  void begin_decoding(Slot slot) {
    SlotState& s = at(slot);
    std::erase(prompts_, slot);
    s.offset = s.computed - step_;
    s.decoding = true;
    ++sums_.requests;
    if (s.course != nullptr) {
      following_.enter(slot);
      return;
    }
    sums_.grow(s.computed);
    phases_.enter(slots_, slot);
    windows_.fill(s, s.computed);
    if (grows_anywhere_) expect_growth(slot, s.computed);
    if (!run_.keep.evicts() || s.computed <= run_.keep.sink + run_.keep.recent) expect(slot);
  }

  /// REQUIRES: it drops its first cell since its admission, or one that completes a quantum.
  void drop(Slot slot, std::int64_t held) {
    SlotState& s = at(slot);
    const std::int64_t begin = held - run_.keep.recent;
    const bool first = !s.sliding;
    KVPLAN_CHECK(first || (grows_ && begin % quantum_ == 0), begin, quantum_);
    const std::int64_t begin_before = first ? run_.keep.sink : begin - 1;
    const LettingGo::Gone gone = letting_go_.drop(s.request, run_.keep.sink, begin_before, begin, held);
    if (first) {
      phases_.leave(slots_, slot);
      s.sliding = true;
      sums_.slide(held);
      ++s.generation;
      phases_.enter(slots_, slot);
      expect(slot);
      if (grows_anywhere_) expect_growth(slot, held);
    } else {
      sums_.let_go(held);
    }
    const auto table = allocator_.table(s.request).ids;
    const Drop drop{s.request, run_.keep.sink, begin_before, begin, gone.first, gone.ids, table};
    for (Observer* o : run_.observers) o->on_drop(drop);
  }

  const ReplicaSetup run_;
  const Params params_;
  const Workload& workload_;
  Allocator& allocator_;
  bool grows_;           // decoding requests are granted quanta as they go, each after as many tokens
  bool grows_anywhere_;  // or when their allocator says
  bool keeps_;           // false: every step computes everything again
  Contents* contents_;   // may be null, as the next one
  BlockReturns* returns_;
  bool costs_;  // placing moves ranges or takes time
  bool ids_;    // blocks have ids
  std::int64_t quantum_;
  bool several_;  // quanta may be granted to a request that decodes
  PhaseLists phases_;
  SlotTable slots_;
  bool tell_publications_{false};
  bool stretches_;  // all observers follow them, and nobody asks what is cached

  SimTime now_{};       // of the latest pass or step end
  SimTime last_end_{};  // of a step
  bool planned_{false};
  bool stretch_{false};  // what is planned has passes between
  StepSeries series_;    // what is planned
  SimTime end_{};
  struct Arrived {
    SimTime time;
    RequestId request;
    bool accepted;
  };
  std::vector<Arrived> arrived_;  // since the planned steps began
  std::deque<RequestId> waiting_;
  std::int64_t known_tokens_{0};  // prompt and generated, of all that run or wait
  RequestColumns columns_;

  std::vector<Slot> prompts_;    // running, prompt in work, by rank
  Followers following_{slots_};  // decoding with a course

  std::int64_t step_{0};
  DecodeSums sums_{.squared = !keeps_};
  WindowSums windows_{allocator_, run_.observers};
  DueSteps dues_{slots_};
  DueSteps growths_{slots_};  // before which step they need room

  std::vector<Slot> slot_of_;  // by request, where placing costs
  PassMoves moves_{allocator_, run_.observers};

  Pass pass_{};
  std::int64_t budget_{0};
  std::int64_t first_victim_rank_{0};  // of the youngest-first victims of this pass, the eldest
  struct InStep {
    Slot slot;
    std::int64_t tokens;
  };
  std::vector<InStep> in_step_;  // prompts with a piece in this step, by rank
  std::vector<DecodeGrant> decode_grants_;
  std::vector<RequestId> full_;                // of one pass of it: those whose tables are full
  std::vector<GrantingPass> granting_passes_;  // of the stretch that is about to be told
  std::vector<Visit> visits_;
  std::vector<RequestId> finishing_;
  LettingGo letting_go_{allocator_};
  Found found_{};
  RequestId looked_up_{-1};
  std::uint64_t looked_up_epoch_{0};
};

}  // namespace

std::unique_ptr<core::Replica> make_fast_replica(const core::ReplicaSetup& setup, const Params& params,
                                                 core::Allocator& allocator) {
  return std::make_unique<FastReplica>(setup, params, allocator);
}

}  // namespace kvplan::scheduling::vllm
