#include "simulator/scheduling/sglang/replay/sched.h"

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "simulator/prefix/request_tokens.h"
#include "simulator/scheduling/replay/csv_line.h"
#include "simulator/scheduling/replay/id_crc.h"
#include "simulator/scheduling/replay/python_number.h"
#include "simulator/scheduling/sglang/replay/pool.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::replays {
namespace {

using scheduling::sglang::Decision;
using scheduling::sglang::Outcome;
using scheduling::sglang::Request;
using scheduling::sglang::Scheduler;
using scheduling::sglang::Share;
using scheduling::sglang::StepKind;

/// Checksum of the queue, which usually changes only at its end.
class QueueChecksum {
 public:
  std::uint32_t of(const Scheduler& scheduler) {
    const auto& waiting = scheduler.waiting();
    if (scheduler.queue_changes() != changes_) {
      changes_ = scheduler.queue_changes();
      counted_ = 0;
      crc_ = 0;
    }
    for (; counted_ < waiting.size(); ++counted_)
      crc_ = id_crc32(crc_, static_cast<std::uint32_t>(waiting[counted_]->id));
    return crc_;
  }

 private:
  std::int64_t changes_{0};
  std::size_t counted_{0};
  std::uint32_t crc_{0};
};

/// The clock, the scheduler and the rows of both tables.
class Run {
 public:
  Run(const traces::Trace& trace, const CacheOptions& options,
      const std::function<void(const SglangStepRow&)>& steps)
      : trace_(trace),
        options_(options),
        steps_(steps),
        workload_(workload::build_step_workload(trace, options.quantum_ms.value_or(kSglangQuantumMs))),
        pool_(options.block_tokens, options.pool_tokens, options.prefix_cache),
        scheduler_(sglang_params(options), pool_),
        rows_(static_cast<std::size_t>(trace.size())) {}

  Result<std::vector<SglangRequestRow>> all() {
    for (const RequestId r : workload_.order) {
      row(r).arrival_step = arrival(r);
      row(r).rejected = !accepts(r);
      if (!row(r).rejected) to_come_.push_back(r);
    }
    bool was_idle = false;
    for (std::int64_t step = to_come_.empty() ? 0 : arrival(to_come_.front());;) {
      if (options_.stop_asked != nullptr && options_.stop_asked()) return interrupted_error();
      const bool arrived = join(step);
      const bool idle = one_step(step);
      if (stuck_ != kNoRequest) return never_goes_on(stuck_);
      if (idle && scheduler_.waiting().empty()) {
        if (to_come_.empty()) break;
        step = std::max(step + 1, arrival(to_come_.front()));
      } else if (idle && was_idle && !arrived) {
        return waits_forever(scheduler_.waiting().front()->id);
      } else {
        ++step;
      }
      was_idle = idle;
    }
    return std::move(rows_);
  }

 private:
  SglangRequestRow& row(RequestId r) { return rows_[index(r)]; }
  [[nodiscard]] std::int64_t arrival(RequestId r) const {
    return workload_.arrival[index(r)].since_start.count;
  }
  [[nodiscard]] std::int64_t most_tokens() const {
    return scheduling::sglang::most_tokens(scheduling::sglang::kLongestContext, pool_.capacity_tokens());
  }
  [[nodiscard]] bool accepts(RequestId r) const {
    const std::size_t i = index(r);
    return workload_.input[i] >= 1 && workload_.output[i] >= 1 &&
           workload_.input[i] < most_tokens() - scheduling::sglang::kSparedTokens;
  }

  bool join(std::int64_t step) {
    const std::size_t before = to_come_.size();
    for (; !to_come_.empty() && arrival(to_come_.front()) <= step; to_come_.pop_front()) {
      const RequestId r = to_come_.front();
      const std::size_t i = index(r);
      const bool stated = !trace_.max_tokens.empty() && trace_.max_tokens[i] >= 0;
      const std::int64_t allowed = stated ? trace_.max_tokens[i] : workload_.output[i];
      row(r).max_new_tokens = std::min(allowed, most_tokens() - workload_.input[i] - 1);
      Request request;
      request.id = r;
      request.prompt_tokens = workload_.input[i];
      request.max_new = row(r).max_new_tokens;
      request.output_tokens = workload_.output[i];
      request.tokens = prefix::request_tokens(workload_, r);
      scheduler_.join(std::move(request));
    }
    return to_come_.size() < before;
  }

