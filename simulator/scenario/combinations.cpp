#include "simulator/scenario/combinations.h"

#include <algorithm>
#include <array>

#include "simulator/base/check.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {
namespace {

constexpr std::string_view kPartOfEviction = "eviction";
constexpr std::string_view kPartOfFormat = "format";
constexpr std::string_view kPartOfAllocator = "memory.allocator";
constexpr std::string_view kPartOfEngine = "engine";
constexpr std::string_view kPartOfDeployment = "deployment";
constexpr std::string_view kPartOfModel = "model";

constexpr auto kParts = std::to_array<PartKind>({
    {Part::kPolicy, "policy", kPartOfEviction, "", "any token policy (all but full)"},
    {Part::kCompact, "compact", kPartOfEviction, "placement=compact",
     "kept tokens are moved together, which frees whole blocks"},
    {Part::kReuse, "reuse", kPartOfEviction, "placement=reuse",
     "later tokens take the slots of evicted ones"},
    {Part::kNotCounted, "not-counted", kPartOfEviction, "",
     "a policy that is replayed, or without placement=compact: lengths do not give its number of tokens"},
    {Part::kVaryingCount, "varying-count", kPartOfEviction, "",
     "a counted policy with a number of kept tokens that varies or depends on the prompt"},
    {Part::kUntoldTokens, "unknown-tokens", kPartOfEviction, "",
     "a counted policy that evicts while decoding, when lengths do not say which tokens"},
    {Part::kScores, "by-score", kPartOfEviction, "",
     "a policy that selects tokens by scores, not by positions"},
    {Part::kScoresOfHeads, "by-score-per-head", kPartOfEviction, "",
     "a policy that selects tokens by scores for each KV head separately"},
    {Part::kCourses, "schedules", kPartOfEviction, "",
     "any policy except window and streaming-llm that have placement=holes and no budget"},
    {Part::kKnownByPart, "tokens-per-layer", kPartOfEviction, "",
     "a policy with known tokens that differ between layers or heads: replayed, or retained sets"},
    {Part::kNumbersByPart, "numbers-per-layer", kPartOfEviction, "",
     "a policy or budget with different numbers of tokens for layers or heads"},
    {Part::kNumbersByHead, "numbers-per-head", kPartOfEviction, "",
     "a policy or budget with different numbers of tokens for heads of one layer"},
    {Part::kCellsByPart, "separate-layers", kPartOfEviction, "",
     "a policy, budget or block tables that treat layers or heads separately"},
    {Part::kSets, "sets", kPartOfEviction, "", "retained token sets from a file (recorded)"},
    {Part::kWholePrompt, "whole-prompt", kPartOfEviction, "",
     "a policy that needs the attention or the queries of the whole prompt"},
    {Part::kNoNumber, "no-number", kPartOfEviction, "",
     "full, or a policy without a parameter for its number of tokens"},
    {Part::kBudget, "budget", "budget", "", "a number of tokens for each layer or head"},
    {Part::kMeasuredBudget, "measured-budget", "budget", "",
     "a budget that is computed from the attention of the prompt"},
    {Part::kFormat, "format", kPartOfFormat, "", "any format but native"},
    {Part::kEncoded, "encoded", kPartOfFormat, "",
     "a format that encodes the tokens of a request jointly (kivi, gear, minicache), or a window_format"},
    {Part::kEncodedLayers, "encoded-layers", kPartOfFormat, "",
     "a format that encodes tokens jointly and has different bytes in different layers"},
    {Part::kNeedsTokens, "needs-tokens", kPartOfFormat, "",
     "a format with bytes that also depend on which tokens were evicted"},
    {Part::kSharedHeads, "shared-heads", kPartOfFormat, "",
     "a format in which heads share stored parts of a token (palu, kvquant)"},
    {Part::kLayersTogether, "joint-layers", kPartOfFormat, "",
     "a format that stores several layers jointly (cla, minicache)"},
    {Part::kMergedLayers, "encoded-joint-layers", kPartOfFormat, "",
     "a format that encodes several layers jointly (minicache)"},
    {Part::kWidths, "layer-bytes", kPartOfFormat, "",
     "a format with different bytes per token in different layers"},
    {Part::kByHead, "codec", kPartOfFormat, "", "a codec, which needs keys and values by head"},
    {Part::kWindowFormat, "window-format", "window_format",
     "a format of its own for sliding-window layers (window_format)", "window_format, all but none"},
    {Part::kReader, "sparse-attention", "reader", "",
     "decode steps read a part of the kept tokens (all readers but full)"},
    {Part::kNoCache, "no-cache", kPartOfAllocator, "", "an allocator without a KV cache"},
    {Part::kWindowMemory, "window-memory", kPartOfAllocator, "",
     "an allocator that frees blocks behind sliding windows (grouped)"},
    {Part::kNoBlockTables, "not-paged", kPartOfAllocator, "", "any allocator but paged"},
    {Part::kTables, "tables", kPartOfAllocator, "several block tables (memory.allocator.table)",
     "a block table for each layer or KV head (paged:table=layer, paged:table=head)"},
    {Part::kPolicyTables, "tables-with-policy", kPartOfAllocator,
     "several block tables (memory.allocator.table)", "such block tables with a token policy"},
    {Part::kWindowTables, "tables-with-windows", kPartOfAllocator,
     "sliding-window layers with block tables of their own",
     "block tables per layer or head in a model with sliding windows, with placement=compact or reuse"},
    {Part::kNoSharing, "no-sharing", kPartOfAllocator, "",
     "an allocator that shares no blocks between requests"},
    {Part::kBytes, "bytes", kPartOfAllocator, "",
     "memory that is allocated in bytes (caching, vmm), not in token slots"},
    {Part::kGrowing, "growing", kPartOfAllocator, "", "memory in which ranges grow in place (growing)"},
    {Part::kNoPolicies, "no-policies", kPartOfEngine, "",
     "an engine that supports no token policy (sglang), or none with its parameters"},
    {Part::kOwnOrder, "radix-tree", kPartOfEngine, "",
     "an engine that evicts cached blocks in its own order (sglang)"},
    {Part::kReadsAll, "reads-all", kPartOfEngine, "",
     "an engine with attention that reads all kept tokens (sglang)"},
    {Part::kCountsPages, "counts-pages", kPartOfEngine, "", "an engine that only counts pages (sglang)"},
    {Part::kReplacement, "replacement", "memory.replacement", "", "any replacement policy but the default"},
    {Part::kPrefixCache, "prefix-cache", kPartOfEngine, "prefix_cache", "prefix caching"},
    {Part::kMeasuredSteps, "measured-steps", "latency", "",
     "a latency model with measured times of whole steps (calibrated)"},
    {Part::kStages, "stages", "deployment.pp", "", "several pipeline stages"},
    {Part::kRanks, "ranks", kPartOfDeployment, "a deployment of several ranks",
     "deployment.tp or deployment.pp above 1"},
    {Part::kApartRanks, "separate-tables", kPartOfDeployment,
     "a deployment with ranks that share no block tables",
     "tables of layers with several stages, or tables of heads with several ranks"},
    {Part::kLatentModel, "latent-model", kPartOfModel, "", "a model that stores a latent vector (MLA)"},
    {Part::kNoWindows, "no-windows", kPartOfModel, "", "a model without sliding-window layers"},
    {Part::kUnlikeLayers, "unlike-layers", kPartOfModel, "",
     "a model with different bytes per token in different layers"},
    {Part::kOtherShape, "other-shape", "workload.attention", "workload.extrapolation=shape",
     "recordings of another shape than the model's"},
    {Part::kEvents, "events", "--events", "--events", "an event log of the run"},
    {Part::kHolders, "holders", "--holders", "--holders", "which request holds which block"},
});

constexpr std::string_view kPlainFormat = "a format that stores each token alone";
constexpr std::string_view kFullEviction = "eviction=full";
constexpr std::string_view kFullReader = "reader=full";
constexpr std::string_view kOneTable = "memory.allocator=paged:table=all";

using enum Part;
using enum Together;
using enum Known;

constexpr auto kTable = std::to_array<Combination>({
    {kReader, kPolicy, kRefused, kScenario,
     "sparse attention needs a cache that keeps every token, and the policy evicts some",
     "eviction=full, or reader=full"},
    {kReader, kEncoded, kRefused, kScenario,
     "the format encodes tokens jointly, and reading some of them is not modelled",
     "reader=full, or a format that stores each token alone and window_format=none"},
    {kReader, kSharedHeads, kRefused, kScenario,
     "heads share what the format stores for a token, but each head would select its own tokens",
     kFullReader},
    {kReader, kReadsAll, kRefused, kScenario, "the attention of the engine reads the whole cache",
     "reader=full, or engine=vllm-v1"},
    {kReader, kNoCache, kRefused, kScenario, "the allocator has no KV cache to read from", kFullReader},
    {kReader, kWindowMemory, kRefused, kScenario, "the allocator evicts by sliding windows",
     "reader=full, or memory.allocator=paged"},
    {kReader, kMeasuredSteps, kRefused, kScenario,
     "whole step times were measured on an engine that reads the whole cache",
     "reader=full, or another latency model"},
    {kPolicy, kNoPolicies, kRefused, kScenario, "the engine supports no token policy",
     "eviction=full, or engine=vllm-v1 with default parameters"},
    {kReplacement, kOwnOrder, kRefused, kScenario,
     "the engine has its own order in which cached blocks are evicted",
     "memory.replacement=vllm-queue (the default), or engine=vllm-v1"},
    {kPolicy, kNoCache, kRefused, kScenario, "the allocator has no KV cache that a policy could evict from",
     kFullEviction},
    {kFormat, kNoCache, kRefused, kScenario, "the allocator has no KV cache that a format could store",
     "format=native"},
    {kWindowFormat, kNoCache, kRefused, kScenario, "the allocator has no KV cache that a format could store",
     "window_format=none"},
    {kScoresOfHeads, kSharedHeads, kRefused, kScenario,
     "the policy keeps different tokens in different heads, which the format stores as one vector per token",
     "a policy that selects by position, or one set per layer (tova)"},
    {kEncoded, kNoBlockTables, kRefused, kScenario,
     "what the format stores for a token depends on all tokens of the request, so its blocks are filled by "
     "bytes",
     "memory.allocator=paged, or a format that stores each token alone"},
    {kEncoded, kTables, kRefused, kScenario,
     "what the format stores for a token depends on all tokens of the request, in one table per request",
     kOneTable},
    {kEncoded, kNoPolicies, kRefused, kScenario,
     "the engine supports only formats that encode every token when it is written", kPlainFormat},
    {kLayersTogether, kWindowFormat, kRefused, kScenario,
     "the format stores several layers jointly, but sliding-window layers are stored apart",
     "window_format=none, or formats that store each layer alone"},
    {kNotCounted, kNeedsTokens, kRefused, kScenario,
     "the format's bytes depend on how many tokens are kept and on which tokens are evicted while decoding",
     "eviction=full, or placement=compact with a policy that evicts only from the prompt (snapkv, pyramidkv) "
     "or by position (window, streaming-llm)"},
    {kNotCounted, kEncoded, kRefused, kScenario,
     "the format's bytes depend on all tokens of the request, so the number of kept tokens must follow from "
     "lengths",
     "eviction=full, or a policy counted from lengths with placement=compact (window, tova, snapkv)"},
    {kVaryingCount, kEncoded, kRefused, kScenario,
     "the format's bytes are not known when the number of kept tokens varies or depends on the prompt",
     "eviction=full, or a policy with a fixed number of tokens and placement=compact (window, tova, snapkv)"},
    {kUntoldTokens, kNeedsTokens, kRefused, kScenario,
     "the format's bytes depend on how many tokens are kept and on which tokens are evicted while decoding",
     "eviction=full, or placement=compact with a policy that evicts only from the prompt (snapkv, pyramidkv) "
     "or, if positions suffice, by position (window, streaming-llm)"},
    {kCompact, kNoBlockTables, kRefused, kScenario,
     "compaction moves kept tokens together to free single blocks, and only paged memory frees single blocks",
     "memory.allocator=paged, or placement=holes"},
    {kBudget, kNoNumber, kRefused, kScenario, "a budget replaces the number of tokens of a policy",
     "a policy with a number of tokens"},
    {kOtherShape, kBudget, kRefused, kModel,
     "the budget's numbers are for the model's layers and heads, which recordings of another shape lack",
     "budget=none, or recordings of the model"},
    {kUnlikeLayers, kCellsByPart, kRefused, kModel,
     "layers have different bytes per token, and the policy, its budget or the block tables treat layers or "
     "heads separately",
     "a model with equal bytes per token in all layers"},
    {kWidths, kCellsByPart, kRefused, kModel,
     "layers have different bytes per token in this format, and the policy, its budget or the block tables "
     "treat layers or heads separately",
     "an eviction policy, budget and memory.allocator.table that treat all layers and heads alike"},
    {kReader, kWidths, kRefused, kModel, "layers have different bytes per token", kFullReader},
    {kReader, kLatentModel, kRefused, kModel,
     "sparse attention reads keys by head, and the model stores one vector for all heads", kFullReader},
    {kByHead, kLatentModel, kRefused, kModel,
     "a codec needs keys and values by head, and the model stores a latent vector",
     "format=native or another format of elements"},
    {kWindowFormat, kNoWindows, kRefused, kModel, "no layer of the model has a sliding window",
     "window_format=none"},
    {kReader, kStages, kDepends, kModel,
     "layers with different metadata would give pipeline stages different bytes per token",
     "deployment.pp=1, or the same metadata in every layer (dense_layers=0)"},
    {kNumbersByHead, kEncoded, kRefused, kModel,
     "the encoded bytes of a layer depend on which heads keep a token",
     "a policy or budget with one number of tokens for all heads of a layer"},
    {kScores, kMergedLayers, kRefused, kModel,
     "the format stores several layers jointly, but an attention-based policy keeps different tokens in them",
     kFullEviction},
    {kEncodedLayers, kStages, kRefused, kModel,
     "layers have different bytes per token, so stages would need different numbers of blocks",
     "one stage (deployment.pp=1)"},
    {kApartRanks, kKnownByPart, kRefused, kModel,
     "the policy keeps different tokens in each layer or head, and a run simulates one rank",
     "memory.allocator=paged:table=all, or one rank"},
    {kRanks, kNumbersByPart, kDepends, kModel,
     "a run simulates one rank, and ranks that share no block tables must keep the same numbers of tokens",
     "memory.allocator=paged:table=all, or one rank (deployment.tp=1, deployment.pp=1)"},
    {kNoBlockTables, kOwnOrder, kRefused, kMemory, "the radix tree of the engine needs pages of one pool",
     "memory.allocator=paged, or engine=vllm-v1"},
    {kPolicy, kWindowMemory, kRefused, kMemory,
     "the allocator evicts by sliding windows only; it supports no token policy",
     "eviction=full, or memory.allocator=paged"},
    {kCourses, kBytes, kRefused, kMemory,
     "the allocator allocates memory in bytes, not in token slots: the only token policies that it supports "
     "are window and streaming-llm with placement=holes",
     "placement=holes, or memory.allocator=paged"},
    {kCourses, kGrowing, kRefused, kMemory,
     "growing ranges are not supported with a replayed policy or with a policy that reuses slots",
     "memory that is allocated in blocks, or as a whole (paged, contiguous)"},
    {kEvents, kWindowTables, kRefused, kMemory,
     "a log has one placement for all tables of a request, but sliding-window layers evict without moving "
     "tokens",
     "placement=holes, memory.allocator=paged:table=all, or a model without windows"},
    {kEvents, kEncoded, kRefused, kMemory,
     "a log records the slot of every token, but encoded tokens have none",
     "a format that stores each token alone, and window_format=none"},
    {kHolders, kPolicyTables, kRefused, kMemory, "the owners of blocks in several tables are not recorded",
     kOneTable},
    {kHolders, kEncoded, kRefused, kMemory, "the owners of blocks with encoded tokens are not recorded",
     "a format that stores each token alone, and window_format=none"},
    {kHolders, kCountsPages, kRefused, kMemory, "the engine counts pages without their owners",
     "engine=vllm-v1"},
    {kPrefixCache, kNoSharing, kIgnored, kMemory, "the allocator cannot share memory between requests", ""},
    {kPrefixCache, kEncoded, kIgnored, kMemory,
     "blocks hold the encoded bytes of one whole request, which other requests cannot share", ""},
    {kPrefixCache, kCompact, kIgnored, kMemory, "tokens move out of the blocks that other requests would hit",
     ""},
    {kPrefixCache, kSets, kIgnored, kMemory,
     "the retained sets in the file are for one request, and do not cover other requests that hit its blocks",
     ""},
    {kPrefixCache, kReuse, kIgnored, kMemory, "later tokens overwrite blocks that other requests would hit",
     ""},
    {kPrefixCache, kPolicyTables, kIgnored, kMemory,
     "tables per layer or head free their blocks separately, so other requests could not hit a whole prefix",
     ""},
    {kPrefixCache, kMeasuredBudget, kIgnored, kMemory,
     "the budget needs the attention of the whole prompt, which is not computed for hit blocks", ""},
    {kPrefixCache, kWholePrompt, kIgnored, kMemory,
     "the policy needs attention or queries of the whole prompt, which are not computed for hit blocks", ""},
});

/// "h2o" of "h2o:hh=4,recent=4".
std::string_view name_in(std::string_view text) {
  return text.substr(0, text.find(':'));
}

/// The scenario path of the part. A part of both `format` and `window_format` is named after one of them.
std::string_view path_of(Part part, const Scenario& s) {
  const bool by_window = s.window_format && (part == kEncoded || part == kEncodedLayers ? !s.encoded
                                             : part == kLayersTogether ? !stores_layers_together(s)
                                                                       : false);
  return part_kind(by_window ? kWindowFormat : part).path;
}

const Combination& combination(Part part, Part other) {
  const Combination* const found = combination_of(part, other);
  KVPLAN_CHECK(found != nullptr && found->part == part && found->together != kIgnored, static_cast<int>(part),
               static_cast<int>(other));
  return *found;
}

Error refusal(const Combination& found, std::string_view said, std::string_view other_said,
              std::string_view detail) {
  std::string text(said);
  text.append(" does not work with ").append(other_said).append(": ").append(found.reason);
  if (!detail.empty()) text.append(" (").append(detail).append(")");
  return bad_input(text.append(". Use ").append(found.use));
}

}  // namespace

