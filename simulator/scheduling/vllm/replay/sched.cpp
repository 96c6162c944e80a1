#include "simulator/scheduling/vllm/replay/sched.h"

#include <array>
#include <utility>

#include "simulator/core/clock.h"
#include "simulator/scheduling/replay/csv_line.h"
#include "simulator/scheduling/vllm/replay/pool.h"
#include "simulator/scheduling/vllm/replicas.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::replays {
namespace {

/// A latency model in which every step lasts one tick.
class UnitSteps final : public core::LatencyModel {
 public:
  [[nodiscard]] Ticks step(const core::StepLoad& /*load*/) const override { return Ticks{1}; }
  [[nodiscard]] core::StepSeries decode_series(const core::StepLoad& /*load*/,
                                               const core::LoadGrowth& /*growth*/,
                                               std::int64_t max_steps) const override {
    return {Ticks{1}, Ticks{0}, max_steps};
  }
};

/// Collects the rows of `sched`.
class SchedRows final : public core::Observer {
 public:
  SchedRows(std::size_t requests, std::function<void(const SchedStepRow&)> steps)
      : rows(requests), hit_tokens_(requests, 0), steps_(std::move(steps)) {}

  void on_arrival(SimTime time, RequestId r, bool accepted) override {
    row(r).arrival_step = time.since_start.count;
    row(r).rejected = !accepted;
  }
  void on_pass_begin(SimTime time) override { now_ = time.since_start.count; }
  void on_preempt(const core::Release& release) override {
    ++row(release.request).preemptions;
    count_computed(release);
  }
  void on_admit(const core::Admission& a) override {
    SchedRequestRow& r = row(a.request);
    if (r.first_sched_step < 0) {
      r.first_sched_step = now_;
      r.first_hit_tokens = a.hit_tokens;
    }
    r.all_hit_tokens += a.hit_tokens;
    ++r.admissions;
    hit_tokens_[index(a.request)] = a.hit_tokens;
  }
  void on_steps(const core::Steps& steps) override {
    if (!steps_) return;
    const core::Pass& pass = steps.pass;
    SchedStepRow out{.step = now_,
                     .running = pass.running,
                     .waiting = pass.waiting,
                     .scheduled_tokens = pass.load.tokens,
                     .scheduled_reqs = pass.load.requests,
                     .sampled = pass.sampled,
                     .preempted = pass.preempted,
                     .used_blocks = pass.pool.held,
                     .evicted = std::exchange(evicted_, 0),
                     .cached_hashes = pass.pool.distinct_names};
    for (std::int64_t k = 0; k < steps.series.steps; ++k) {
      steps_(out);
      ++out.step;
      out.evicted = 0;
    }
  }
  void on_first_token(SimTime time, RequestId r) override {
    row(r).first_token_step = time.since_start.count - 1;
  }
  void on_finish(SimTime time, const core::Release& release) override {
    row(release.request).finish_step = time.since_start.count - 1;
    count_computed(release);
  }
  void on_evict_block(BlockId /*block*/) override { ++evicted_; }
  [[nodiscard]] bool wants_insertions() const override { return static_cast<bool>(steps_); }
  [[nodiscard]] bool follows_decode_runs() const override {
    return !steps_;
  }  // nothing of a decode run is in rows

  std::vector<SchedRequestRow> rows;

 private:
  SchedRequestRow& row(RequestId r) { return rows[index(r)]; }
  /// Tokens that it wrote since its latest admission, without hits.
  void count_computed(const core::Release& release) {
    row(release.request).computed_tokens += release.written - hit_tokens_[index(release.request)];
  }

  std::vector<std::int64_t> hit_tokens_;  // hit tokens at the latest admission
  std::function<void(const SchedStepRow&)> steps_;
  std::int64_t now_{0};
  std::int64_t evicted_{0};
};

constexpr std::array<std::string_view, 2> kNeeds{"--block-tokens", "--blocks"};
constexpr std::array<std::string_view, 7> kTakes{
    "--quantum-ms",    "--token-budget",    "--max-seqs",    "--long-prefill-threshold",
    "--max-model-len", "--no-prefix-cache", "--step-by-step"};

Status make_tables(const traces::Trace& trace, const CacheOptions& options, Tables& out) {
  out.steps = SchedStepRow::kColumns;
  std::function<void(const SchedStepRow&)> sink;
  if (out.wants_steps) sink = [&](const SchedStepRow& row) { row.append_to(out.steps); };
  KVPLAN_TRY(const auto rows, run_vllm_sched(trace, options, sink));
  out.requests = SchedRequestRow::kColumns;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].append_to(out.requests, trace, id_at<RequestId>(i));
  return Done{};
}

}  // namespace

constinit const EngineReplay kVllmSched{.name = "sched",
                                        .summary = "the whole scheduler with arrivals",
                                        .needs = kNeeds,
                                        .takes = kTakes,
                                        .has_steps = true,
                                        .run = make_tables};

void SchedRequestRow::append_to(std::string& out, const traces::Trace& trace, RequestId request) const {
  const std::size_t i = index(request);
  CsvLine(out)
      .add_all(request, trace.input_tokens[i], trace.output_tokens[i])
      .add_step(arrival_step)
      .add_step(first_sched_step)
      .add_step(first_token_step)
      .add_step(finish_step)
      .add_all(first_hit_tokens, all_hit_tokens, admissions, preemptions, computed_tokens)
      .end_line();
}

void SchedStepRow::append_to(std::string& out) const {
  CsvLine(out)
      .add_all(step, running, waiting, scheduled_tokens, scheduled_reqs, sampled, preempted, used_blocks,
               evicted, cached_hashes)
      .end_line();
}

Result<std::vector<SchedRequestRow>> run_vllm_sched(const traces::Trace& trace, const CacheOptions& options,
                                                    const std::function<void(const SchedStepRow&)>& steps) {
  const std::int64_t quantum_ms = options.quantum_ms.value_or(kSchedQuantumMs);
  KVPLAN_TRY_DO(check_at_least(quantum_ms, 1, "--quantum-ms"));
  KVPLAN_TRY_DO(check_at_least(options.scheduler.token_budget, 1, "--token-budget"));
  KVPLAN_TRY_DO(check_at_least(options.scheduler.max_seqs, 1, "--max-seqs"));
  KVPLAN_TRY_DO(check_at_least(options.scheduler.long_prefill_threshold, 0, "--long-prefill-threshold"));
  KVPLAN_TRY_DO(check_at_least(options.scheduler.max_model_len, 1, "--max-model-len"));
  const core::Workload workload = workload::build_step_workload(trace, quantum_ms);
  KVPLAN_TRY(const auto pool, make_vllm_pool(workload, options));
  const UnitSteps unit;
  SchedRows rows(static_cast<std::size_t>(workload.size()), steps);
  const std::array<core::Observer*, 1> observers{&rows};
  core::RunControl control;
  control.stop_asked = options.stop_asked;
  const core::ReplicaSetup setup{
      .workload = &workload, .keep = {}, .latency = &unit, .observers = observers, .control = &control};
  const auto make =
      options.step_by_step ? scheduling::vllm::make_naive_replica : scheduling::vllm::make_fast_replica;
  const auto replica = make(setup, options.scheduler, *pool);
  KVPLAN_TRY_DO(core::run_alone(*replica, workload, workload.order, &control));
  return std::move(rows.rows);
}

}  // namespace kvplan::replays
