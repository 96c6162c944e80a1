#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/prefix/request_tokens.h"
#include "simulator/scheduling/fast/decode_load.h"
#include "simulator/scheduling/sglang/radix_memory.h"
#include "simulator/scheduling/sglang/replicas.h"
#include "simulator/scheduling/sglang/scheduler.h"

namespace kvplan::scheduling::sglang {
namespace {

using namespace core;

class FastReplica final : public Replica {
 public:
  FastReplica(const ReplicaSetup& run, const Params& params, RadixMemory& memory)
      : run_(run),
        workload_(*run.workload),
        memory_(memory),
        page_(memory.layout().alloc_unit_tokens),
        scheduler_(params, memory.pool()) {
    KVPLAN_CHECK(!run.keep.evicts() && !run.keeps_nothing && run.courses == nullptr);
    // Steps planned ahead take pages and are reported together, so every observer must follow decode runs.
    for (const Observer* observer : run.observers) runs_ = runs_ && observer->follows_decode_runs();
    const bool told = std::any_of(run.observers.begin(), run.observers.end(),
                                  [](const Observer* o) { return o->wants_insertions(); });
    memory_.pool().tell_evicted(told ? &evicted_ : nullptr);
    KVPLAN_CHECK(!params.chunk_tokens || *params.chunk_tokens % page_ == 0, page_);
  }

  SimTime step_end() const override { return in_step_ ? end_ : kNever; }
  SimTime observed_until() const override { return in_step_ ? pass_.time : kNever; }
  /// Also true when the last requests have ended: the scheduler notices that in a step of its own.
  bool wants_pass() const override { return !in_step_ && (unfinished_ > 0 || scheduler_.running() > 0); }

  bool deliver(RequestId r, SimTime time) override {
    const std::size_t i = index(r);
    const bool accepted = workload_.input[i] > 0 && workload_.output[i] > 0 && memory_.fits_empty(r);
    if (accepted) join(r);
    if (!in_step_) {
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
      return accepted;
    }
    arrived_.emplace_back(time, r, accepted);
    const std::int64_t steps = steps_to_reach(series_, (time - pass_.time).count);
    if (steps < series_.steps) plan(steps);
    return accepted;
  }

  Status pass(SimTime now) override {
    while (true) {
      const StepKind kind = decide(now);
      if (kind != StepKind::kIdle) break;
      if (scheduler_.waiting().empty()) return Done{};
      if (idle_before_) return stuck(scheduler_.waiting().front()->id);
      idle_before_ = true;
    }
    idle_before_ = false;
    if (pass_.load.tokens == 0) return stuck(scheduler_.chunked()->id);
    series_ = choose_series();
    in_step_ = plan(series_.steps) || plan(1);
    return in_step_ ? Status(Done{}) : time_is_up();
  }

  void end_steps(std::vector<RequestId>& ended) override {
    in_step_ = false;
    tell_steps();
    for (const auto& [time, r, accepted] : arrived_)
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
    arrived_.clear();
    const auto outcomes = scheduler_.end_step();
    finishing_.clear();
    for (const Outcome& outcome : outcomes)
      if (outcome.ended) finishing_.push_back(outcome.request);
    for (Observer* o : run_.observers) o->on_step_end(end_, finishing_);
    for (const Outcome& outcome : outcomes) settle_outcome(outcome, ended);
    for (Observer* o : run_.observers) o->on_settled(end_, memory_.counts());
  }

  void end() override {
    for (Observer* o : run_.observers) o->on_end(end_);
  }

