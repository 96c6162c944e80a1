#include "simulator/drivers/cache_drivers.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/core/clock.h"
#include "simulator/memory/allocators.h"
#include "simulator/memory/grouped_prefixes.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::drivers {
namespace {

constexpr std::int64_t kMostWindow = std::int64_t{1} << 31;
constexpr std::int64_t kMostGroupedBlocks = std::int64_t{1} << 25;

Status check_block(const core::Workload& workload, const CacheOptions& options) {
  if (!workload.prefix->present() || workload.prefix->block_tokens % options.block_tokens == 0) return Done{};
  return bad_input("expected a divisor of the trace's hash block of " +
                   std::to_string(workload.prefix->block_tokens) + " tokens, found " +
                   std::to_string(options.block_tokens))
      .at_field("--block-tokens");
}

Result<std::unique_ptr<core::Allocator>> make_pool(const core::Workload& workload,
                                                   const CacheOptions& options) {
  KVPLAN_TRY_DO(check_block(workload, options));
  KVPLAN_TRY(const Choice choice, make_choice("paged",
                                              std::array{std::pair<std::string, std::string>{
                                                  "block_tokens", std::to_string(options.block_tokens)}},
                                              "allocator", memory::allocator_descriptors()));
  const memory::AllocatorRequest request{.workload = &workload,
                                         .pool = {.blocks = options.blocks},
                                         .token_bytes = 1,
                                         .prefix_cache = options.prefix_cache,
                                         .max_model_len = options.scheduler.max_model_len};
  const auto& entry = memory::allocator_entry(choice);
  return options.step_by_step ? entry.make_model(choice, request) : entry.make(choice, request);
}

/// Counts blocks whose content is given up.
class ReclaimCounter final : public core::BlockListener {
 public:
  void on_publish(RequestId /*request*/, std::int64_t /*logical_block*/, BlockId /*block*/) override {}
  void on_reclaim(BlockId /*block*/) override { ++reclaimed_; }
  std::int64_t take() { return std::exchange(reclaimed_, 0); }

 private:
  std::int64_t reclaimed_{0};
};

/// Every step lasts one tick.
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
    hit_tokens_[static_cast<std::size_t>(a.request)] = a.hit_tokens;
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
  void on_reclaim(BlockId /*block*/) override { ++evicted_; }
  [[nodiscard]] bool wants_publications() const override { return static_cast<bool>(steps_); }
  [[nodiscard]] bool follows_stretches() const override {
    return !steps_;
  }  // nothing of a stretch is in rows

  std::vector<SchedRequestRow> rows;

 private:
  SchedRequestRow& row(RequestId r) { return rows[static_cast<std::size_t>(r)]; }
  /// What it wrote since its latest admission, hits aside.
  void count_computed(const core::Release& release) {
    row(release.request).computed_tokens +=
        release.written - hit_tokens_[static_cast<std::size_t>(release.request)];
  }

  std::vector<std::int64_t> hit_tokens_;  // of the latest admission
  std::function<void(const SchedStepRow&)> steps_;
  std::int64_t now_{0};
  std::int64_t evicted_{0};
};

/// Of a table, or of several one behind the other: `crc` is that of those before.
std::uint32_t crc_of(std::span<const BlockId> table, uLong crc = crc32(0, nullptr, 0)) {
  for (const BlockId block : table) {
    const auto id = static_cast<std::uint32_t>(block == kNoBlock ? 0 : block);
    const std::array<unsigned char, 4> bytes{
        static_cast<unsigned char>(id), static_cast<unsigned char>(id >> 8),
        static_cast<unsigned char>(id >> 16), static_cast<unsigned char>(id >> 24)};
    crc = crc32(crc, bytes.data(), bytes.size());
  }
  return static_cast<std::uint32_t>(crc);
}

