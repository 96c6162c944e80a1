// SGLang's scheduler with time, one step at a time: no aggregates, no shortcuts. naive_scheduler.cpp decides what a
// step does.
#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/scheduling/sglang/naive_scheduler.h"
#include "simulator/scheduling/sglang/replicas.h"

namespace kvplan::scheduling::sglang {
namespace {

using namespace core;

class NaiveReplica final : public Replica {
 public:
  NaiveReplica(const ReplicaSetup& run, const Params& params, NaiveMemory& memory)
      : run_(run), workload_(*run.workload), memory_(memory), scheduler_(params, memory) {
    KVPLAN_CHECK(!run.keep.evicts() && !run.keeps_nothing && run.courses == nullptr);
    KVPLAN_CHECK(!params.chunk_tokens || *params.chunk_tokens % memory.page_tokens() == 0);
    for (const Observer* observer : run.observers)
      evictions_wanted_ = evictions_wanted_ || observer->wants_insertions();
  }

  SimTime step_end() const override { return in_step_ ? end_ : kNever; }
  SimTime observed_until() const override { return in_step_ ? pass_.time : kNever; }
  /// Also true if all running requests have ended: the scheduler notices that in a step of its own.
  bool wants_pass() const override {
    return !in_step_ &&
           !(scheduler_.waiting().empty() && scheduler_.running().empty() && scheduler_.served().empty());
  }

  /// Arrivals during a step are reported before its end; the next scheduler step sees them.
  bool deliver(RequestId r, SimTime time) override {
    const std::size_t i = index(r);
    const bool accepted = workload_.input[i] > 0 && workload_.output[i] > 0 && memory_.fits_empty(r);
    if (accepted) {
      NaiveRequest request;
      request.id = r;
      request.prompt = workload_.input[i];
      request.output = workload_.output[i];
      request.max_new = request.output;
      if (!workload_.max_tokens.empty() && workload_.max_tokens[i] > request.output)
        request.max_new = workload_.max_tokens[i];
      request.max_new = std::min(request.max_new, memory_.most_tokens() - request.prompt - 1);
      scheduler_.join(request);
    }
    if (in_step_) {
      arrived_.emplace_back(time, r, accepted);
    } else {
      for (Observer* o : run_.observers) o->on_arrival(time, r, accepted);
    }
    return accepted;
  }

  Status pass(SimTime now) override {
    NaiveStep::Kind kind = schedule(now);
    if (kind == NaiveStep::Kind::kIdle) {
      if (scheduler_.waiting().empty()) return Done{};
      kind = schedule(now);  // an idle step takes no time
      if (kind == NaiveStep::Kind::kIdle) return stuck(scheduler_.waiting().front()->id);
    }
    if (pass_.load.tokens == 0) return stuck(scheduler_.chunked()->id);
    const Ticks duration = run_.latency->step(pass_.load);
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
    finish_step(ended);
  }

  void end() override {
    for (Observer* o : run_.observers) o->on_end(end_);
  }

  Load load(SimTime /*now*/) const override {
    Load load{.running = std::ssize(scheduler_.served()),
              .waiting = std::ssize(scheduler_.waiting()),
              .blocks = memory_.counts().held};
    for (const NaiveRequest* request : scheduler_.served()) load.tokens += request->known();
    for (const NaiveRequest* request : scheduler_.waiting()) load.tokens += request->known();
    return load;
  }
  /// At least one token of a prompt has to be computed.
  std::int64_t cached_tokens(RequestId r) const override {
    return memory_.peek(r, std::int64_t{workload_.input[index(r)]} - 1);
  }

 private:
  NaiveStep::Kind schedule(SimTime now) {
    pass_ = Pass{};
    pass_.time = now;
    for (Observer* o : run_.observers) o->on_pass_begin(now);
    const NaiveRequest* const chunked = scheduler_.chunked();
    const std::int64_t settled = chunked == nullptr ? 0 : memory_.tree_tokens(chunked->held);
    const NaiveStep& step = scheduler_.begin_step();
    if (chunked != nullptr) tell_settled(*chunked, settled);
    if (step.refused) pass_.refuse(Refusal::kTooShort);
    for (const NaiveStep::Retracted& gone : step.retracted) {
      ++pass_.preempted;
      for (Observer* o : run_.observers)
        o->on_preempt(Release{gone.request->id, gone.written, gone.pages, {}, gone.tree_tokens});
    }
    // All evicted pages were in the tree before, and no request that joins has hit them.
    for (const std::vector<NaiveTree::Page>& leaf : memory_.take_evicted())
      if (evictions_wanted_)
        for (Observer* o : run_.observers) o->on_evict_pages(leaf.front().number, std::ssize(leaf));
    for (const NaiveStep::Piece& piece : step.batch) {
      if (step.kind == NaiveStep::Kind::kDecode) {
        tell_decode(piece);
      } else {
        tell_prefill(piece);
      }
    }
    pass_.sampled = std::ssize(scheduler_.due());
    pass_.running = std::ssize(scheduler_.served());
    pass_.waiting = std::ssize(scheduler_.waiting());
    pass_.pool = memory_.counts();
    for (Observer* o : run_.observers) o->on_pass_end(pass_);
    return step.kind;
  }

