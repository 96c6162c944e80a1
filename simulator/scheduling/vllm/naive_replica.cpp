// The replica that handles one request and one step at a time. It is written to be compared with the definition
// (simulator/docs/model.md, events.md, and vLLM's scheduler): no aggregates, no shortcuts. It is the reference for
// fast_replica.cpp and shares no code with it.
#include "simulator/scheduling/vllm/replicas.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "simulator/base/check.h"

namespace kvplan::scheduling::vllm {
namespace {

using namespace core;

/// A request that has been admitted at least once or waits.
struct State {
  SimTime arrival{};
  std::int64_t computed{0};    ///< tokens in the cache
  std::int64_t num_tokens{0};  ///< prompt and tokens generated so far
  std::int64_t generated{0};
  std::int64_t dropped_to{-1};  ///< cells [sink, dropped_to) are gone; -1 = nothing dropped since admission
  std::int64_t alloc_units_gone{0};  ///< allocation units of its table dropped since its admission
  bool admitted_before{false};
  bool prompt_done{false};  ///< the prompt (or what is recomputed) is whole since the latest admission
  const Course* course{nullptr};
};

class NaiveReplica final : public Replica, public BlockListener {
 public:
  NaiveReplica(const ReplicaSetup& run, const Params& params, Allocator& allocator)
      : run_(run),
        params_(params),
        workload_(*run.workload),
        allocator_(allocator),
        states_(static_cast<std::size_t>(workload_.size())),
        windows_(model::windows_of(allocator.layout().groups)) {
    KVPLAN_CHECK(windows_.size() <= kMostWindows);
    for (const Observer* observer : run.observers) {
      if (observer->wants_insertions() && allocator_.contents() != nullptr)
        allocator_.contents()->set_listener(this);
    }
  }
  ~NaiveReplica() override {
    if (allocator_.contents() != nullptr) allocator_.contents()->set_listener(nullptr);
  }

  SimTime step_end() const override { return in_step_ ? end_ : kNever; }
  SimTime observed_until() const override { return in_step_ ? pass_.time : kNever; }
  bool wants_pass() const override { return !in_step_ && !(running_.empty() && waiting_.empty()); }

  /// Arrivals during a step are reported before its end; the next scheduler step sees them.
  bool deliver(RequestId r, SimTime time) override {
    const std::size_t i = index(r);
    const std::int64_t length = static_cast<std::int64_t>(workload_.input[i]) + workload_.output[i];
    const bool accepted = workload_.input[i] > 0 && workload_.output[i] > 0 &&
                          length <= params_.max_model_len && allocator_.fits_empty(r);
    if (accepted) {
      state(r).num_tokens = workload_.input[i];
      state(r).arrival = time;
      wait(r, waiting_.end());
    }
    if (in_step_) {
      arrived_.emplace_back(time, r, accepted);
    } else {
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
    }
    return accepted;
  }

  Status pass(SimTime now) override {
    do {
      KVPLAN_TRY_DO(schedule(now));
    } while (scheduled_.empty());  // all requests that could have been scheduled were preempted
    computed_ = run_.latency->step(pass_.load);
    const Ticks duration = computed_ + pass_.delay;
    if (duration.count > kLastTick - now.since_start.count) return time_is_up();
    end_ = now + duration;
    in_step_ = true;
    return Done{};
  }

  void end_steps(std::vector<RequestId>& ended) override {
    in_step_ = false;
    const StepSeries one{end_ - pass_.time, Ticks{0}, 1};
    for (Observer* o : run_.observers) o->on_steps(Steps{pass_, one, end_});
    for (const auto& [time, r, accepted] : arrived_)
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
    arrived_.clear();
    end_copies(end_);
    finish_step(end_, ended);
  }

  void end() override {
    for (Observer* o : run_.observers) o->on_end(end_);
  }

  Load load(SimTime /*now*/) const override {
    Load load{.running = static_cast<std::int64_t>(running_.size()),
              .waiting = static_cast<std::int64_t>(waiting_.size()),
              .blocks = allocator_.counts().held};
    for (const RequestId r : running_) load.tokens += states_[index(r)].num_tokens;
    for (const RequestId r : waiting_) load.tokens += states_[index(r)].num_tokens;
    return load;
  }
  std::int64_t cached_tokens(RequestId r) const override {
    Contents* const contents = allocator_.contents();
    const std::int64_t told = std::max<std::int64_t>(workload_.input[index(r)] - (run_.prompt_rows - 1), 1);
    return contents == nullptr ? 0 : contents->cached_tokens(r, told);
  }

