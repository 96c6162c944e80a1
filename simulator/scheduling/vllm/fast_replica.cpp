// The fast replica: no per-request work in every step. README.md says how, and why that is exact. This file keeps the
// time, plans runs of steps and applies the results of their ends.
#include "simulator/scheduling/vllm/replicas.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/scheduling/vllm/scheduler.h"

namespace kvplan::scheduling::vllm {
namespace {

using namespace core;

class FastReplica final : public Replica, public BlockListener {
 public:
  FastReplica(const ReplicaSetup& run, const Params& params, Allocator& allocator)
      : run_(run),
        params_(params),
        workload_(*run.workload),
        allocator_(allocator),
        contents_(allocator.contents()),
        ids_(allocator.layout().block_ids()),
        scheduler_(run, params, allocator) {
    if (scheduler_.tells_insertions()) contents_->set_listener(this);
  }
  ~FastReplica() override {
    if (contents_ != nullptr) contents_->set_listener(nullptr);
  }

  SimTime step_end() const override { return planned_ ? end_ : kNever; }
  SimTime observed_until() const override { return planned_ ? now_ : kNever; }
  bool wants_pass() const override {
    return !planned_ && (batch().slots.running() > 0 || scheduler_.waiting() > 0);
  }

  bool deliver(RequestId r, SimTime time) override {
    const bool accepted = is_served(workload_, r, params_.max_model_len, allocator_);
    if (accepted) {
      const std::int32_t prompt = workload_.input[index(r)];
      batch().columns.goal[r] = prompt;
      known_tokens_ += prompt;
      scheduler_.join(r, time);
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
      KVPLAN_TRY_DO(scheduler_.decide(now));
    } while (scheduler_.pass().load.requests == 0);  // all requests that could have computed were preempted
    decode_run_ = scheduler_.only_grants_follow();
    series_ = choose_series();
    if (series_.first.count == 0) series_.steps = 1;  // others may act at this tick between such steps
    if (plan(series_.steps)) return Done{};
    const std::int64_t beyond = steps_to_reach(series_, kLastTick - now_.since_start.count + 1);
    return beyond > 1 && plan(beyond - 1) ? Status(Done{}) : time_is_up();
  }

  void end_steps(std::vector<RequestId>& ended) override {
    planned_ = false;
    const Pass& pass = scheduler_.pass();
    scheduler_.moves().computes(series_.duration(series_.steps - 1) - pass.delay);
    if (decode_run_) scheduler_.grant_ahead(series_.steps);
    if (!decode_run_ || scheduler_.granting_passes().empty()) {
      const Steps steps{pass, series_, end_};
      for (Observer* o : run_.observers) o->on_steps(steps);
    } else {
      const DecodeRun decode_run{pass, series_, scheduler_.granting_passes(), scheduler_.granted_ahead(),
                                 end_};
      for (Observer* o : run_.observers) o->on_decode_run(decode_run);
      scheduler_.set_pool(scheduler_.granting_passes().back().pool);
    }
    now_ = end_;
    for (const auto& [time, r, accepted] : arrived_)
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
    arrived_.clear();
    if (scheduler_.moves().end(now_)) scheduler_.set_pool(allocator_.counts());
    finish_steps(series_.steps, ended);
  }

  void end() override {
    KVPLAN_CHECK(!planned_ && !wants_pass(), batch().slots.running());
    for (Observer* o : run_.observers) o->on_end(last_end_);
  }

  Load load(SimTime now) const override {
    Load load{.running = batch().slots.running(),
              .waiting = scheduler_.waiting(),
              .tokens = known_tokens_,
              .blocks = scheduler_.pass().pool.held};
    if (!planned_ || series_.steps == 1 || now == now_) return load;
    // A token counts from the end of its step; a scheduler step between steps comes after all other events at its
    // time.
    const std::int64_t distance = (now - now_).count;
    const std::int64_t ended = steps_ended(series_, distance);
    load.tokens += ended * batch().sums.requests;
    if (decode_run_) load.blocks += scheduler_.alloc_units_ahead(steps_ended(series_, distance - 1));
    return load;
  }
  std::int64_t cached_tokens(RequestId r) const override {
    KVPLAN_CHECK(run_.contents_asked, r);
    return contents_ == nullptr ? 0
                                : contents_->cached_tokens(r, run_.lookup_tokens(workload_.input[index(r)]));
  }