  Load load(SimTime now) const override {
    const auto waiting = static_cast<std::int64_t>(scheduler_.waiting().size());
    Load load{.running = unfinished_ - waiting,
              .waiting = waiting,
              .tokens = known_tokens_,
              .blocks = memory_.counts().held};
    if (!in_step_ || series_.steps == 1 || now == pass_.time) return load;
    // A token counts from the end of its step; a scheduler step between steps comes after all other events at its
    // time.
    const std::int64_t distance = (now - pass_.time).count;
    load.tokens += steps_ended(series_, distance) * pass_.decoding;
    const std::int64_t passes = steps_ended(series_, distance - 1);
    for (const Decoding& d : decoding_)
      load.blocks += ceil_div(d.written + passes, page_) - ceil_div(d.written, page_);
    return load;
  }
  std::int64_t cached_tokens(RequestId r) const override {
    if (!memory_.pool().prefix_cache()) return 0;
    const std::int64_t prompt = workload_.input[index(r)];
    return memory_.pool().tree().peek(prefix::request_tokens(workload_, r), prompt - 1);
  }

 private:
  /// The tokens of a running request.
  struct Own {
    std::int64_t written{0};  ///< tokens in the cache at the end of the step
    std::int64_t in_tree{0};  ///< tokens of its first pages that belong to the tree; whole pages
  };
  struct Decoding {
    RequestId request{0};
    std::int64_t written{0};  ///< tokens in the cache when the first planned step ends
  };

  /// Plans `steps` steps of `series_`. False: they would end too late.
  bool plan(std::int64_t steps) {
    const Wide span = series_.span(steps);
    if (span > kLastTick - pass_.time.since_start.count) return false;
    series_.steps = steps;
    end_ = pass_.time + Ticks{static_cast<std::int64_t>(span)};
    return true;
  }

  [[nodiscard]] StepSeries choose_series() const {
    const std::int64_t most = runs_ && !pass_.refused ? scheduler_.alike_steps(kPagesToldAtOnce) : 1;
    if (most == 1) return {run_.latency->step(pass_.load), Ticks{0}, 1};
    StepSeries series = run_.latency->decode_series(pass_.load, pass_.growth, most);
    if (series.first.count == 0) series.steps = 1;  // other replicas may act at this tick between such steps
    return series;
  }

  /// Sorts requests by the step, counted from this one and modulo the page, before which each needs a page: those of
  /// step s are by_page_[page_begins_[s], page_begins_[s + 1]), in batch order.
  void sort_by_page() {
    const auto step_of = [&](const Decoding& d) {
      return static_cast<std::size_t>((page_ - (d.written - 1) % page_) % page_);
    };
    page_begins_.assign(static_cast<std::size_t>(page_) + 2, 0);
    for (const Decoding& d : decoding_) ++page_begins_[step_of(d) + 2];
    std::partial_sum(page_begins_.begin(), page_begins_.end(), page_begins_.begin());
    by_page_.resize(decoding_.size());
    for (const Decoding& d : decoding_)
      by_page_[static_cast<std::size_t>(page_begins_[step_of(d) + 1]++)] = d;
  }

  /// Reports the planned steps up to the end of the last; for those after the first, also the pages that they took.
  void tell_steps() {
    const std::int64_t steps = series_.steps;
    passes_.clear();
    grants_.clear();
    PoolCounts pool = pass_.pool;
    if (steps > 1) sort_by_page();
    for (std::int64_t step = 1; step < steps; ++step) {
      const auto residue = static_cast<std::size_t>(step % page_);
      const std::int64_t taken = page_begins_[residue + 1] - page_begins_[residue];
      if (taken == 0) continue;
      for (std::int64_t i = page_begins_[residue]; i < page_begins_[residue + 1]; ++i) {
        const Decoding& d = by_page_[static_cast<std::size_t>(i)];
        grants_.push_back({d.request, kNoBlock, (d.written - 1 + step) / page_});
      }
      pool.free -= taken;
      pool.held += taken;
      passes_.push_back({step, taken, pool});
    }
    if (steps > 1) {
      scheduler_.decode_on(steps);
      for (const Decoding& d : decoding_) own_.at(d.request).written += steps - 1;
      known_tokens_ += (steps - 1) * pass_.decoding;
    }
    if (passes_.empty()) {
      for (Observer* o : run_.observers) o->on_steps(Steps{pass_, series_, end_});
    } else {
      for (Observer* o : run_.observers) o->on_decode_run(DecodeRun{pass_, series_, passes_, grants_, end_});
    }
  }