  void tell_prefill(const NaiveStep::Piece& piece) {
    const RequestId r = piece.request->id;
    if (piece.admitted) {
      const bool again = !admitted_.insert(r).second;
      for (Observer* o : run_.observers) o->on_admit(Admission{r, again, piece.from, {}});
    }
    if (piece.pages > 0)
      for (Observer* o : run_.observers) o->on_grant(Grant{r, piece.first_page, piece.pages, {}});
    for (Observer* o : run_.observers) o->on_chunk(Chunk{r, piece.from, piece.tokens});
    add_load(piece);
  }

  void tell_decode(const NaiveStep::Piece& piece) {
    const DecodeGrant grant{piece.request->id, kNoBlock, piece.first_page, piece.pages};
    if (piece.pages > 0)
      for (Observer* o : run_.observers) o->on_decode_grants({&grant, 1});
    add_load(piece);
    ++pass_.decoding;
  }

  void add_load(const NaiveStep::Piece& piece) {
    pass_.load.requests += 1;
    pass_.load.tokens += piece.tokens;
    pass_.load.context_tokens += piece.from;
    pass_.load.add_pairs(StepLoad::pairs(piece.from, piece.tokens));
  }

  /// Reports the tokens of the request that have gone into the tree since it had `before` tokens there.
  void tell_settled(const NaiveRequest& request, std::int64_t before) {
    const std::int64_t now = memory_.tree_tokens(request.held);
    if (now > before)
      for (Observer* o : run_.observers) o->on_settle(Settled{request.id, before, now});
  }

  void finish_step(std::vector<RequestId>& ended) {
    const std::vector<NaiveRequest*> due = scheduler_.due();
    std::vector<RequestId> finishing;
    for (const NaiveRequest* request : due)
      if (request->generated + 1 == request->output) finishing.push_back(request->id);
    for (Observer* o : run_.observers) o->on_step_end(end_, finishing);
    for (NaiveRequest* const request : due) {
      const std::int64_t pages = std::ssize(request->held.table),
                         settled = memory_.tree_tokens(request->held);
      scheduler_.give_token(*request);
      if (request->generated == 1)
        for (Observer* o : run_.observers) o->on_first_token(end_, request->id);
      if (!request->ended()) {
        tell_settled(*request, settled);
        continue;
      }
      for (Observer* o : run_.observers)
        o->on_finish(end_, Release{request->id, request->written(), pages, {}, settled});
      ended.push_back(request->id);
      if (run_.control != nullptr) run_.control->requests_done.fetch_add(1, std::memory_order_relaxed);
    }
    for (Observer* o : run_.observers) o->on_settled(end_, memory_.counts());
  }

  /// An error that cannot occur with chunks of whole pages and requests that fit an empty pool.
  [[nodiscard]] static Error stuck(RequestId r) {
    return bad_input("request " + std::to_string(number(r)) +
                     " waits forever, as it does in SGLang: no step has room for it");
  }

  const ReplicaSetup run_;
  const Workload& workload_;
  NaiveMemory& memory_;
  NaiveScheduler scheduler_;
  bool evictions_wanted_{false};
  std::set<RequestId> admitted_;                               // requests that were admitted at least once
  std::vector<std::tuple<SimTime, RequestId, bool>> arrived_;  // during the step in progress; accepted?
  bool in_step_{false};
  SimTime end_{};  // end of the step in progress, or of the latest one
  Pass pass_{};
};

}  // namespace

std::unique_ptr<core::Replica> make_naive_replica(const core::ReplicaSetup& setup, const Params& params,
                                                  NaiveMemory& memory) {
  return std::make_unique<NaiveReplica>(setup, params, memory);
}

}  // namespace kvplan::scheduling::sglang