  /// True: nothing ran.
  bool one_step(std::int64_t step) {
    const prefix::RadixPool::Evictions before = pool_.evictions();
    const Decision& decision = scheduler_.begin_step();
    SglangStepRow out{.step = step, .kind = decision.kind};
    for (const Share& share : decision.batch) {
      ++out.batch_reqs;
      out.batch_tokens += share.tokens;
      out.hit_tokens += share.hit_tokens;
      count(share, decision.kind, step);
    }
    if (decision.kind == StepKind::kPrefill && out.batch_tokens == 0) stuck_ = decision.batch.front().request;
    out.retracted = static_cast<std::int64_t>(decision.retracted.size());
    for (const RequestId r : decision.retracted) ++row(r).retractions;
    if (steps_) describe(out, decision, before);
    for (const Outcome& outcome : scheduler_.end_step()) {
      SglangRequestRow& r = row(outcome.request);
      if (r.first_token_step < 0) r.first_token_step = step;
      if (!outcome.ended) continue;
      r.finish_step = step;
      ++out.finished;
    }
    out.available_end = pool_.available_tokens();
    out.evictable_end = pool_.evictable_tokens();
    if (steps_) steps_(out);
    return decision.kind == StepKind::kIdle;
  }

  void count(const Share& share, StepKind kind, std::int64_t step) {
    SglangRequestRow& r = row(share.request);
    if (kind == StepKind::kDecode) {
      ++r.decode_steps;
      return;
    }
    ++r.prefill_batches;
    r.prefill_tokens += share.tokens;
    if (!share.admitted) return;
    if (r.admissions++ == 0) {
      r.first_sched_step = step;
      r.first_hit_tokens = share.hit_tokens;
    }
    r.all_hit_tokens += share.hit_tokens;
  }

  void describe(SglangStepRow& out, const Decision& decision, const prefix::RadixPool::Evictions& before) {
    if (scheduler_.chunked() != nullptr) out.chunked_req = number(scheduler_.chunked()->id);
    out.running = scheduler_.running();
    out.waiting = static_cast<std::int64_t>(scheduler_.waiting().size());
    out.evicted_tokens = pool_.evictions().tokens - before.tokens;
    out.evicted_nodes = pool_.evictions().nodes - before.nodes;
    out.available = pool_.available_tokens();
    out.evictable = pool_.evictable_tokens();
    out.protected_tokens = pool_.protected_tokens();
    out.full = scheduler_.full();
    out.new_token_ratio = scheduler_.new_token_ratio();
    for (const Share& share : decision.batch)
      out.batch_crc32 = id_crc32(out.batch_crc32, static_cast<std::uint32_t>(share.request));
    out.waiting_crc32 = queue_.of(scheduler_);
  }

  [[nodiscard]] Error waits_forever(RequestId r) const {
    return bad_input("request " + std::to_string(number(r)) +
                     " waits forever, as it does in SGLang. Without prefix cache and with --ignore-eos, its "
                     "tokens in whole pages plus the tokens that it may still generate plus one must be less "
                     "than the pool")
        .at_field("--pool-tokens");
  }

  [[nodiscard]] Error never_goes_on(RequestId r) const {
    return bad_input("request " + std::to_string(number(r)) +
                     " stops making progress, as it does in SGLang: its chunks end within pages and use more "
                     "memory than the scheduler counted; expected a multiple of the page size")
        .at_field("--chunk");
  }

