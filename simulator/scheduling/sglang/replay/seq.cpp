#include "simulator/scheduling/sglang/replay/seq.h"

#include <array>

#include "simulator/base/check.h"
#include "simulator/prefix/radix_pool.h"
#include "simulator/prefix/request_tokens.h"
#include "simulator/scheduling/replay/csv_line.h"
#include "simulator/scheduling/sglang/replay/pool.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::replays {
namespace {

/// The definition for one request. REQUIRES: an empty pool could hold it.
SglangSeqRow serve_alone(prefix::RadixPool& pool, const core::Workload& workload, RequestId r) {
  const std::size_t i = index(r);
  const std::int64_t input = workload.input[i], output = workload.output[i];
  const std::int64_t page = pool.page_tokens();
  const prefix::TokenSequence tokens = prefix::request_tokens(workload, r);
  const prefix::RadixPool::Evictions before = pool.evictions();
  SglangSeqRow row{.request = r, .fits = true};

  prefix::Holding held = pool.match(tokens, input - 1);
  row.hit_tokens = held.settled_tokens;
  pool.lock(held);
  pool.make_room(input - row.hit_tokens + (page > 1 ? page : 0));
  pool.extend(row.hit_tokens, input);
  row.evicted_tokens_prefill = pool.evictions().tokens - before.tokens;
  if (output > 1) pool.settle(held, tokens, input);
  for (std::int64_t written = input; written < input + output - 1; ++written) {
    pool.make_room(page);
    pool.extend(written, written + 1);
  }
  pool.finish(held, tokens, input + output - 1);

  const prefix::RadixPool::Evictions& after = pool.evictions();
  row.evicted_tokens_decode = after.tokens - before.tokens - row.evicted_tokens_prefill;
  row.evicted_nodes = after.nodes - before.nodes;
  row.evict_calls = after.calls - before.calls;
  row.available_after = pool.available_tokens();
  row.evictable_after = pool.evictable_tokens();
  KVPLAN_CHECK(row.available_after + row.evictable_after == pool.capacity_tokens(), r);
  return row;
}

constexpr std::array<std::string_view, 2> kNeeds{"--block-tokens", "--pool-tokens"};

Status make_tables(const traces::Trace& trace, const CacheOptions& options, Tables& out) {
  out.requests = SglangSeqRow::kColumns;
  return run_sglang_seq(trace, options, [&](const SglangSeqRow& row) { row.append_to(out.requests, trace); });
}

}  // namespace

constinit const EngineReplay kSglangSeq{.name = "seq",
                                        .summary = "one request at a time",
                                        .needs = kNeeds,
                                        .takes = {},
                                        .has_steps = false,
                                        .run = make_tables};

void SglangSeqRow::append_to(std::string& out, const traces::Trace& trace) const {
  const std::size_t i = index(request);
  CsvLine(out)
      .add_all(request, trace.input_tokens[i], trace.output_tokens[i])
      .add(fits ? "ok" : "rejected")
      .add_all(hit_tokens, evicted_tokens_prefill, evicted_tokens_decode, evicted_nodes, evict_calls,
               available_after, evictable_after)
      .end_line();
}

Status run_sglang_seq(const traces::Trace& trace, const CacheOptions& options,
                      const std::function<void(const SglangSeqRow&)>& sink) {
  KVPLAN_TRY_DO(check_sglang_pool(options));
  const core::Workload workload = workload::build_step_workload(trace, kSglangQuantumMs);
  prefix::RadixPool pool(options.block_tokens, options.pool_tokens, true);
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    if (options.stop_asked != nullptr && options.stop_asked()) return interrupted_error();
    const std::size_t i = index(r);
    const std::int64_t pages = ceil_div(workload.final_tokens(r), options.block_tokens);
    if (workload.input[i] < 1 || workload.output[i] < 1 ||
        pages * options.block_tokens > pool.capacity_tokens()) {
      sink(SglangSeqRow{.request = r});
    } else {
      sink(serve_alone(pool, workload, r));
    }
  }
  return Done{};
}

}  // namespace kvplan::replays
