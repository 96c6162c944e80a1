// One table says which choices of a scenario work together. It is the source of
// every refusal of a combination, and of
// `kvplan list combinations`.
//
// A part is a property of a run that may not work with another one: a token policy, a format that encodes tokens
// together, an allocator with a table for each layer. `scenario_parts` finds the parts that follow from the scenario;
// others follow only from its model or its memory. A pair of parts that is not in the table works.
//
// To change what works together: edit a line in combinations.cpp. The test draws a run for each pair.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/base/result.h"

namespace kvplan::runs {

struct Scenario;

enum class Part : std::uint8_t {
  // Which tokens are kept: `eviction`, `budget`.
  kPolicy,         ///< any token policy
  kCompact,        ///< placement=compact
  kReuse,          ///< placement=reuse
  kNotCounted,     ///< the number of kept tokens does not follow from lengths, or survivors are not compacted
  kVaryingCount,   ///< counted, and the number of tokens goes up and down or depends on the prompt
  kUntoldTokens,   ///< counted, and lengths do not say which tokens are dropped after the prompt
  kScores,         ///< scores decide, not positions
  kScoresOfHeads,  ///< as kScores, and heads of a layer may keep different tokens
  kCourses,        ///< requests follow retention schedules (courses/course.h), not a rule of positions
  kKnownByPart,    ///< layers or heads keep different tokens, and it is known which tokens
  kNumbersByPart,  ///< layers or heads have their own numbers of kept tokens
  kNumbersByHead,  ///< heads have their own numbers of kept tokens
  kCellsByPart,    ///< the policy, its budget or its tables distinguish layers or heads
  kSets,           ///< a file says which tokens stay
  kWholePrompt,    ///< the policy needs all of the prompt's attention or queries
  kNoNumber,       ///< the policy takes no number of tokens
  kBudget,         ///< a number of tokens for each layer or head
  kMeasuredBudget,  ///< as kBudget, measured on the attention of the prompt
  // How tokens are stored: `format`, `window_format`.
  kFormat,          ///< any format except the model's own elements
  kEncoded,         ///< bytes depend on all that a request stores
  kEncodedLayers,   ///< as kEncoded, and layers take different numbers of bytes
  kNeedsTokens,     ///< bytes also depend on which tokens were dropped
  kSharedHeads,     ///< heads share stored parts of a token
  kLayersTogether,  ///< layers are stored together
  kMergedLayers,    ///< as kLayersTogether, and encoded
  kWidths,          ///< bytes of a token differ by layer
  kByHead,          ///< a codec of keys and values by head
  kWindowFormat,    ///< layers with a window have their own format
  kReader,          ///< decode steps read only a part of the kept tokens
  // Memory, engine and step times.
  kNoCache,        ///< an allocator that stores no KV
  kWindowMemory,   ///< an allocator in which layers with a window hold only the tokens in it
  kNoBlockTables,  ///< any allocator except the one with block tables (paged)
  kTables,         ///< a block table for each layer or head
  kPolicyTables,   ///< as kTables, and a token policy
  kWindowTables,   ///< as kTables, some layers have windows, and tokens move or slots are used again
  kNoSharing,      ///< an allocator that shares no blocks between requests
  kBytes,          ///< memory that is allocated in bytes, not in slots of tokens
  kGrowing,        ///< memory that grows in place
  kNoPolicies,     ///< an engine that supports no token policy, with the parameters that it has
  kOwnOrder,       ///< an engine with its own eviction order for cached blocks
  kReadsAll,       ///< an engine with attention over everything that is held
  kCountsPages,    ///< an engine that counts pages without ids
  kReplacement,    ///< a replacement policy
  kPrefixCache,    ///< prefix caching
  kMeasuredSteps,  ///< measured times of whole steps
  // Ranks, the model, recordings, outputs.
  kStages,        ///< several pipeline stages
  kRanks,         ///< several ranks
  kApartRanks,    ///< ranks that share no block tables
  kLatentModel,   ///< a model that stores a latent vector
  kNoWindows,     ///< a model without windows
  kUnlikeLayers,  ///< a model with layers that store different numbers of elements
  kOtherShape,    ///< recordings of another shape are used for the model
  kEvents,        ///< --events
  kHolders,       ///< --holders
  kLast = kHolders,
};

struct PartKind {
  Part part;
  std::string_view name;  ///< name in lists
  std::string_view path;  ///< path in the scenario, or an option
  /// Name in messages. Empty: "PATH=NAME", as in the scenario.
  std::string_view said;
  std::string_view about;
};
/// All parts, in the order of Part.
std::span<const PartKind> part_kinds();
const PartKind& part_kind(Part part);

enum class Together : std::uint8_t {
  kRefused,  ///< the run is refused
  kIgnored,  ///< the first part is ignored, with a warning
  kDepends,  ///< refused for some models or requests, which the reason names
};
std::string_view together_name(Together together);

/// The data that is needed to tell whether a run has both parts.
enum class Known : std::uint8_t { kScenario, kModel, kMemory };

/// Two parts that do not work together.
struct Combination {
  Part part, other;  ///< a refusal names the path of the first part
  Together together;
  Known known;              ///< when the program reports it
  std::string_view reason;  ///< a sentence without capital and full stop
  std::string_view use;     ///< What to use instead, in the same form. Empty if a part is ignored.
};
/// The table, in the order in which pairs are checked.
std::span<const Combination> combinations();
/// The table's line for two parts, in either order. Null: they work together.
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

/// The parts that follow from a scenario. REQUIRES: its engine, allocator, eviction, budget, formats, reader and
/// deployment are chosen. kMeasuredSteps is left out, since the latency model is chosen last.
RunParts scenario_parts(const Scenario& scenario);
/// True: `format` stores layers together (window_format is not considered).
bool stores_layers_together(const Scenario& scenario);

/// The part in the scenario's words: "eviction=window", "placement=compact".
std::string said_of(Part part, const Scenario& scenario);

/// "X does not work with Y: reason. Use Z", at the path of X. `detail`: more of the reason, or empty.
/// REQUIRES: the table has the pair, in this order, as refused or kDepends.
Error refused_together(Part part, Part other, const Scenario& scenario, std::string_view detail = {});
/// As above, for a first part that is not named after the scenario (PartKind::said): `other_said` names the other part.
Error refused_together(Part part, Part other, std::string_view other_said, std::string_view detail);

/// The error of the first refused pair among those that can be told at `now`.
Status check_combinations(const RunParts& parts, const Scenario& scenario, Known now);

/// "X is ignored with Y: reason." for the first pair in which this part is ignored; empty if there is none.
std::string why_ignored(Part part, const RunParts& parts, const Scenario& scenario);

}  // namespace kvplan::runs