  const traces::Trace& trace_;
  const CacheOptions& options_;
  const std::function<void(const SglangStepRow&)>& steps_;
  core::Workload workload_;
  prefix::RadixPool pool_;
  Scheduler scheduler_;
  std::deque<RequestId> to_come_;
  std::vector<SglangRequestRow> rows_;
  QueueChecksum queue_;
  RequestId stuck_{kNoRequest};  // a request in the middle of its prefill that has no room to continue
};

constexpr std::array<std::string_view, 2> kNeeds{"--block-tokens", "--pool-tokens"};
constexpr std::array<std::string_view, 11> kTakes{"--policy",
                                                  "--chunk",
                                                  "--max-seqs",
                                                  "--max-prefill-tokens",
                                                  "--quantum-ms",
                                                  "--ignore-eos",
                                                  "--no-prefix-cache",
                                                  "--conservativeness",
                                                  "--decay-steps",
                                                  "--clip",
                                                  "--retract-decode-steps"};

Status make_tables(const traces::Trace& trace, const CacheOptions& options, Tables& out) {
  out.steps = SglangStepRow::kColumns;
  std::function<void(const SglangStepRow&)> sink;
  if (out.wants_steps) sink = [&](const SglangStepRow& row) { row.append_to(out.steps); };
  KVPLAN_TRY(const auto rows, run_sglang_sched(trace, options, sink));
  out.requests = SglangRequestRow::kColumns;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].append_to(out.requests, trace, id_at<RequestId>(i));
  return Done{};
}

std::string_view letter(StepKind kind) {
  if (kind == StepKind::kPrefill) return "P";
  return kind == StepKind::kDecode ? "D" : "I";
}

}  // namespace

constinit const EngineReplay kSglangSched{.name = "sched",
                                          .summary = "the whole scheduler with arrivals",
                                          .needs = kNeeds,
                                          .takes = kTakes,
                                          .has_steps = true,
                                          .run = make_tables};

void SglangRequestRow::append_to(std::string& out, const traces::Trace& trace, RequestId request) const {
  const std::size_t i = index(request);
  CsvLine(out)
      .add_all(request, trace.input_tokens[i], trace.output_tokens[i], max_new_tokens)
      .add_step(arrival_step)
      .add_step(first_sched_step)
      .add_step(first_token_step)
      .add_step(finish_step)
      .add_all(first_hit_tokens, all_hit_tokens, admissions, retractions, prefill_batches, prefill_tokens,
               decode_steps, all_hit_tokens)
      .end_line();
}

void SglangStepRow::append_to(std::string& out) const {
  CsvLine(out)
      .add(step)
      .add(letter(kind))
      .add_all(batch_reqs, batch_tokens, hit_tokens, chunked_req, running, waiting, retracted, evicted_tokens,
               evicted_nodes, available, evictable, protected_tokens, full ? 1 : 0)
      .add(std::string_view(python_number(new_token_ratio)))
      .add_all(batch_crc32, waiting_crc32, finished, available_end, evictable_end)
      .end_line();
}

Result<std::vector<SglangRequestRow>> run_sglang_sched(
    const traces::Trace& trace, const CacheOptions& options,
    const std::function<void(const SglangStepRow&)>& steps) {
  KVPLAN_TRY_DO(check_sglang_pool(options));
  KVPLAN_TRY_DO(check_at_least(options.quantum_ms.value_or(kSglangQuantumMs), 1, "--quantum-ms"));
  // A chunk of less than a page would never begin.
  KVPLAN_TRY_DO(
      check_at_least(options.chunk.value_or(options.block_tokens), options.block_tokens, "--chunk"));
  KVPLAN_TRY_DO(check_at_least(options.scheduler.max_seqs, 1, "--max-seqs"));
  KVPLAN_TRY_DO(check_at_least(options.sglang.max_prefill_tokens, 1, "--max-prefill-tokens"));
  KVPLAN_TRY_DO(check_at_least(options.sglang.decay_steps, 1, "--decay-steps"));
  KVPLAN_TRY_DO(check_at_least(options.sglang.clip_tokens, 1, "--clip"));
  KVPLAN_TRY_DO(check_at_least(options.sglang.retract_decode_steps, 0, "--retract-decode-steps"));
  return Run(trace, options, steps).all();
}

}  // namespace kvplan::replays