  void on_insert(RequestId request, std::int64_t logical_block, BlockId block) override {
    for (Observer* o : run_.observers) o->on_insert(request, logical_block, block);
  }
  void on_evict_block(BlockId block) override {
    for (Observer* o : run_.observers) o->on_evict_block(block);
  }

 private:
  struct Scheduled {
    RequestId request;
    std::int64_t tokens;
  };

  State& state(RequestId r) { return states_[index(r)]; }

  /// Reports the ranges that the allocator moved for its latest answer. True: the range of `r` was copied to grow.
  bool tell_moves(RequestId r) {
    bool grown = false;
    if (allocator_.placing() == nullptr) return grown;
    for (const RangeMove& range : allocator_.placing()->moves()) {
      const Move move{range, slots(state(range.request), state(range.request).computed)};
      for (Observer* o : run_.observers) o->on_move(move);
      copied_tokens_ += move.copied;
      if (!range.slides) copies_.push_back(move);
      grown = grown || (range.request == r && !range.slides);
    }
    return grown;
  }

  PrefixHit lookup(RequestId r, std::int64_t tokens) {
    if (allocator_.contents() == nullptr) return PrefixHit{};
    // The lookup leaves enough tokens to compute for the attention rows that a policy needs.
    const std::int64_t rows = run_.prompt_rows;
    return allocator_.contents()->lookup(r, std::max<std::int64_t>(tokens - (rows - 1), 1));
  }
  void insert(RequestId r, std::int64_t tokens) {
    if (allocator_.contents() != nullptr) allocator_.contents()->insert(r, tokens);
  }

  /// Frees the blocks that lie before the window of the next token, at position `computed`: group by group, in each
  /// the highest block first.
  void leave_windows(RequestId r) {
    if (windows_.empty()) return;
    const std::int64_t computed = state(r).computed;
    const MemoryLayout& layout = allocator_.layout();
    const BlockTable table = allocator_.table(r);
    const auto groups = static_cast<std::int64_t>(layout.groups.size());
    std::vector<std::int32_t> entries;
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t window = layout.groups[static_cast<std::size_t>(g)].window;
      if (window == 0) continue;
      for (std::int64_t b = table.alloc_units / groups - 1; b >= 0; --b) {
        const std::int64_t latest = (b + 1) * layout.alloc_unit_tokens - 1;
        if (latest > computed - window) continue;
        if (table.ids[static_cast<std::size_t>(b * groups + g)] == kNoBlock) break;  // so are all below it
        entries.push_back(static_cast<std::int32_t>(b * groups + g));
      }
    }
    if (!entries.empty()) free_entries(r, entries);
  }

  void free_entries(RequestId r, std::span<const std::int32_t> entries) {
    const auto table = allocator_.table(r).ids;
    for (Observer* o : run_.observers) o->on_free_blocks(FreedBlocks{r, state(r).computed, entries, table});
    allocator_.block_returns()->free_entries(r, entries);
  }

  void end_copies(SimTime end) {
    if (copies_.empty()) return;
    allocator_.placing()->end_copies();
    for (Observer* o : run_.observers) o->on_copies_end(end, copies_, allocator_.counts());
    copies_.clear();
  }

  void tell_grant(RequestId r, std::int64_t before, bool decoding) {
    const BlockTable table = allocator_.table(r);
    const std::int64_t after = table.alloc_units;
    if (after == before) return;
    const auto fresh = allocator_.layout().table_by_alloc_units() && allocator_.layout().block_ids()
                           ? table.ids.subspan(static_cast<std::size_t>(before))
                           : table.ids;
    if (decoding) {
      KVPLAN_CHECK(after == before + 1 || !allocator_.layout().block_ids(), after, before);
      const DecodeGrant grant{r, fresh.empty() ? kNoBlock : fresh.front(), before, after - before};
      for (Observer* o : run_.observers) o->on_decode_grants({&grant, 1});
    } else {
      const Grant grant{r, before, after - before, fresh, table.tensor_tokens};
      for (Observer* o : run_.observers) o->on_grant(grant);
    }
  }

  void preempt(RequestId victim) {
    State& s = state(victim);
    const BlockTable table = allocator_.table(victim);
    for (Observer* o : run_.observers)
      o->on_preempt(Release{victim, s.computed, table.alloc_units, table.ids});
    allocator_.release(victim, s.computed);
    end_course(victim);
    s.computed = 0;
    s.dropped_to = -1;
    s.alloc_units_gone = 0;
    wait(victim, waiting_.begin());
    ++pass_.preempted;
  }