/// Steps (1) to (4) of the definition for one request.
SeqRow serve_alone(core::Allocator& pool, ReclaimCounter& reclaimed, const core::Workload& workload,
                   RequestId r, std::int64_t block) {
  SeqRow row{};
  row.request = r;
  const auto length = static_cast<std::int64_t>(workload.input[static_cast<std::size_t>(r)]);
  const core::Found found = pool.lookup(r, length);
  KVPLAN_CHECK(pool.admit(r, found, length), r);
  pool.publish(r, length);
  row.fits = true;
  row.hit_tokens = found.tokens;
  row.new_blocks_prefill = pool.table_quanta(r) - found.tokens / block;
  row.evicted_prefill = reclaimed.take();
  const std::int64_t after_prefill = pool.table_quanta(r);
  for (std::int64_t tokens = length + 1; tokens <= workload.final_tokens(r); ++tokens) {
    // A decode step changes nothing unless a block is needed or filled.
    if (tokens % block != 0 && (tokens - 1) % block != 0) continue;
    KVPLAN_CHECK(pool.grow(r, tokens), r, tokens);
    pool.publish(r, tokens);
  }
  row.new_blocks_decode = pool.table_quanta(r) - after_prefill;
  row.evicted_decode = reclaimed.take();
  row.table_len = pool.table_quanta(r);
  row.table_crc32 = crc_of(pool.table(r));
  pool.release(r, workload.final_tokens(r));
  pool.forget(r);
  row.cached_hashes_after = pool.counts().distinct_names;
  row.free_blocks_after = pool.counts().free + pool.counts().cached;
  return row;
}

/// The same with two groups: the definition of `seqswa`.
SeqRow serve_in_groups(memory::GroupedPrefixes& pool, const core::Workload& workload, RequestId r,
                       std::int64_t chunk) {
  SeqRow row{};
  row.request = r;
  row.fits = true;
  const auto length = static_cast<std::int64_t>(workload.input[static_cast<std::size_t>(r)]);
  row.hit_tokens = pool.lookup(r, length);
  std::int64_t taken = pool.taken(), reclaimed = pool.reclaimed();
  std::int64_t tokens = std::min(length, row.hit_tokens + chunk);
  KVPLAN_CHECK(pool.admit(r, tokens), r);
  pool.publish(r, tokens);
  const auto go_on_to = [&](std::int64_t more) {
    pool.leave_windows(r, tokens);
    KVPLAN_CHECK(pool.grow(r, more), r, more);
    pool.publish(r, more);
    tokens = more;
  };
  while (tokens < length) go_on_to(std::min(length, tokens + chunk));
  row.new_blocks_prefill = pool.taken() - std::exchange(taken, pool.taken());
  row.evicted_prefill = pool.reclaimed() - std::exchange(reclaimed, pool.reclaimed());
  while (tokens < workload.final_tokens(r)) go_on_to(tokens + 1);
  row.new_blocks_decode = pool.taken() - taken;
  row.evicted_decode = pool.reclaimed() - reclaimed;
  row.table_len = static_cast<std::int64_t>(pool.table(r, 0).size() + pool.table(r, 1).size());
  row.table_crc32 = crc_of(pool.table(r, 1), crc_of(pool.table(r, 0)));
  pool.release(r);
  row.cached_hashes_after = pool.distinct_names();
  row.free_blocks_after = pool.free_blocks();
  return row;
}

Status check_options(const CacheOptions& options) {
  const auto at_least = [](std::int64_t value, std::int64_t least, const char* field) -> Status {
    if (value >= least) return Done{};
    return bad_input("expected at least " + std::to_string(least) + ", found " + std::to_string(value))
        .at_field(field);
  };
  KVPLAN_TRY_DO(at_least(options.block_tokens, 1, "--block-tokens"));
  KVPLAN_TRY_DO(at_least(options.blocks, 2, "--blocks"));
  KVPLAN_TRY_DO(at_least(options.quantum_ms, 1, "--quantum-ms"));
  KVPLAN_TRY_DO(at_least(options.scheduler.token_budget, 1, "--token-budget"));
  KVPLAN_TRY_DO(at_least(options.scheduler.max_seqs, 1, "--max-seqs"));
  KVPLAN_TRY_DO(at_least(options.scheduler.long_prefill_threshold, 0, "--long-prefill-threshold"));
  return at_least(options.scheduler.max_model_len, 1, "--max-model-len");
}

}  // namespace

