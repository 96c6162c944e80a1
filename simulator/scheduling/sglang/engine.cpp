// SGLang: its scheduler and radix cache, and the other parts in this folder. Its pages are as long as the blocks of
// the allocator, which must be `paged`.
#include <array>

#include "simulator/base/check.h"
#include "simulator/model/ranks.h"
#include "simulator/prefix/request_tokens.h"
#include "simulator/scheduling/engine.h"
#include "simulator/scheduling/sglang/naive_memory.h"
#include "simulator/scheduling/sglang/parts.h"
#include "simulator/scheduling/sglang/radix_memory.h"
#include "simulator/scheduling/sglang/replay/sched.h"
#include "simulator/scheduling/sglang/replay/seq.h"
#include "simulator/scheduling/sglang/replicas.h"

namespace kvplan::scheduling::sglang {
namespace {

constexpr std::array<std::string_view, 2> kPolicies{"fcfs", "lpm"};

constexpr std::array<Param, 11> kParams{{
    {.name = "policy",
     .help = "Order of the waiting queue: fcfs serves by arrival, lpm serves the longest cached prefix first "
             "(schedule_policy)",
     .kind = ParamKind::kText,
     .fallback = "fcfs",
     .choices = kPolicies},
    {.name = "max_running_requests",
     .help = "Maximum number of requests running at once",
     .unit = Unit::kRequests,
     .fallback = "256",
     .low = 1,
     .high = 1 << 24},
    {.name = "max_prefill_tokens",
     .help = "Maximum number of tokens in a prefill batch; its first request may exceed this",
     .unit = Unit::kTokens,
     .fallback = "16384",
     .low = 1,
     .high = 1 << 30},
    {.name = "chunked_prefill_size",
     .help = "Maximum number of tokens in a prefill batch, to which prompts are cut; a multiple of the "
             "block; 0 = no limit",
     .unit = Unit::kTokens,
     .fallback = "8192",
     .low = 0,
     .high = 1 << 30},
    {.name = "prefix_cache",
     .help = "Prefix caching: share equal prefixes in a radix tree (false: disable_radix_cache)",
     .kind = ParamKind::kFlag,
     .fallback = "true"},
    {.name = "context_length",
     .help = "Longest request: prompt plus output must be at least two tokens shorter, otherwise the request "
             "is rejected",
     .unit = Unit::kTokens,
     .fallback = "262144",
     .low = 8,
     .high = 1 << 30},
    {.name = "allow_longer_context_len",
     .help =
         "On a device, context_length may be longer than the model's own length, with which SGLang starts "
         "only if SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 is set",
     .kind = ParamKind::kFlag,
     .fallback = "false",
     .default_unsaid = true},
    {.name = "schedule_conservativeness",
     .help = "The initial new-token ratio is this factor times 0.7: the share of the tokens that running "
             "requests may still generate for which memory is reserved",
     .kind = ParamKind::kDecimal,
     .unit = Unit::kRatio,
     .fallback = "1",
     .low = 0,
     .high = 100},
    {.name = "decay_steps",
     .help = "Decode steps in which the new-token ratio falls to 14 percent of its initial value "
             "(SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS)",
     .fallback = "600",
     .low = 1,
     .high = 1 << 30},
    {.name = "clip_tokens",
     .help = "Maximum number of future tokens that admission assumes for one request "
             "(SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION)",
     .unit = Unit::kTokens,
     .fallback = "4096",
     .low = 1,
     .high = 1 << 30},
    {.name = "retract_decode_steps",
     .help = "Decode steps that must fit into memory after a retraction (SGLANG_RETRACT_DECODE_STEPS)",
     .fallback = "20",
     .low = 0,
     .high = 1 << 20},
}};

Params params_of(const Choice& engine) {
  Params params;
  params.order = engine.text("policy") == "lpm" ? QueueOrder::kLongestPrefix : QueueOrder::kArrival;
  params.max_running = engine.integer("max_running_requests");
  params.max_prefill_tokens = engine.integer("max_prefill_tokens");
  if (engine.integer("chunked_prefill_size") > 0)
    params.chunk_tokens = engine.integer("chunked_prefill_size");
  params.conservativeness = engine.decimal("schedule_conservativeness");
  params.decay_steps = engine.integer("decay_steps");
  params.clip_tokens = engine.integer("clip_tokens");
  params.retract_decode_steps = engine.integer("retract_decode_steps");
  return params;
}

EngineTraits traits(const Choice& engine) {
  return {.request_tokens = {engine.integer("context_length") - 2, "context_length"},
          .running = {engine.integer("max_running_requests"), "max_running_requests"},
          .step_tokens = {engine.integer("max_prefill_tokens"), "max_prefill_tokens"},
          .piece_tokens = {engine.integer("chunked_prefill_size"), "chunked_prefill_size"},
          .beyond_model = {.length = engine.integer("context_length"),
                           .variable = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN",
                           .param = "allow_longer_context_len",
                           .allowed = engine.flag("allow_longer_context_len")},
          .wants_prefixes = engine.flag("prefix_cache"),
          .index_of_its_own = true,
          .follows_policies = false,
          .reads_parts = false,
          .tells_blocks = false,
          .log = {.prefills_apart = true}};
}

/// The layout of slots in whole pages. SGLang has no padding: its slot 0 lies outside the pool.
Result<core::MemoryLayout> layout_of(std::int64_t page_tokens, const memory::AllocatorRequest& request) {
  core::MemoryLayout layout;
  layout.alloc_unit_tokens = page_tokens;
  layout.token_bytes = request.token_bytes;
  layout.metadata_bytes = request.metadata_bytes;
  layout.ids = core::AllocUnitIds::kTree;
  Wide capacity = request.pool.bytes;
  if (request.pool.blocks >= 0) capacity = Wide{request.pool.blocks} * layout.alloc_unit_bytes();
  if (request.pool.tokens >= 0) capacity = Wide{request.pool.tokens} * request.token_bytes;
  constexpr std::int64_t kLeastTokens = 8, kMostPages = std::int64_t{1} << 40;
  if (capacity > (Wide{1} << 62) || capacity / layout.alloc_unit_bytes() > kMostPages)
    return bad_input("expected a pool of at most 2^40 pages and 2^62 bytes").at_field("memory");
  layout.capacity_bytes = static_cast<std::int64_t>(capacity);
  layout.alloc_units = layout.capacity_bytes / layout.alloc_unit_bytes();
  if (layout.alloc_units * page_tokens < kLeastTokens)
    return bad_input("expected room for at least 8 tokens in whole blocks, found " +
                     std::to_string(layout.alloc_units) + " blocks of " + std::to_string(page_tokens))
        .at_field("memory");
  return layout;
}

Result<std::unique_ptr<core::Memory>> make_memory(const Choice& engine, const Choice& allocator,
                                                  const memory::AllocatorRequest& request, bool naive) {
  if (!memory::allocator_entry(allocator).frees_single_blocks)
    return bad_input("expected " + memory::allocators_with(&memory::AllocatorEntry::frees_single_blocks) +
                     ", which the radix tree of engine sglang needs, found " + std::string(allocator.name()))
        .at_field("memory.allocator");
  const std::int64_t page = allocator.integer("block_tokens");
  if (const std::int64_t chunk = engine.integer("chunked_prefill_size"); chunk % page != 0)
    return bad_input("expected a multiple of the block of " + std::to_string(page) + " tokens, found " +
                     std::to_string(chunk))
        .at_field("engine: chunked_prefill_size");
  const traces::PrefixHashes* const prefix = request.workload->prefix;
  if (prefix != nullptr && prefix->present() && prefix->block_tokens > prefix::kMostHashBlock)
    return bad_input("expected hash blocks of at most 2^31 tokens, found " +
                     std::to_string(prefix->block_tokens))
        .at_field("workload.trace");
  KVPLAN_TRY(const core::MemoryLayout layout, layout_of(page, request));
  const std::int64_t context = engine.integer("context_length");
  std::unique_ptr<core::Memory> memory;
  if (naive) {
    memory = std::make_unique<NaiveMemory>(*request.workload, layout, context, request.prefix_cache);
  } else {
    memory = std::make_unique<RadixMemory>(*request.workload, layout, context, request.prefix_cache);
  }
  return memory;
}

std::unique_ptr<core::Replica> make_replica(const Choice& engine, const core::ReplicaSetup& setup,
                                            core::Memory& memory, bool naive) {
  if (naive) {
    auto* const pages = dynamic_cast<NaiveMemory*>(&memory);
    KVPLAN_CHECK(pages != nullptr);
    return make_naive_replica(setup, params_of(engine), *pages);
  }
  auto* const radix = dynamic_cast<RadixMemory*>(&memory);
  KVPLAN_CHECK(radix != nullptr);
  return make_fast_replica(setup, params_of(engine), *radix);
}

constexpr EngineEntry kScheduler{
    .descriptor =
        {.family = "engine",
         .name = "sglang",
         .summary =
             "Prefill batches before decode batches, radix-tree prefix caching, admission by the tokens that "
             "running requests may still generate, and retraction of the requests that generated least. Its "
             "pages are the allocator's blocks (SGLang's own default page is 1 token).",
         .source = "sgl-project/sglang v0.5.5 (0c006b8809): python/sglang/srt/managers/scheduler.py",
         .params = kParams},
    .traits = traits,
    .make_memory = make_memory,
    .make_replica = make_replica};

constexpr std::array kReplays{&replays::kSglangSeq, &replays::kSglangSched};

}  // namespace

extern const Engine kEngine;
constinit const Engine kEngine{.scheduler = &kScheduler,
                               .pool_rule = &kPoolRule,
                               .kernels = "sglang",
                               .defaults_on = defaults_on,
                               .stage_layers = model::last_stages_longer,
                               .server_flags = server_flags,
                               .replays = kReplays};

}  // namespace kvplan::scheduling::sglang