  /// Puts the request into the queue at `where`; with priority scheduling, before the first request with a greater key.
  void wait(RequestId r, std::deque<RequestId>::iterator where) {
    const auto key = [this](RequestId q) {
      return std::tuple(workload_.priority_of(q), state(q).arrival, q);
    };
    if (params_.by_priority)
      where = std::find_if(waiting_.begin(), waiting_.end(), [&](RequestId q) { return key(r) < key(q); });
    waiting_.insert(where, r);
  }

  /// The request that is preempted first: the last of the running list. With priority scheduling: the one with the
  /// highest number; of these the latest arrival; of these the last in the trace.
  std::vector<RequestId>::iterator victim() {
    if (!params_.by_priority) return running_.end() - 1;
    return std::max_element(running_.begin(), running_.end(), [this](RequestId a, RequestId b) {
      return std::tuple(workload_.priority_of(a), state(a).arrival, a) <
             std::tuple(workload_.priority_of(b), state(b).arrival, b);
    });
  }

  /// Removes a victim from the step; returns the number of tokens that the step was to compute for it.
  std::int64_t undo(RequestId r) {
    const auto at = std::find_if(scheduled_.begin(), scheduled_.end(),
                                 [r](const Scheduled& s) { return s.request == r; });
    if (at == scheduled_.end()) return 0;
    const std::int64_t tokens = at->tokens;
    scheduled_.erase(at);
    return tokens;
  }

  /// Counts a request's tokens in this step, and inserts the blocks that they fill into the cache. `decoding`: it
  /// computes one token after a complete prompt, as for observers.
  void compute(RequestId r, std::int64_t tokens, bool decoding) {
    const State& s = state(r);
    insert(r, s.computed + tokens);
    std::int64_t read = s.dropped_to < 0 ? s.computed : run_.keep.kept(s.computed);
    if (run_.reads_holes) read = s.computed - s.alloc_units_gone * allocator_.layout().alloc_unit_tokens;
    if (s.course != nullptr && s.prompt_done) read = s.course->read_tokens(s.computed);
    if (run_.keeps_nothing) read = 0;
    const std::int64_t work = run_.keeps_nothing ? s.computed + tokens : tokens;
    pass_.load.requests += 1;
    pass_.load.tokens += work;
    pass_.load.context_tokens += read;
    pass_.load.add_pairs(StepLoad::pairs(read, work));
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      // A token sees itself and the tokens before it, up to the window.
      const auto unseen = [&](std::int64_t position) {
        return std::max<std::int64_t>(position + 1 - windows_[w].window, 0);
      };
      pass_.load.unseen[w].context_tokens += unseen(s.computed);
      for (std::int64_t token = s.computed; token < s.computed + tokens; ++token)
        pass_.load.unseen[w].add_pairs(unseen(token));
    }
    if (s.computed + tokens == s.num_tokens) ++pass_.sampled;
    if (decoding) {
      const std::int64_t seen = s.computed + 1;
      if (seen > run_.reads.fetched) pass_.load.unread_tokens += seen - run_.reads.fetched;
      if (seen > run_.reads.ranked_beyond) pass_.load.ranked_tokens += seen;
      ++pass_.decoding;
    } else {
      for (Observer* o : run_.observers) o->on_chunk(Chunk{r, s.computed, tokens});
    }
  }

  /// Slots that the table of a request needs for `tokens` tokens.
  static std::int64_t slots(const State& s, std::int64_t tokens) {
    return s.course == nullptr ? tokens : s.course->table_slots(tokens);
  }

  Status begin_course(RequestId r) {
    if (run_.courses == nullptr) return Done{};
    KVPLAN_TRY(state(r).course, run_.courses->begin(r, state(r).num_tokens));
    for (Observer* o : run_.observers) o->on_course(r, *state(r).course);
    return Done{};
  }

  void end_course(RequestId r) {
    if (run_.courses != nullptr) run_.courses->end(r);
    state(r).course = nullptr;
  }

