// Which choices of a scenario work together: one table, from which every refusal of a combination and `kvplan list
// combinations` come.
//
// A part is something that a scenario chooses and that another choice may not work with: a token policy, a format that
// encodes tokens together, an allocator with tables of each layer. A run has the parts that `scenario_parts` finds, and
// those that only its model or its memory tells. A pair of parts that the table does not have works.
//
// To change what works: a line in combinations.cpp. The test draws a run for each pair.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::plan {

struct Scenario;

enum class Part : std::uint8_t {
  // Which tokens stay: `eviction`, `budget`.
  kPolicy,          ///< any token policy
  kCompact,         ///< placement=compact
  kReuse,           ///< placement=reuse
  kNotCounted,      ///< lengths do not say how many tokens stay, or survivors do not move
  kVaryingCount,    ///< counted, and the number of tokens goes up and down or follows the prompt
  kUntoldTokens,    ///< counted, and lengths do not say which tokens go after the prompt
  kScores,          ///< scores decide, not positions
  kScoresOfHeads,   ///< likewise, and heads of a layer may keep different tokens
  kCourses,         ///< requests follow retention schedules (courses/course.h), not a rule of positions
  kKnownByPart,     ///< different tokens in each layer or head, and it is known which
  kNumbersByPart,   ///< layers or heads keep numbers of tokens of their own
  kNumbersByHead,   ///< heads do
  kCellsByPart,     ///< the policy, its budget or tables tell layers or heads apart
  kSets,            ///< a file says which tokens stay
  kWholePrompt,     ///< the policy decides by all of the prompt's attention or queries
  kNoNumber,        ///< the policy takes no number of tokens
  kBudget,          ///< a number of tokens for each layer or head
  kMeasuredBudget,  ///< likewise, from the attention of the prompt
  // How tokens are stored: `format`, `window_format`.
  kFormat,          ///< any format but the model's own elements
  kEncoded,         ///< bytes depend on all that a request stores
  kEncodedLayers,   ///< likewise, and layers do not all take the same bytes
  kNeedsTokens,     ///< bytes depend on which tokens went, too
  kSharedHeads,     ///< heads share what is stored of a token
  kLayersTogether,  ///< layers are stored together
  kMergedLayers,    ///< likewise, and encoded
  kWidths,          ///< layers take different bytes of a token
  kByHead,          ///< a codec of keys and values by head
  kWindowFormat,    ///< layers with a window have a format of their own
  kReader,          ///< decode steps read a part of what is kept
  // Memory, engine and step times.
  kNoCache,        ///< an allocator that keeps nothing
  kWindowMemory,   ///< an allocator in which layers with a window hold what it shows
  kNoBlockTables,  ///< any allocator but the one with block tables (paged)
  kTables,         ///< a block table for each layer or head
  kPolicyTables,   ///< likewise, and a token policy
  kWindowTables,   ///< likewise, layers with a window among them, and tokens move or slots are used again
  kNoSharing,      ///< an allocator that shares no blocks between requests
  kBytes,          ///< memory that is taken in bytes, not in slots of tokens
  kGrowing,        ///< memory that grows in place
  kNoPolicies,     ///< an engine that follows no token policy
  kPriority,       ///< an engine that schedules by priority
  kOwnOrder,       ///< an engine with its own order in which cached blocks are evicted
  kReadsAll,       ///< an engine whose attention reads all that is kept
  kCountsPages,    ///< an engine whose pages are counted
  kReplacement,    ///< a replacement policy
  kPrefixCache,    ///< prefix caching
  kMeasuredSteps,  ///< step times that were measured whole
  // Ranks, the model, recordings, outputs.
  kStages,        ///< several pipeline stages
  kRanks,         ///< several ranks
  kApartRanks,    ///< ranks that share no block tables
  kLatentModel,   ///< a model that stores a latent vector
  kNoWindows,     ///< a model without windows
  kUnlikeLayers,  ///< a model whose layers store different numbers of elements
  kOtherShape,    ///< recordings of another shape stand for the model
  kEvents,        ///< --events
  kHolders,       ///< --holders
  kLast = kHolders,
};

struct PartKind {
  Part part;
  std::string_view name;  ///< in lists
  std::string_view path;  ///< of the scenario, or an option
  /// As a message names it. Empty: "PATH=NAME", as the scenario says it.
  std::string_view said;
  std::string_view about;
};
/// In the order of Part.
std::span<const PartKind> part_kinds();
const PartKind& part_kind(Part part);

enum class Together : std::uint8_t {
  kRefused,  ///< the run is refused
  kIgnored,  ///< the first part is ignored, with a warning
  kDepends,  ///< refused for some models or requests, which the reason names
};
std::string_view together_name(Together together);

/// What it takes to know that a run has both parts.
enum class Known : std::uint8_t { kScenario, kModel, kMemory };

/// Two parts that do not work together.
struct Combination {
  Part part, other;  ///< a refusal names the path of the first
  Together together;
  Known known;              ///< when the program says it
  std::string_view reason;  ///< a sentence without capital and full stop
  std::string_view use;     ///< what works instead, likewise. Empty where a part is ignored
};
/// In the order in which they are looked for.
std::span<const Combination> combinations();
/// Null: they work together. The order of the two does not matter.
const Combination* combination_of(Part one, Part other);

/// The parts of a run.
class RunParts {
 public:
  void add(Part part, bool has = true) {
    if (has) parts_.set(static_cast<std::size_t>(part));
  }
  [[nodiscard]] bool has(Part part) const { return parts_.test(static_cast<std::size_t>(part)); }

 private:
  std::bitset<static_cast<std::size_t>(Part::kLast) + 1> parts_;
};

/// Those that a scenario tells, whose engine, allocator, eviction, budget, formats, reader and deployment are chosen;
/// kMeasuredSteps aside, since the latency model is chosen last.
RunParts scenario_parts(const Scenario& scenario);
/// True: `format` stores layers together (window_format aside).
bool stores_layers_together(const Scenario& scenario);

/// As the scenario says it: "eviction=window", "placement=compact".
std::string said_of(Part part, const Scenario& scenario);

/// "X does not work with Y: reason. Use Z", at the path of X. `detail`: more of the reason, or empty.
/// REQUIRES: the table has the pair, in this order, as refused or kDepends.
Error refused_together(Part part, Part other, const Scenario& scenario, std::string_view detail = {});
/// The same of a part that is said by `other_said`, where the first is not named after the scenario (PartKind::said).
Error refused_together(Part part, Part other, std::string_view other_said, std::string_view detail);

/// The error of the first pair that is refused, among those known by now.
Status check_combinations(const RunParts& parts, const Scenario& scenario, Known now);

/// "X is ignored with Y: reason." of the first pair in which this part is ignored; empty where there is none.
std::string why_ignored(Part part, const RunParts& parts, const Scenario& scenario);

}  // namespace kvplan::plan