std::span<const PartKind> part_kinds() {
  return kParts;
}

const PartKind& part_kind(Part part) {
  const PartKind& kind = kParts[static_cast<std::size_t>(part)];
  KVPLAN_CHECK(kind.part == part, static_cast<int>(part));
  return kind;
}

std::string_view together_name(Together together) {
  switch (together) {
    case kRefused:
      return "refused";
    case kIgnored:
      return "ignored";
    case kDepends:
      return "depends";
  }
  return {};
}

std::span<const Combination> combinations() {
  return kTable;
}

const Combination* combination_of(Part one, Part other) {
  for (const Combination& each : kTable)
    if ((each.part == one && each.other == other) || (each.part == other && each.other == one)) return &each;
  return nullptr;
}

std::string said_of(Part part, const Scenario& s) {
  const PartKind& kind = part_kind(part);
  if (!kind.said.empty()) return std::string(kind.said);
  if (part == kNoPolicies)
    if (const std::string_view setting = s.engine_traits().no_policies_when; !setting.empty())
      return std::string(kind.path) + "." + std::string(setting);
  const std::string_view path = path_of(part, s);
  return std::string(path) + "=" + std::string(name_in(s.text(path)));
}

Error refused_together(Part part, Part other, const Scenario& s, std::string_view detail) {
  return refusal(combination(part, other), said_of(part, s), said_of(other, s), detail)
      .at_field(path_of(part, s));
}

Error refused_together(Part part, Part other, std::string_view other_said, std::string_view detail) {
  const PartKind& kind = part_kind(part);
  KVPLAN_CHECK(!kind.said.empty(), static_cast<int>(part));
  return refusal(combination(part, other), kind.said, other_said, detail).at_field(kind.path);
}

Status check_combinations(const RunParts& parts, const Scenario& s, Known now) {
  for (const Combination& each : kTable)
    if (each.together == kRefused && each.known <= now && parts.has(each.part) && parts.has(each.other))
      return refused_together(each.part, each.other, s);
  return Done{};
}

std::string why_ignored(Part part, const RunParts& parts, const Scenario& s) {
  for (const Combination& each : kTable)
    if (each.together == kIgnored && each.part == part && parts.has(part) && parts.has(each.other))
      return said_of(part, s) + " is ignored with " + said_of(each.other, s) + ": " +
             std::string(each.reason) + ".";
  return {};
}

}  // namespace kvplan::runs