  Status schedule(SimTime now) {
    pass_ = Pass{};
    pass_.time = now;
    scheduled_.clear();
    for (Observer* o : run_.observers) o->on_pass_begin(now);
    std::int64_t budget = params_.token_budget;

    std::size_t i = 0;
    bool refused = false;
    for (; i < running_.size(); ++i) {
      const RequestId r = running_[i];
      State& s = state(r);
      if (budget == 0) break;
      const std::int64_t tokens = piece(s.num_tokens - s.computed, budget);
      leave_windows(r);
      const std::int64_t before = allocator_.table(r).alloc_units;
      while (!refused && !allocator_.grow(r, slots(s, s.computed + tokens))) {
        pass_.refuse(allocator_.refusal());
        const auto victim_at = victim();
        const RequestId gone = *victim_at;
        if (static_cast<std::size_t>(victim_at - running_.begin()) < i) --i;
        running_.erase(victim_at);
        budget += undo(gone);
        preempt(gone);
        refused = gone == r;
      }
      if (refused) break;  // the requests after it are not scheduled either
      if (!tell_moves(r)) tell_grant(r, before, s.prompt_done && allocator_.growth_tokens() > 0);
      scheduled_.push_back({r, tokens});
      if (!params_.by_priority) compute(r, tokens, s.prompt_done);
      budget -= tokens;
    }
    for (; refused && i < running_.size(); ++i)
      if (state(running_[i]).prompt_done)
        for (Observer* o : run_.observers) o->on_hold_back(running_[i]);
    if (params_.by_priority)  // until here, a scheduled request may be preempted
      for (const auto& [r, tokens] : scheduled_) compute(r, tokens, state(r).prompt_done);

    while (pass_.preempted == 0 && !waiting_.empty() && budget > 0 &&
           static_cast<std::int64_t>(running_.size()) < params_.max_seqs) {
      const RequestId r = waiting_.front();
      State& s = state(r);
      const PrefixHit found = lookup(r, s.num_tokens);
      const std::int64_t tokens = piece(s.num_tokens - found.tokens, budget);
      if (!allocator_.admit(r, found, found.tokens + tokens, s.num_tokens)) {
        pass_.refuse(allocator_.refusal());
        break;
      }
      tell_moves(r);
      waiting_.pop_front();
      running_.push_back(r);
      const auto table = allocator_.table(r).ids;
      const MemoryLayout& layout = allocator_.layout();
      const std::int64_t hit_blocks =
          found.tokens / layout.alloc_unit_tokens * std::max<std::int64_t>(std::ssize(layout.groups), 1);
      for (Observer* o : run_.observers)
        o->on_admit(Admission{r, s.admitted_before, found.tokens,
                              table.subspan(0, static_cast<std::size_t>(hit_blocks))});
      KVPLAN_TRY_DO(begin_course(r));
      s.admitted_before = true;
      s.prompt_done = false;
      s.computed = found.tokens;
      tell_grant(r, hit_blocks, false);
      scheduled_.push_back({r, tokens});
      compute(r, tokens, false);
      budget -= std::min(tokens, budget);
    }

    pass_.running = static_cast<std::int64_t>(running_.size());
    pass_.waiting = static_cast<std::int64_t>(waiting_.size());
    pass_.pool = allocator_.counts();
    // Every scheduler step makes progress, or the one after a step that only preempted does: no livelock.
    KVPLAN_CHECK(pass_.load.requests > 0 || pass_.preempted > 0, pass_.running, pass_.waiting);
    if (allocator_.placing() != nullptr && !scheduled_.empty()) {
      pass_.delay = allocator_.placing()->take_delay(copied_tokens_, computed_);
      copied_tokens_ = 0;
    }
    if (!scheduled_.empty()) {
      pass_.delay = pass_.delay + run_.latency->moving(compacted_cells_ * allocator_.layout().cell_bytes());
      compacted_cells_ = 0;
    }
    for (Observer* o : run_.observers) o->on_pass_end(pass_);
    return Done{};
  }

  /// Tokens of a request's next piece. If no KV is kept, a later piece could not continue, so pieces are whole.
  [[nodiscard]] std::int64_t piece(std::int64_t wanted, std::int64_t budget) const {
    if (run_.keeps_nothing) return wanted;
    const std::int64_t threshold = params_.long_prefill_threshold;
    if (threshold > 0 && wanted > threshold) wanted = threshold;
    return wanted < budget ? wanted : budget;
  }

