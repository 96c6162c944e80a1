#include "simulator/scheduling/vllm/replay/hold.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/scheduling/replay/csv_line.h"
#include "simulator/scheduling/vllm/replay/pool.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::replays {
namespace {

constexpr std::int64_t kHoldQuantumMs = 100;

/// The pool, the queue and the live requests. The caller supplies the time.
class Holders {
 public:
  Holders(core::Allocator& pool, const core::Workload& workload, std::int64_t block_tokens)
      : pool_(pool), contents_(contents_of(pool)), workload_(workload), block_tokens_(block_tokens) {
    contents_.set_listener(&evicted_);
  }

  void join(RequestId r) { queue_.push_back(r); }
  [[nodiscard]] bool idle() const { return queue_.empty() && ends_.empty(); }
  /// End of the request that ends first. REQUIRES: some request is live.
  [[nodiscard]] std::int64_t next_end() const { return ends_.begin()->first; }
  [[nodiscard]] bool live() const { return !ends_.empty(); }

  /// Requests that end at this step free all their blocks, in the order of their admission.
  void release(std::int64_t step) {
    const auto ending = ends_.find(step);
    if (ending == ends_.end()) return;
    for (const RequestId r : ending->second) {
      // Blocks of its output were never inserted into the cache, as if it had written only its prompt.
      pool_.release(r, workload_.input[index(r)]);
      contents_.forget(r);
      --live_;
    }
    ends_.erase(ending);
  }

  /// Admits from the head of the queue as long as there is room.
  void admit(std::int64_t step, const std::function<void(const HoldRow&)>& sink) {
    for (; !queue_.empty(); queue_.pop_front()) {
      const RequestId r = queue_.front();
      const std::size_t i = index(r);
      const std::int64_t length = workload_.input[i];
      const core::PrefixHit found = contents_.lookup(r, length);
      if (!pool_.admit(r, found, workload_.final_tokens(r), workload_.final_tokens(r))) return;
      contents_.insert(r, length);
      ++live_;
      HoldRow row{.request = r, .fits = true, .admit_step = step, .end_step = step + workload_.output[i]};
      ends_[row.end_step].push_back(r);
      row.hit_tokens = found.tokens;
      row.table_len = pool_.table(r).alloc_units;
      row.new_blocks = row.table_len - found.tokens / block_tokens_;
      row.evicted = evicted_.take();
      row.table_crc32 = table_crc32(pool_.table(r).ids);
      row.free_blocks_after_admit = pool_.counts().free + pool_.counts().cached;
      row.live_after_admit = live_;
      sink(row);
    }
  }

 private:
  core::Allocator& pool_;
  core::Contents& contents_;
  const core::Workload& workload_;
  std::int64_t block_tokens_;
  EvictionCounter evicted_;
  std::deque<RequestId> queue_;
  std::map<std::int64_t, std::vector<RequestId>> ends_;  // by step; within a step in the order of admission
  std::int64_t live_{0};
};

constexpr std::array<std::string_view, 2> kNeeds{"--block-tokens", "--blocks"};
constexpr std::array<std::string_view, 3> kTakes{"--quantum-ms", "--no-prefix-cache", "--step-by-step"};

Status make_tables(const traces::Trace& trace, const CacheOptions& options, Tables& out) {
  std::vector<HoldRow> rows(static_cast<std::size_t>(trace.size()));
  KVPLAN_TRY_DO(run_vllm_hold(trace, options, [&](const HoldRow& row) { rows[index(row.request)] = row; }));
  out.requests = HoldRow::kColumns;
  for (const HoldRow& row : rows) row.append_to(out.requests, trace);
  return Done{};
}

}  // namespace

constinit const EngineReplay kVllmHold{
    .name = "hold",
    .summary = "several requests at once; each runs for as many steps as it has output tokens",
    .needs = kNeeds,
    .takes = kTakes,
    .has_steps = false,
    .run = make_tables};

void HoldRow::append_to(std::string& out, const traces::Trace& trace) const {
  const std::size_t i = index(request);
  CsvLine(out)
      .add_all(request, trace.input_tokens[i], trace.output_tokens[i])
      .add(fits ? "ok" : "rejected")
      .add_step(admit_step)
      .add_step(end_step)
      .add_all(hit_tokens, new_blocks, evicted, table_len, table_crc32, free_blocks_after_admit,
               live_after_admit)
      .end_line();
}

Status run_vllm_hold(const traces::Trace& trace, const CacheOptions& options,
                     const std::function<void(const HoldRow&)>& sink) {
  const std::int64_t quantum_ms = options.quantum_ms.value_or(kHoldQuantumMs);
  KVPLAN_TRY_DO(check_at_least(quantum_ms, 1, "--quantum-ms"));
  const core::Workload workload = workload::build_step_workload(trace, quantum_ms);
  KVPLAN_TRY(const auto pool, make_vllm_pool(workload, options));
  std::deque<RequestId> to_come;
  for (const RequestId r : workload.order) {
    const std::size_t i = index(r);
    if (workload.input[i] < 1 || workload.output[i] < 1 || !pool->fits_empty(r)) {
      sink(HoldRow{.request = r});
    } else {
      to_come.push_back(r);
    }
  }
  const auto arrival = [&](RequestId r) { return workload.arrival[index(r)].since_start.count; };
  Holders holders(*pool, workload, options.block_tokens);
  // A request ends or arrives only at these steps, so nothing changes at others.
  for (std::int64_t step = 0; !to_come.empty() || !holders.idle();) {
    if (options.stop_asked != nullptr && options.stop_asked()) return interrupted_error();
    holders.release(step);
    for (; !to_come.empty() && arrival(to_come.front()) <= step; to_come.pop_front())
      holders.join(to_come.front());
    holders.admit(step, sink);
    KVPLAN_CHECK(holders.live() || holders.idle(), step);  // an empty pool holds any request that fits
    std::int64_t next = INT64_MAX;
    if (holders.live()) next = holders.next_end();
    if (!to_come.empty()) next = std::min(next, arrival(to_come.front()));
    step = next;
  }
  return Done{};
}

}  // namespace kvplan::replays