  void on_insert(RequestId request, std::int64_t logical_block, BlockId block) override {
    for (Observer* o : run_.observers) o->on_insert(request, logical_block, block);
  }
  void on_evict_block(BlockId block) override {
    for (Observer* o : run_.observers) o->on_evict_block(block);
  }

 private:
  Batch& batch() { return scheduler_.batch(); }
  [[nodiscard]] const Batch& batch() const { return scheduler_.batch(); }

  // ---- planning ----

  /// Plans `steps` steps of `series_`. False: they would end too late.
  bool plan(std::int64_t steps) {
    const Wide span = series_.span(steps);
    if (span > kLastTick - now_.since_start.count) return false;
    series_.steps = steps;
    end_ = now_ + Ticks{static_cast<std::int64_t>(span)};
    return planned_ = true;
  }

  /// REQUIRES: decode_run_ is the present value of only_grants_follow().
  [[nodiscard]] StepSeries choose_series() {
    const Pass& pass = scheduler_.pass();
    if (!scheduler_.alike()) return {run_.latency->step(pass.load) + pass.delay, Ticks{0}, 1};
    return run_.latency->decode_series(pass.load, pass.growth, scheduler_.alike_steps(decode_run_));
  }

  // ---- the end of a step ----

  struct Visit {
    std::int64_t rank;
    Slot slot;
    std::int64_t tokens;  ///< prompt tokens in this step; 0 for decoding requests
    bool operator<(const Visit& other) const { return rank < other.rank; }
  };

  void finish_steps(std::int64_t steps, std::vector<RequestId>& ended) {
    last_end_ = now_;
    batch().advance(steps);
    known_tokens_ += batch().sums.requests * steps;
    gather_visits();
    finishing_.clear();
    for (const Visit& visit : visits_) {
      const SlotState& s = batch().at(visit.slot);
      const std::int64_t held = s.decoding ? batch().tokens_held(s) : s.computed + visit.tokens;
      if (held == workload_.final_tokens(s.request)) finishing_.push_back(s.request);
    }
    for (Observer* o : run_.observers) o->on_step_end(now_, finishing_);
    for (const Visit& visit : visits_) settle(visit, ended);
    if (!visits_.empty()) scheduler_.set_pool(allocator_.counts());  // otherwise nothing was freed
    for (Observer* o : run_.observers) o->on_settled(now_, scheduler_.pass().pool);
  }

  /// Collects the requests that end, drop cells, free blocks or have computed a piece of their prompt, in scheduling
  /// order.
  void gather_visits() {
    visits_.clear();
    for (const Slot slot : batch().following.members()) {
      const SlotState& s = batch().at(slot);
      const std::int64_t held = batch().tokens_held(s);
      if (held == workload_.final_tokens(s.request) || s.course->returns_blocks(held) ||
          begins_to_drop(s, held))
        visits_.push_back({s.rank, slot, 0});
    }
    for (const auto& [slot, tokens] : scheduler_.pieces())
      visits_.push_back({batch().at(slot).rank, slot, tokens});
    while (batch().dues.due(batch().step)) {
      const Slot slot = batch().dues.take();
      visits_.push_back({batch().at(slot).rank, slot, 0});
    }
    if (batch().sums.sliding > 0 && batch().grows) {
      // Their tokens minus `recent` are a multiple of the block size, so the next drop completes a block.
      const Slot first = batch().phases.first(batch().step - run_.keep.recent);
      for (Slot slot = first; slot != kNoSlot; slot = batch().at(slot).phase_next) {
        const SlotState& s = batch().at(slot);
        if (s.sliding && batch().tokens_held(s) != workload_.final_tokens(s.request))
          visits_.push_back({s.rank, slot, 0});
      }
    }
    if (visits_.size() > 1) std::sort(visits_.begin(), visits_.end());
  }