Status run_seq_driver(const traces::Trace& trace, const CacheOptions& options,
                      const std::function<void(const SeqRow&)>& sink) {
  KVPLAN_TRY_DO(check_options(options));
  const core::Workload workload = workload::build_step_workload(trace, options.quantum_ms);
  KVPLAN_TRY(const auto pool, make_pool(workload, options));
  ReclaimCounter reclaimed;
  pool->set_listener(&reclaimed);
  for (RequestId r = 0; r < workload.size(); ++r) {
    if (options.stop_asked != nullptr && options.stop_asked()) return interrupted_error();
    const auto i = static_cast<std::size_t>(r);
    if (workload.input[i] < 1 || workload.output[i] < 1 || !pool->fits_empty(r)) {
      sink(SeqRow{.request = r});
    } else {
      sink(serve_alone(*pool, reclaimed, workload, r, options.block_tokens));
    }
  }
  return Done{};
}

Status run_seqswa_driver(const traces::Trace& trace, const CacheOptions& options,
                         const std::function<void(const SeqRow&)>& sink) {
  KVPLAN_TRY_DO(check_options(options));
  if (options.window < 1 || options.window > kMostWindow)
    return bad_input("expected 1 to 2^31, found " + std::to_string(options.window)).at_field("--window");
  if (options.chunk < 1 || options.chunk > kMostWindow)
    return bad_input("expected 1 to 2^31, found " + std::to_string(options.chunk)).at_field("--chunk");
  if (options.blocks > kMostGroupedBlocks)
    return bad_input("expected a pool of at most 2^25 blocks, found " + std::to_string(options.blocks))
        .at_field("--blocks");
  const core::Workload workload = workload::build_step_workload(trace, options.quantum_ms);
  KVPLAN_TRY_DO(check_block(workload, options));
  memory::GroupedPrefixes pool(workload, options.block_tokens, {0, options.window}, options.blocks,
                               options.prefix_cache);
  for (RequestId r = 0; r < workload.size(); ++r) {
    if (options.stop_asked != nullptr && options.stop_asked()) return interrupted_error();
    const auto i = static_cast<std::size_t>(r);
    const std::int64_t all = ceil_div(workload.final_tokens(r), options.block_tokens);
    const std::int64_t in_window = ceil_div(options.window - 1 + options.chunk, options.block_tokens) + 1;
    if (workload.input[i] < 1 || workload.output[i] < 1 ||
        all + std::min(all, in_window) > options.blocks - 1) {
      sink(SeqRow{.request = r});
    } else {
      sink(serve_in_groups(pool, workload, r, options.chunk));
    }
  }
  return Done{};
}

Result<std::vector<SchedRequestRow>> run_sched_driver(const traces::Trace& trace, const CacheOptions& options,
                                                      const std::function<void(const SchedStepRow&)>& steps) {
  KVPLAN_TRY_DO(check_options(options));
  const core::Workload workload = workload::build_step_workload(trace, options.quantum_ms);
  KVPLAN_TRY(const auto pool, make_pool(workload, options));
  const UnitSteps unit;
  SchedRows rows(static_cast<std::size_t>(workload.size()), steps);
  const std::array<core::Observer*, 1> observers{&rows};
  core::RunControl control;
  control.stop_asked = options.stop_asked;
  const core::ReplicaSetup setup{.workload = &workload,
                                 .scheduler = options.scheduler,
                                 .keep = {},
                                 .allocator = pool.get(),
                                 .latency = &unit,
                                 .observers = observers,
                                 .control = &control};
  const auto replica =
      options.step_by_step ? core::make_naive_replica(setup) : core::make_fast_replica(setup);
  KVPLAN_TRY_DO(core::run_alone(*replica, workload, workload.order, &control));
  return std::move(rows.rows);
}

}  // namespace kvplan::drivers
