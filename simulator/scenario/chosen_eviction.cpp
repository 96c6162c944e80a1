#include "simulator/scenario/chosen_eviction.h"

#include <string>

#include "simulator/attention/budgeted.h"
#include "simulator/attention/catalogue.h"
#include "simulator/attention/head_intervals.h"
#include "simulator/memory/allocators.h"
#include "simulator/scenario/combinations.h"
#include "simulator/scenario/policy_lists.h"
#include "simulator/scenario/run_budget.h"

namespace kvplan::runs {
namespace {

/// True if the length of a request alone says how many of its tokens stay.
bool is_counted(const attention::PolicyKind& kind, const attention::PolicyTraits& traits) {
  return (kind.layer_counts != nullptr && !traits.thins) || traits.count || traits.head_tables;
}

/// True if only the number of kept tokens at each length is known, and no recording says which tokens stay.
bool counted_by_steps(const Scenario& s, const attention::PolicyTraits& traits) {
  return (traits.count_at != nullptr || traits.thins) && s.attention.empty();
}

bool frees_single_blocks(const Scenario& s) {
  return memory::allocator_entry(s.allocator).frees_single_blocks;
}

/// Checks what placement=compact needs: the number of kept tokens must follow from lengths, a recording or a file.
Status check_compact(const Scenario& s, const attention::PolicyKind& kind,
                     const attention::PolicyTraits& traits) {
  const std::string found = "placement=compact, found ";
  if (!is_counted(kind, traits) && !counted_by_steps(s, traits) && !traits.recorded && s.attention.empty() &&
      traits.needs_recording())
    return bad_input("expected a policy with a number of tokens that follows from lengths (" +
                     counted_policies() + ") with " + found + "\"" + std::string(kind.descriptor.name) +
                     "\", which needs a recording (workload.attention)")
        .at_field("eviction");
  if (kind.layer_counts == nullptr && traits.count && traits.count->budget < 1)
    return bad_input("expected a policy that keeps at least one token with " + found + "none")
        .at_field("eviction");
  return Done{};
}

/// Traits of the policy with the scenario's budget, which replaces its own numbers.
attention::PolicyTraits traits_with_budget(const Scenario& s, const attention::PolicyChoice& policy) {
  const auto budget = parse_member("budget", s.text("budget"));
  const bool given = budget.ok() && is_budget(budget.value());
  return given ? attention::traits_with_budget(policy) : policy.kind->traits(policy.choice);
}

/// REQUIRES: PolicyTraits::needs_recording.
Error needs_recordings(const Scenario& s, const attention::PolicyKind& kind,
                       const attention::PolicyTraits& traits) {
  const bool by_tensors =
      traits.keys || traits.queries || traits.values || traits.value_norms || traits.output_weights;
  const bool counted = is_counted(kind, traits) || counted_by_steps(s, traits);
  return bad_input(
             "\"" + std::string(kind.descriptor.name) + "\" " +
             (by_tensors ? "selects by keys, queries or values" : "selects by attention") +
             ": give recordings as workload.attention, " +
             (counted && frees_single_blocks(s)
                  ? "use placement=compact, which needs no recording because it only counts kept tokens, "
                  : "") +
             "or use a policy that needs no recording (" + policies_without_recordings() + ")")
      .at_field("eviction");
}

}  // namespace

Status choose_eviction(Scenario& s) {
  KVPLAN_TRY(Choice choice, parse_member("eviction", s.text("eviction")));
  const attention::PolicyChoice policy = attention::policy_of(choice);
  if (policy.kind == &attention::kFull) return Done{};
  KVPLAN_TRY_DO(attention::check_policy(policy));
  const attention::PolicyTraits traits = traits_with_budget(s, policy);
  const std::string name(choice.name());
  if (traits.keeps_everything())
    return bad_input("\"" + name +
                     "\" evicts nothing and reads a part, so it frees no memory in a run: use " +
                     "`kvplan evict`")
        .at_field("eviction");
  const EvictsBy by_tokens = s.attention.empty() ? EvictsBy::kTokens : EvictsBy::kRecordings;
  if (choice.text("placement") == "compact") {
    KVPLAN_TRY_DO(check_compact(s, *policy.kind, traits));
    s.evicts_by = traits.recorded                                                   ? EvictsBy::kSets
                  : is_counted(*policy.kind, traits) || counted_by_steps(s, traits) ? EvictsBy::kCounts
                                                                                    : by_tokens;
    s.eviction = std::move(choice);
    return Done{};
  }
  if (traits.interval && traits.interval->recent < 1)
    return bad_input("expected a policy that keeps at least the newest token").at_field("eviction");
  if (traits.recorded) {
    s.evicts_by = EvictsBy::kSets;
  } else if (!attention::lengths_decide(traits)) {
    if (s.attention.empty() && traits.needs_recording()) return needs_recordings(s, *policy.kind, traits);
    s.evicts_by = by_tokens;
  } else if (traits.head_tables || choice.text("placement") == "reuse") {
    s.evicts_by = EvictsBy::kLengths;
  } else {
    s.evicts_by = EvictsBy::kKeepRule;
    s.keep = {traits.interval->sink, traits.interval->recent};
  }
  s.eviction = std::move(choice);
  return Done{};
}

Status choose_budget(Scenario& s) {
  KVPLAN_TRY(Choice choice, parse_member("budget", s.text("budget")));
  if (!is_budget(choice)) return Done{};
  if (!s.eviction || attention::policy_of(*s.eviction).kind->budget.param.empty())
    return refused_together(Part::kBudget, Part::kNoNumber, s,
                            "policies that take one: " + attention::policies_with_budget());
  const std::string name(choice.name());
  const bool measured = attention::measures_scores(choice);
  if (measured && s.attention.empty())
    return bad_input(
               "\"" + name +
               "\" measures the attention of prompts: give recordings as workload.attention, or numbers "
               "as budget.scores")
        .at_field("budget");
  if (s.evicts_by == EvictsBy::kKeepRule) s.evicts_by = EvictsBy::kLengths;
  if (s.evicts_by == EvictsBy::kLengths && measured) s.evicts_by = EvictsBy::kRecordings;
  s.keep = {};
  s.budget = std::move(choice);
  return Done{};
}

}  // namespace kvplan::runs