  void settle(const Visit& visit, std::vector<RequestId>& ended) {
    SlotState& s = batch().at(visit.slot);
    const RequestId r = s.request;
    if (!s.decoding) {
      s.computed += visit.tokens;
      if (s.computed < s.goal) return;
      ++known_tokens_;
      if ((batch().columns.seen[r] & kGenerated) == 0) {
        batch().columns.seen[r] |= kGenerated;
        for (Observer* o : run_.observers) o->on_first_token(now_, r);
      }
    }
    const std::int64_t held = batch().tokens_held(s);
    if (held == workload_.final_tokens(r)) {
      const BlockTable table = allocator_.table(r);
      for (Observer* o : run_.observers) o->on_finish(now_, Release{r, held, table.alloc_units, table.ids});
      allocator_.release(r, held);
      if (contents_ != nullptr) contents_->forget(r);
      batch().leave(visit.slot);
      if (run_.courses != nullptr) run_.courses->end(r);
      const std::size_t i = index(r);
      known_tokens_ -= std::int64_t{workload_.input[i]} + workload_.output[i];
      ended.push_back(r);
      if (run_.control != nullptr) run_.control->requests_done.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (!s.decoding) {
      batch().begin_decoding(visit.slot);
    } else if (batch().reads.part()) {
      batch().change_reads(visit.slot, held);
    }
    if (s.course != nullptr) {
      if (begins_to_drop(s, held)) {
        s.sliding = true;
        contents_->close(r, held);
      }
      if (const auto moved = s.course->compaction(held)) scheduler_.moves().compact(r, held, *moved);
      const auto blocks = s.course->freed_entries(held);
      if (!blocks.empty()) free_entries({r, held, blocks, table_of(r)});
      return;
    }
    if (run_.keep.evicts() && held > run_.keep.sink + run_.keep.recent) drop(visit.slot, held);
  }

  /// True: a request with a course has dropped its first cell since its admission. Called if that closes its contents.
  [[nodiscard]] bool begins_to_drop(const SlotState& s, std::int64_t held) const {
    return run_.courses_find && !s.sliding && s.course->has_dropped(held);
  }

  /// REQUIRES: the request drops its first cell since its admission, or a cell that completes an allocation unit.
  void drop(Slot slot, std::int64_t held) {
    const SlotState& s = batch().at(slot);
    const std::int64_t begin = held - run_.keep.recent;
    const bool first = !s.sliding;
    KVPLAN_CHECK(first || (batch().grows && begin % batch().alloc_unit_tokens == 0), begin,
                 batch().alloc_unit_tokens);
    const std::int64_t begin_before = first ? run_.keep.sink : begin - 1;
    if (first && contents_ != nullptr) contents_->close(s.request, held);
    const Drop drop{s.request, run_.keep.sink, begin_before, begin, table_of(s.request)};
    for (Observer* o : run_.observers) o->on_drop(drop);
    const KeepRule::Emptied emptied = run_.keep.emptied(begin_before, begin, batch().alloc_unit_tokens);
    if (batch().grows && emptied.blocks() > 0) {
      entries_.resize(static_cast<std::size_t>(emptied.blocks()));
      std::iota(entries_.rbegin(), entries_.rend(), static_cast<std::int32_t>(emptied.first));
      free_entries({s.request, held, entries_, drop.table});
    }
    if (first) {
      batch().begin_sliding(slot, held);
    } else {
      batch().sums.free_unit(held);
    }
  }

  void free_entries(const FreedBlocks& gone) {
    for (Observer* o : run_.observers) o->on_free_blocks(gone);
    allocator_.block_returns()->free_entries(gone.request, gone.entries);
  }
  [[nodiscard]] std::span<const BlockId> table_of(RequestId r) const {
    return ids_ ? allocator_.table(r).ids : std::span<const BlockId>();
  }

  const ReplicaSetup run_;
  const Params params_;
  const Workload& workload_;
  Allocator& allocator_;
  Contents* contents_;  // may be null
  bool ids_;            // blocks have ids
  Scheduler scheduler_;

  SimTime now_{};       // time of the latest scheduler step, or of the end of a step
  SimTime last_end_{};  // end of the latest step
  bool planned_{false};
  bool decode_run_{false};  // scheduler steps lie between the planned steps
  StepSeries series_;       // the planned steps
  SimTime end_{};
  struct Arrived {
    SimTime time;
    RequestId request;
    bool accepted;
  };
  std::vector<Arrived> arrived_;  // arrivals since the planned steps began
  std::int64_t known_tokens_{0};  // prompt and generated tokens of all requests that run or wait
  std::vector<Visit> visits_;
  std::vector<RequestId> finishing_;
  std::vector<std::int32_t> entries_;  // entries of blocks that a keep rule leaves empty
};

}  // namespace

std::unique_ptr<core::Replica> make_fast_replica(const core::ReplicaSetup& setup, const Params& params,
                                                 core::Allocator& allocator) {
  return std::make_unique<FastReplica>(setup, params, allocator);
}

}  // namespace kvplan::scheduling::vllm
