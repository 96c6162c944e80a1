#include "simulator/scheduling/vllm/replay/seqswa.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "simulator/base/check.h"
#include "simulator/memory/grouped_prefixes.h"
#include "simulator/scheduling/vllm/replay/pool.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::replays {
namespace {

constexpr std::int64_t kMostWindow = std::int64_t{1} << 31;
constexpr std::int64_t kMostGroupedBlocks = std::int64_t{1} << 25;
constexpr std::int64_t kDefaultChunk = 8192;

/// Steps (1) to (4) of the definition for one request, with two groups.
SeqRow serve_in_groups(memory::GroupedPrefixes& pool, const core::Workload& workload, RequestId r,
                       std::int64_t chunk) {
  SeqRow row{};
  row.request = r;
  row.fits = true;
  const auto length = static_cast<std::int64_t>(workload.input[index(r)]);
  row.hit_tokens = pool.lookup(r, length).tokens;
  std::int64_t taken = pool.taken(), evicted = pool.evicted();
  std::int64_t tokens = std::min(length, row.hit_tokens + chunk);
  KVPLAN_CHECK(pool.admit(r, tokens), r);
  pool.insert(r, tokens);
  const auto go_on_to = [&](std::int64_t more) {
    pool.leave_windows(r, tokens);
    KVPLAN_CHECK(pool.grow(r, more), r, more);
    pool.insert(r, more);
    tokens = more;
  };
  while (tokens < length) go_on_to(std::min(length, tokens + chunk));
  row.new_blocks_prefill = pool.taken() - std::exchange(taken, pool.taken());
  row.evicted_prefill = pool.evicted() - std::exchange(evicted, pool.evicted());
  while (tokens < workload.final_tokens(r)) go_on_to(tokens + 1);
  row.new_blocks_decode = pool.taken() - taken;
  row.evicted_decode = pool.evicted() - evicted;
  row.table_len = static_cast<std::int64_t>(pool.table(r, 0).size() + pool.table(r, 1).size());
  row.table_crc32 = table_crc32(pool.table(r, 1), table_crc32(pool.table(r, 0)));
  pool.release(r);
  row.cached_hashes_after = pool.distinct_names();
  row.free_blocks_after = pool.free_blocks();
  return row;
}

constexpr std::array<std::string_view, 2> kNeeds{"--block-tokens", "--blocks"};
constexpr std::array<std::string_view, 3> kTakes{"--window", "--chunk", "--no-prefix-cache"};

Status make_tables(const traces::Trace& trace, const CacheOptions& options, Tables& out) {
  out.requests = SeqRow::kColumns;
  return run_vllm_seqswa(trace, options, [&](const SeqRow& row) { row.append_to(out.requests, trace); });
}

Status check_at_most(std::int64_t value, std::int64_t most, const char* field) {
  if (value <= most) return Done{};
  return bad_input("expected at most " + std::to_string(most) + ", found " + std::to_string(value))
      .at_field(field);
}

}  // namespace

constinit const EngineReplay kVllmSeqswa{

    .name = "seqswa",
    .summary = "one request at a time, with a second group of layers that has a sliding window",
    .needs = kNeeds,
    .takes = kTakes,
    .has_steps = false,
    .run = make_tables};

Status run_vllm_seqswa(const traces::Trace& trace, const CacheOptions& options,
                       const std::function<void(const SeqRow&)>& sink) {
  const std::int64_t chunk = options.chunk.value_or(kDefaultChunk);
  KVPLAN_TRY_DO(check_at_least(options.block_tokens, 1, "--block-tokens"));
  KVPLAN_TRY_DO(check_at_least(options.blocks, 2, "--blocks"));
  KVPLAN_TRY_DO(check_at_most(options.blocks, kMostGroupedBlocks, "--blocks"));
  KVPLAN_TRY_DO(check_at_least(options.window, 1, "--window"));
  KVPLAN_TRY_DO(check_at_most(options.window, kMostWindow, "--window"));
  KVPLAN_TRY_DO(check_at_least(chunk, 1, "--chunk"));
  KVPLAN_TRY_DO(check_at_most(chunk, kMostWindow, "--chunk"));
  const core::Workload workload = workload::build_step_workload(trace, kSchedQuantumMs);
  KVPLAN_TRY_DO(check_block(workload, options));
  memory::GroupedPrefixes pool(workload, options.block_tokens, {0, options.window}, options.blocks,
                               options.prefix_cache);
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    if (options.stop_asked != nullptr && options.stop_asked()) return interrupted_error();
    const std::size_t i = index(r);
    const std::int64_t all = ceil_div(workload.final_tokens(r), options.block_tokens);
    const std::int64_t in_window = ceil_div(options.window - 1 + chunk, options.block_tokens) + 1;
    if (workload.input[i] < 1 || workload.output[i] < 1 ||
        all + std::min(all, in_window) > options.blocks - 1) {
      sink(SeqRow{.request = r});
    } else {
      sink(serve_in_groups(pool, workload, r, chunk));
    }
  }
  return Done{};
}

}  // namespace kvplan::replays
