// vLLM V1: its scheduler over any allocator, and the other parts in this folder.
#include <array>

#include "simulator/base/check.h"
#include "simulator/model/device.h"
#include "simulator/scheduling/engine.h"
#include "simulator/scheduling/vllm/parts.h"
#include "simulator/scheduling/vllm/replay/hold.h"
#include "simulator/scheduling/vllm/replay/sched.h"
#include "simulator/scheduling/vllm/replay/seq.h"
#include "simulator/scheduling/vllm/replay/seqswa.h"
#include "simulator/scheduling/vllm/replicas.h"

namespace kvplan::scheduling::vllm {
namespace {

constexpr std::string_view kHeld = "held";
constexpr std::array<std::string_view, 2> kReads{"kept", kHeld};

constexpr std::array<std::string_view, 2> kPolicies{"fcfs", "priority"};
constexpr std::string_view kNoPriorities =
    "The trace has no priorities: all requests have the same priority, and the latest arrival is preempted "
    "first.";

constexpr std::array<Param, 8> kParams{{
    {.name = "policy",
     .help = "Queue order and preemption order: fcfs admits by arrival and preempts the latest; priority "
             "admits and preempts by the requests' priorities (scheduling_policy)",
     .kind = ParamKind::kText,
     .fallback = "fcfs",
     .choices = kPolicies,
     .default_unsaid = true},
    {.name = "token_budget",
     .help = "Maximum number of tokens computed in one step (max_num_batched_tokens)",
     .unit = Unit::kTokens,
     .fallback = "8192",
     .low = 1,
     .high = 1 << 30},
    {.name = "max_seqs",
     .help = "Maximum number of requests running at once (max_num_seqs)",
     .unit = Unit::kRequests,
     .fallback = "256",
     .low = 1,
     .high = 1 << 24},
    {.name = "long_prefill_threshold",
     .help = "Maximum number of tokens of one prompt computed in one step; 0 = no limit "
             "(long_prefill_token_threshold)",
     .unit = Unit::kTokens,
     .fallback = "0",
     .low = 0,
     .high = 1 << 30},
    {.name = "prefix_cache",
     .help = "Prefix caching: share blocks with equal content and prefix",
     .kind = ParamKind::kFlag,
     .fallback = "true"},
    {.name = "max_model_len",
     .help = "Longest request: a request with a larger sum of prompt and output is rejected",
     .unit = Unit::kTokens,
     .fallback = "262144",
     .low = 1,
     .high = 1 << 30},
    {.name = "allow_long_max_model_len",
     .help =
         "On a device, max_model_len may be longer than the model's own length, with which vLLM starts only "
         "if VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set",
     .kind = ParamKind::kFlag,
     .fallback = "false",
     .default_unsaid = true},
    {.name = "reads",
     .help = "What attention reads after a token policy evicted tokens. kept: only the kept tokens, by a "
             "kernel with a list of them. all: every token of the held blocks, masked, as vLLM's own kernels "
             "read every token of a block table up to its length (csrc/attention/attention_kernels.cuh)",
     .kind = ParamKind::kText,
     .fallback = "kept",
     .choices = kReads,
     .default_unsaid = true},
}};

Params params_of(const Choice& engine) {
  return {.token_budget = engine.integer("token_budget"),
          .max_seqs = engine.integer("max_seqs"),
          .long_prefill_threshold = engine.integer("long_prefill_threshold"),
          .max_model_len = engine.integer("max_model_len"),
          .by_priority = engine.text("policy") == "priority"};
}

EngineTraits traits(const Choice& engine) {
  const Params params = params_of(engine);
  return {.request_tokens = {params.max_model_len, "max_model_len"},
          .running = {params.max_seqs, "max_seqs"},
          .step_tokens = {params.token_budget, "token_budget"},
          .piece_tokens = {params.long_prefill_threshold, "long_prefill_threshold"},
          .beyond_model = {.length = params.max_model_len,
                           .variable = "VLLM_ALLOW_LONG_MAX_MODEL_LEN",
                           .param = "allow_long_max_model_len",
                           .allowed = engine.flag("allow_long_max_model_len"),
                           .counts_scaling = true},
          .wants_prefixes = engine.flag("prefix_cache"),
          .prefixes_beside_states = "prefix_cache",
          .follows_policies = !params.by_priority,
          .no_policies_when = "policy=priority",
          .reads_holes = engine.text("reads") == kHeld,
          .without_priorities = params.by_priority ? kNoPriorities : std::string_view(),
          .log = {.by_priority = params.by_priority}};
}

Result<std::unique_ptr<core::Memory>> make_memory(const Choice& engine, const Choice& allocator,
                                                  const memory::AllocatorRequest& request, bool naive) {
  const memory::AllocatorEntry& entry = memory::allocator_entry(allocator);
  KVPLAN_TRY(std::unique_ptr<core::Allocator> memory,
             naive ? entry.make_model(allocator, request) : entry.make(allocator, request));
  // Moves that made room for a request, and the freeing of blocks that left its windows, cannot be undone when it is
  // preempted later in the same step.
  if (params_of(engine).by_priority && (memory->placing() != nullptr || !memory->layout().groups.empty()))
    return bad_input(
               "expected memory without compaction, without allocation time and with one table for all "
               "layers, because policy=priority can preempt a request in the pass that allocated for it; "
               "found " +
               allocator.to_string())
        .at_field("memory.allocator");
  return std::unique_ptr<core::Memory>(std::move(memory));
}

std::unique_ptr<core::Replica> make_replica(const Choice& engine, const core::ReplicaSetup& setup,
                                            core::Memory& memory, bool naive) {
  auto* const allocator = dynamic_cast<core::Allocator*>(&memory);
  KVPLAN_CHECK(allocator != nullptr);
  const auto make = naive ? make_naive_replica : make_fast_replica;
  return make(setup, params_of(engine), *allocator);
}

/// EngineArgs.get_batch_defaults, of the API server.
std::vector<ServerDefault> defaults_on(const model::DeviceShape& device) {
  if (is_large(device.name, device.at(model::DeviceFigure::kUsableBytes).value))
    return {{"max_seqs", 1024}, {"token_budget", 8192}};
  return {{"max_seqs", 256}, {"token_budget", 2048}};
}

constexpr EngineEntry kScheduler{
    .descriptor = {.family = "engine",
                   .name = "vllm-v1",
                   .summary = "Continuous batching with chunked prefill, prefix caching, and preemption by "
                              "recompute; first come first served or by priority.",
                   .source = "vllm-project/vllm v0.15.1 (1892993): vllm/v1/core/sched/scheduler.py",
                   .params = kParams},
    .traits = traits,
    .make_memory = make_memory,
    .make_replica = make_replica};

constexpr std::array kReplays{&replays::kVllmSeq, &replays::kVllmSeqswa, &replays::kVllmHold,
                              &replays::kVllmSched};

}  // namespace

extern const Engine kEngine;
constinit const Engine kEngine{.scheduler = &kScheduler,
                               .pool_rule = &kPoolRule,
                               .kernels = "vllm",
                               .defaults_on = defaults_on,
                               .server_flags = server_flags,
                               .replays = kReplays};

}  // namespace kvplan::scheduling::vllm