  void join(RequestId r) {
    const std::size_t i = index(r);
    const std::int64_t prompt = workload_.input[i], output = workload_.output[i];
    const std::int64_t stated = workload_.max_tokens.empty() ? -1 : workload_.max_tokens[i];
    Request request;
    request.id = r;
    request.prompt_tokens = prompt;
    request.output_tokens = output;
    request.max_new = std::min(std::max(stated, output), memory_.most_tokens() - prompt - 1);
    request.tokens = prefix::request_tokens(workload_, r);
    scheduler_.join(std::move(request));
    ++unfinished_;
    known_tokens_ += prompt;
  }

  StepKind decide(SimTime now) {
    pass_ = Pass{};
    pass_.time = now;
    decoding_.clear();
    for (Observer* o : run_.observers) o->on_pass_begin(now);
    const Request* const chunked = scheduler_.chunked();
    const std::int64_t prefilled = chunked != nullptr ? chunked->fill_tokens : 0;
    const RequestId chunked_id = chunked != nullptr ? chunked->id : kNoRequest;
    const Decision& decision = scheduler_.begin_step();
    if (chunked_id != kNoRequest) tell_settled(chunked_id, prefilled);
    if (decision.refused) pass_.refuse(Refusal::kTooShort);
    for (const RequestId r : decision.retracted) tell_retracted(r);
    // No request held the evicted pages when the step began, or after its retractions, and no joining request has hit
    // them.
    for (const prefix::RadixTree::Pages& pages : evicted_)
      for (Observer* o : run_.observers) o->on_evict_pages(pages.first, pages.count);
    evicted_.clear();
    if (decision.kind == StepKind::kDecode) {
      schedule_decodes(decision);
    } else {
      for (const Share& share : decision.batch) schedule_piece(share);
    }
    pass_.waiting = static_cast<std::int64_t>(scheduler_.waiting().size());
    pass_.running = unfinished_ - pass_.waiting;
    pass_.pool = memory_.counts();
    for (Observer* o : run_.observers) o->on_pass_end(pass_);
    return decision.kind;
  }

  void tell_retracted(RequestId r) {
    const Own own = own_.at(r);
    own_.erase(r);
    ++pass_.preempted;
    for (Observer* o : run_.observers)
      o->on_preempt(Release{r, own.written, ceil_div(own.written, page_), {}, own.in_tree});
  }

  void schedule_piece(const Share& share) {
    const RequestId r = share.request;
    if (share.admitted) {
      own_[r] = {share.hit_tokens, share.hit_tokens};
      bool& before = admitted_[r];
      for (Observer* o : run_.observers) o->on_admit(Admission{r, before, share.hit_tokens, {}});
      before = true;
    }
    Own& own = own_.at(r);
    const std::int64_t from = own.written, to = from + share.tokens;
    const std::int64_t first = ceil_div(from, page_), pages = ceil_div(to, page_) - first;
    if (pages > 0)
      for (Observer* o : run_.observers) o->on_grant(Grant{r, first, pages, {}});
    for (Observer* o : run_.observers) o->on_chunk(Chunk{r, from, share.tokens});
    add_piece(pass_, from, share.tokens);
    const Request* const chunked = scheduler_.chunked();
    if (chunked == nullptr || chunked->id != r) ++pass_.sampled;
    own.written = to;
  }

