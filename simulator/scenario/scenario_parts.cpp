// The parts of a scenario (combinations.h), from the traits of the components that it names.
#include "simulator/attention/catalogue.h"
#include "simulator/memory/allocators.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scenario/run_budget.h"
#include "simulator/scenario/run_format.h"
#include "simulator/scenario/scenario.h"

namespace kvplan::runs {
namespace {

/// Null if the format stores elements instead.
const formats::FormatKind* codec_of(const RunFormat& format) {
  return format.encoded ? format.encoded->kind : codec_kind(format.of_token.choice);
}

bool together(const formats::FormatKind* kind) {
  return kind != nullptr && kind->other_layers != nullptr;
}

/// REQUIRES: a policy is chosen.
void add_policy(const Scenario& s, RunParts& parts) {
  const attention::PolicyChoice policy = attention::policy_of(*s.eviction);
  const attention::PolicyTraits traits = policy.kind->traits(policy.choice);
  const bool counted = s.evicts_by == EvictsBy::kCounts;
  const bool cuts_prompt = counted && ((policy.kind->layer_counts != nullptr && !traits.thins) ||
                                       (traits.count && traits.count->once));
  const bool varies = counted && !cuts_prompt && !traits.count && !traits.head_tables;
  const bool by_position =
      traits.interval && s.encoded && formats::follows_from_positions(*s.encoded, traits.interval->sink);
  parts.add(Part::kPolicy);
  parts.add(Part::kCompact, s.eviction->text("placement") == "compact");
  parts.add(Part::kReuse, s.eviction->text("placement") == "reuse");
  parts.add(Part::kNotCounted, !counted);
  parts.add(Part::kVaryingCount, varies);
  parts.add(Part::kUntoldTokens, counted && !cuts_prompt && !by_position);
  parts.add(Part::kScores, !traits.interval);
  // An encoded format that drops only prompt tokens drops them before heads begin to share parts of the prompt.
  const bool encoded_after = s.encoded && cuts_prompt;
  parts.add(Part::kScoresOfHeads,
            !traits.interval && traits.scope != attention::Scope::kLayer && !encoded_after);
  parts.add(Part::kSets, s.evicts_by == EvictsBy::kSets);
  parts.add(Part::kWholePrompt, traits.computed_rows() == attention::kAllRows);
}

void add_formats(const Scenario& s, RunParts& parts) {
  const auto& of_token = s.deployment.format;
  const formats::FormatKind* const codec = s.encoded  ? s.encoded->kind
                                           : of_token ? codec_kind(of_token->choice)
                                                      : nullptr;
  const bool windows_together = s.window_format && together(codec_of(*s.window_format));
  parts.add(Part::kFormat, s.encoded || (of_token && !model::is_native(of_token->choice)));
  parts.add(Part::kEncoded, s.encodes());
  parts.add(Part::kNeedsTokens, s.encoded && !formats::follows_from_count(*s.encoded));
  parts.add(Part::kSharedHeads,
            (of_token && joins_heads(*of_token)) || (s.encoded && s.encoded->kind->lengths.heads_share &&
                                                     formats::follows_from_count(*s.encoded)));
  parts.add(Part::kLayersTogether, together(codec) || windows_together);
  parts.add(Part::kMergedLayers, s.encoded && together(codec));
  parts.add(Part::kByHead, codec != nullptr);
  parts.add(Part::kWindowFormat, s.window_format.has_value());
}

void add_memory(const Scenario& s, RunParts& parts) {
  const memory::AllocatorEntry& entry = memory::allocator_entry(s.allocator);
  parts.add(Part::kNoCache, entry.keeps_nothing);
  parts.add(Part::kWindowMemory, entry.follows_windows);
  parts.add(Part::kNoSharing, !entry.shares_prefixes);
  parts.add(Part::kNoBlockTables, entry.table_per == nullptr);
  parts.add(Part::kTables,
            entry.table_per != nullptr && entry.table_per(s.allocator) != memory::TablePer::kRequest);
  parts.add(Part::kReplacement, s.replaces_by_policy());
}

void add_engine(const Scenario& s, RunParts& parts) {
  const scheduling::EngineTraits traits = s.engine_traits();
  parts.add(Part::kNoPolicies, !traits.follows_policies);
  parts.add(Part::kOwnOrder, traits.index_of_its_own);
  parts.add(Part::kReadsAll, !traits.reads_parts);
  parts.add(Part::kCountsPages, !traits.tells_blocks);
  parts.add(Part::kPrefixCache, traits.wants_prefixes);
}

}  // namespace

bool stores_layers_together(const Scenario& s) {
  if (s.encoded) return together(s.encoded->kind);
  return s.deployment.format && together(codec_kind(s.deployment.format->choice));
}

RunParts scenario_parts(const Scenario& s) {
  RunParts parts;
  if (s.eviction) add_policy(s, parts);
  add_formats(s, parts);
  add_memory(s, parts);
  add_engine(s, parts);
  parts.add(Part::kBudget, s.budget.has_value());
  parts.add(Part::kMeasuredBudget, s.budget && attention::measures_scores(*s.budget));
  parts.add(Part::kReader, s.reader.has_value());
  parts.add(Part::kStages, s.deployment.stages > 1);
  parts.add(Part::kRanks, s.deployment.stages > 1 || s.deployment.tensor_ranks > 1);
  return parts;
}

}  // namespace kvplan::runs
