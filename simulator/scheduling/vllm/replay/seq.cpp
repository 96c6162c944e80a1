#include "simulator/scheduling/vllm/replay/seq.h"

#include <array>

#include "simulator/base/check.h"
#include "simulator/scheduling/replay/csv_line.h"
#include "simulator/scheduling/vllm/replay/pool.h"
#include "simulator/workload/workload_builder.h"

namespace kvplan::replays {
namespace {

/// Steps (1) to (4) of the definition for one request.
SeqRow serve_alone(core::Allocator& pool, EvictionCounter& evicted, const core::Workload& workload,
                   RequestId r, std::int64_t block) {
  core::Contents& contents = contents_of(pool);
  SeqRow row{};
  row.request = r;
  const auto length = static_cast<std::int64_t>(workload.input[index(r)]);
  const core::PrefixHit found = contents.lookup(r, length);
  KVPLAN_CHECK(pool.admit(r, found, length, length), r);
  contents.insert(r, length);
  row.fits = true;
  row.hit_tokens = found.tokens;
  row.new_blocks_prefill = pool.table(r).alloc_units - found.tokens / block;
  row.evicted_prefill = evicted.take();
  const std::int64_t after_prefill = pool.table(r).alloc_units;
  for (std::int64_t tokens = length + 1; tokens <= workload.final_tokens(r); ++tokens) {
    // A decode step changes nothing unless a block is needed or filled.
    if (tokens % block != 0 && (tokens - 1) % block != 0) continue;
    KVPLAN_CHECK(pool.grow(r, tokens), r, tokens);
    contents.insert(r, tokens);
  }
  row.new_blocks_decode = pool.table(r).alloc_units - after_prefill;
  row.evicted_decode = evicted.take();
  row.table_len = pool.table(r).alloc_units;
  row.table_crc32 = table_crc32(pool.table(r).ids);
  pool.release(r, workload.final_tokens(r));
  contents.forget(r);
  row.cached_hashes_after = pool.counts().distinct_names;
  row.free_blocks_after = pool.counts().free + pool.counts().cached;
  return row;
}

constexpr std::array<std::string_view, 2> kNeeds{"--block-tokens", "--blocks"};
constexpr std::array<std::string_view, 2> kTakes{"--no-prefix-cache", "--step-by-step"};

Status make_tables(const traces::Trace& trace, const CacheOptions& options, Tables& out) {
  out.requests = SeqRow::kColumns;
  return run_vllm_seq(trace, options, [&](const SeqRow& row) { row.append_to(out.requests, trace); });
}

}  // namespace

constinit const EngineReplay kVllmSeq{.name = "seq",
                                      .summary = "one request at a time",
                                      .needs = kNeeds,
                                      .takes = kTakes,
                                      .has_steps = false,
                                      .run = make_tables};

void SeqRow::append_to(std::string& out, const traces::Trace& trace) const {
  const std::size_t i = index(request);
  CsvLine(out)
      .add_all(request, trace.input_tokens[i], trace.output_tokens[i])
      .add(fits ? "ok" : "rejected")
      .add_all(hit_tokens, new_blocks_prefill, new_blocks_decode, evicted_prefill, evicted_decode, table_len,
               table_crc32, cached_hashes_after, free_blocks_after)
      .end_line();
}

Status run_vllm_seq(const traces::Trace& trace, const CacheOptions& options,
                    const std::function<void(const SeqRow&)>& sink) {
  const core::Workload workload = workload::build_step_workload(trace, kSchedQuantumMs);
  KVPLAN_TRY(const auto pool, make_vllm_pool(workload, options));
  EvictionCounter evicted;
  contents_of(*pool).set_listener(&evicted);
  for (const RequestId r : ids_below<RequestId>(workload.size())) {
    if (options.stop_asked != nullptr && options.stop_asked()) return interrupted_error();
    const std::size_t i = index(r);
    if (workload.input[i] < 1 || workload.output[i] < 1 || !pool->fits_empty(r)) {
      sink(SeqRow{.request = r});
    } else {
      sink(serve_alone(*pool, evicted, workload, r, options.block_tokens));
    }
  }
  return Done{};
}

}  // namespace kvplan::replays