  void finish_step(SimTime end, std::vector<RequestId>& ended) {
    std::vector<RequestId> finishing;
    for (const auto& [r, tokens] : scheduled_) {
      if (state(r).computed + tokens == workload_.final_tokens(r)) finishing.push_back(r);
    }
    for (Observer* o : run_.observers) o->on_step_end(end, finishing);
    for (const auto& [r, tokens] : scheduled_) {
      State& s = state(r);
      s.computed += tokens;
      if (s.computed < s.num_tokens) continue;  // the prompt is not whole yet
      s.prompt_done = true;
      ++s.generated;
      ++s.num_tokens;
      if (s.generated == 1)
        for (Observer* o : run_.observers) o->on_first_token(end, r);
      if (s.generated == workload_.output[index(r)]) {
        finish(end, r);
        ended.push_back(r);
      } else if (s.course != nullptr) {
        follow_course(r);
      } else {
        apply_keep_rule(r);
      }
    }
    for (Observer* o : run_.observers) o->on_settled(end, allocator_.counts());
  }

  void finish(SimTime end, RequestId r) {
    const BlockTable table = allocator_.table(r);
    for (Observer* o : run_.observers)
      o->on_finish(end, Release{r, state(r).computed, table.alloc_units, table.ids});
    allocator_.release(r, state(r).computed);
    if (allocator_.contents() != nullptr) allocator_.contents()->forget(r);
    end_course(r);
    std::erase(running_, r);
    if (run_.control != nullptr) run_.control->requests_done.fetch_add(1, std::memory_order_relaxed);
  }

  void follow_course(RequestId r) {
    const State& s = state(r);
    if (run_.courses_find && s.course->has_dropped(s.computed)) allocator_.contents()->close(r, s.computed);
    if (const auto moved = s.course->compaction(s.computed)) {
      allocator_.block_returns()->cut_table(r, moved->alloc_units);
      compacted_cells_ += moved->kept_cells;
      for (Observer* o : run_.observers) o->on_compact(Compacted{r, s.computed, *moved});
    }
    const auto blocks = s.course->freed_entries(s.computed);
    if (!blocks.empty()) free_entries(r, blocks);
  }

  void apply_keep_rule(RequestId r) {
    State& s = state(r);
    const KeepRule& keep = run_.keep;
    if (!keep.evicts() || s.computed <= keep.sink + keep.recent) return;
    const std::int64_t begin = s.computed - keep.recent;
    const bool first = s.dropped_to < 0;
    const std::int64_t begin_before = first ? keep.sink : s.dropped_to;
    s.dropped_to = begin;
    const MemoryLayout& layout = allocator_.layout();
    if (allocator_.contents() != nullptr) allocator_.contents()->close(r, s.computed);
    if (first || (layout.returns_alloc_units() && begin % layout.alloc_unit_tokens == 0)) {
      const auto table = allocator_.table(r).ids;
      for (Observer* o : run_.observers) o->on_drop(Drop{r, keep.sink, begin_before, begin, table});
    }
    if (allocator_.block_returns() == nullptr) return;
    // Blocks with neither a kept nor an unwritten cell are freed, the highest first.
    std::vector<std::int32_t> entries;
    const std::int64_t q = layout.alloc_unit_tokens;
    for (std::int64_t b = begin / q - 1; b >= 0 && b * q >= keep.sink; --b) {
      if ((b + 1) * q <= begin_before) break;  // freed before, like all below it
      entries.push_back(static_cast<std::int32_t>(b));
    }
    s.alloc_units_gone += std::ssize(entries);
    if (!entries.empty()) free_entries(r, entries);
  }

  const ReplicaSetup run_;
  const Params params_;
  const Workload& workload_;
  Allocator& allocator_;
  std::vector<State> states_;
  std::vector<model::WindowLayers> windows_;  // windows of layer groups
  std::vector<RequestId> running_;            // in admission order
  std::deque<RequestId> waiting_;
  std::vector<Scheduled> scheduled_;                           // of the current step, in scheduling order
  std::vector<std::tuple<SimTime, RequestId, bool>> arrived_;  // during the step in progress; accepted?
  bool in_step_{false};
  SimTime end_{};             // end of the step in progress, or of the latest one
  std::vector<Move> copies_;  // copies that end with the current step
  std::int64_t copied_tokens_{0};
  std::int64_t compacted_cells_{0};  // cells compacted at the end of the latest step
  Ticks computed_{};                 // duration of the latest step, without the time added by placing
  Pass pass_{};
};

}  // namespace

std::unique_ptr<core::Replica> make_naive_replica(const core::ReplicaSetup& setup, const Params& params,
                                                  core::Allocator& allocator) {
  return std::make_unique<NaiveReplica>(setup, params, allocator);
}

}  // namespace kvplan::scheduling::vllm