  void schedule_decodes(const Decision& decision) {
    grants_.clear();
    for (const Share& share : decision.batch) {
      Own& own = own_.at(share.request);
      if (own.written % page_ == 0) grants_.push_back({share.request, kNoBlock, own.written / page_});
      pass_.load.context_tokens += own.written;
      ++own.written;
      decoding_.push_back({share.request, own.written});
    }
    if (!grants_.empty())
      for (Observer* o : run_.observers) o->on_decode_grants(grants_);
    const auto requests = static_cast<std::int64_t>(decision.batch.size());
    pass_.load.requests = requests;
    pass_.load.tokens = requests;
    pass_.load.add_pairs(Wide{pass_.load.context_tokens} + requests);
    pass_.growth = LoadGrowth::of_contexts(requests);
    pass_.decoding = requests;
    pass_.sampled = requests;
  }

  /// Reports that the request's first `tokens` tokens, as whole pages, have been put into the tree.
  void tell_settled(RequestId r, std::int64_t tokens) {
    if (!memory_.pool().prefix_cache()) return;
    Own& own = own_.at(r);
    const std::int64_t whole = tokens / page_ * page_;
    if (whole > own.in_tree)
      for (Observer* o : run_.observers) o->on_settle(Settled{r, own.in_tree, whole});
    own.in_tree = whole;
  }

  void settle_outcome(const Outcome& outcome, std::vector<RequestId>& ended) {
    const RequestId r = outcome.request;
    const std::size_t i = index(r);
    ++known_tokens_;
    if (outcome.first)
      for (Observer* o : run_.observers) o->on_first_token(end_, r);
    if (!outcome.ended) {
      if (outcome.prefilled) tell_settled(r, own_.at(r).written);
      return;
    }
    const Own own = own_.at(r);
    for (Observer* o : run_.observers)
      o->on_finish(end_, Release{r, own.written, ceil_div(own.written, page_), {}, own.in_tree});
    own_.erase(r);
    admitted_.erase(r);
    --unfinished_;
    known_tokens_ -= std::int64_t{workload_.input[i]} + workload_.output[i];
    ended.push_back(r);
    if (run_.control != nullptr) run_.control->requests_done.fetch_add(1, std::memory_order_relaxed);
  }

  /// An error that cannot occur with chunks of whole pages and requests that fit an empty pool.
  [[nodiscard]] static Error stuck(RequestId r) {
    return bad_input("request " + std::to_string(number(r)) +
                     " waits forever, as it does in SGLang: no step has room for it");
  }

  /// A run of steps ends after about this many pages, so that reports do not grow with the number of requests.
  static constexpr std::int64_t kPagesToldAtOnce = std::int64_t{1} << 14;

  bool runs_{true};  // alike steps are planned and reported at once
  const ReplicaSetup run_;
  const Workload& workload_;
  RadixMemory& memory_;
  std::int64_t page_;
  Scheduler scheduler_;
  std::unordered_map<RequestId, Own> own_;        // of requests that hold memory
  std::unordered_map<RequestId, bool> admitted_;  // before, of requests that have not ended
  std::int64_t unfinished_{0};
  std::int64_t known_tokens_{0};  // prompt and generated tokens of all requests that run or wait
  bool in_step_{false};
  bool idle_before_{false};
  StepSeries series_;  // the planned steps
  SimTime end_{};      // end of the planned steps, or of the latest step
  Pass pass_{};
  std::vector<Decoding> decoding_;  // requests that decode in this step, in its order
  std::vector<Decoding> by_page_;   // the same requests, sorted by sort_by_page
  std::vector<std::int64_t> page_begins_;
  std::vector<DecodeGrant> grants_;
  std::vector<GrantingPass> passes_;  // of the run that is reported next
  std::vector<RequestId> finishing_;
  std::vector<prefix::RadixTree::Pages> evicted_;              // in this step, if an observer wants to know
  std::vector<std::tuple<SimTime, RequestId, bool>> arrived_;  // during the step in progress; accepted?
};

}  // namespace

std::unique_ptr<core::Replica> make_fast_replica(const core::ReplicaSetup& setup, const Params& params,
                                                 RadixMemory& memory) {
  return std::make_unique<FastReplica>(setup, params, memory);
}

}  // namespace kvplan::scheduling::sglang
