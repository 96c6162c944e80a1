// A token policy decides which tokens of a sequence stay in the KV cache of one layer.
//
// The step model (for token t of the sequence):
//   1 append   t joins the residents of every set
//   2 attend   the query of t reads the residents, or a part of them (Reads)
//   3 update   the policy updates its numbers from the rows of that query
//   4 evict    the policy names residents to drop until its budget holds
// The prompt is processed with full causal attention: its tokens are appended, update runs on its rows (as far as the
// policy asks for them), and evict runs once, at its end. So with a budget of B a decode query attends B + 1 tokens,
// and B + 1 is the peak. A few policies evict before they append (PolicyTraits::makes_room): with them a query
// attends B tokens, and the prompt is fed row by row.
//
// A layer decides as a whole: its KV heads have a set of residents each, or share one (Scope), and `evict` sees all
// sets at once. Rows are not reduced: there is one for each query head, and the policy decides how the query heads of
// a KV head become one score (reduce.h has the usual ways).
//
// Life cycle: `PolicyKind::make` gives one LayerPolicy per layer. It stores only its own numbers, gets everything else
// as arguments, decides and returns; the replay (replay.h) applies the decision. Two layers never share state, and
// nothing here depends on time, chance or threads.
//
// To add a policy: one file in policies/ that defines a `PolicyKind`, one line in catalogue.cpp (README.md shows it).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/attention/recording.h"
#include "simulator/attention/residents.h"
#include "simulator/base/component.h"
#include "simulator/base/result.h"
#include "simulator/courses/counted_course.h"

namespace kvplan::attention {

/// The layer for which a policy decides.
struct LayerPlace {
  std::int32_t layer{0};
  std::int32_t layers{1};  ///< layers of the model
  std::int32_t query_heads{1};
  std::int32_t group{1};   ///< query heads per KV head; divides query_heads
  std::int64_t prompt{1};  ///< tokens of the prompt
  /// [KV head] its number in the model, ascending, if only some heads of the layer are present; empty: all heads are.
  std::vector<std::int32_t> head_numbers{};
  std::int32_t model_heads{0};  ///< KV heads of the layer in the model; 0: as many as in kv_heads

  [[nodiscard]] std::int32_t kv_heads() const { return query_heads / group; }
  [[nodiscard]] std::int32_t model_kv_heads() const { return model_heads == 0 ? kv_heads() : model_heads; }
  /// The head's number in the model; tables and random draws use it.
  [[nodiscard]] std::int32_t head_number(std::int32_t kv_head) const {
    return head_numbers.empty() ? kv_head : head_numbers[static_cast<std::size_t>(kv_head)];
  }
};

/// The newest token's row of one query head, over the tokens that this head sees. The weight of the token at
/// positions[i] is weight[i] / divisor. The division is left to the policy, which combines it with its own loop.
struct HeadRow {
  std::span<const std::int32_t> positions;  ///< ascending
  std::span<const double> weight;
  double divisor{1.0};
  double sink{0};  ///< weight of the attention sink; it is not a token, but part of the divisor
};

/// One set of residents, and the indices of those to drop.
struct ResidentSet {
  Residents residents{0};
  std::vector<std::int32_t> drop;
};

class SetPolicy;

class LayerPolicy {
 public:
  virtual ~LayerPolicy() = default;

  /// Step 0, before the first token (PolicyTraits::foresight): the recorded rows of a set's query heads at a future
  /// decode step, over all tokens 0 .. t. Called for every decode step in order, for every set.
  virtual void foresee(std::int32_t /*set*/, std::span<const HeadRow> /*heads*/) {}
  /// Step 0, before the first token (PolicyTraits::lower_layers): for each layer below this one, first to last, the
  /// recorded rows of all query heads at the prompt's tokens, first to last, over all tokens 0 .. t.
  virtual void lower_layer(std::int32_t /*layer*/, std::span<const HeadRow> /*heads*/) {}
  /// Step 1, before the next token is appended (PolicyTraits::makes_room): fills `drop` of the sets like `evict`.
  virtual void make_room(std::span<ResidentSet> /*sets*/) {}
  /// Step 2 (Reads::kShown): what the next query of this head may see before its softmax: indices into its set's
  /// residents, ascending; the query always sees its own token as well.
  [[nodiscard]] virtual std::span<const std::int32_t> shown(std::int32_t /*query_head*/) const { return {}; }
  /// Step 2 (Reads::kChosen): the query reads only a part of its rows: appends indices of residents, ascending.
  virtual void choose(std::int32_t /*set*/, const Residents& /*residents*/,
                      std::span<const HeadRow> /*heads*/, std::vector<std::int32_t>& /*attended*/) {}
  /// Steps 0, 2, 3, before all other calls with a token's rows (PolicyTraits::keys, values): keys, values and logits
  /// of the layer up to that token. Valid until the step ends.
  virtual void tensors(const LayerRows& /*rows*/) {}
  /// Step 3: the rows of the query heads of one set. May write the columns of `residents`.
  virtual void update(std::int32_t /*set*/, Residents& /*residents*/, std::span<const HeadRow> /*heads*/) {}
  /// Step 4: fills `drop` of each set, which is empty before: indices of the residents to drop, ascending and
  /// distinct.
  virtual void evict(std::span<ResidentSet> sets) = 0;
  /// This object, if it is a SetPolicy; else null.
  [[nodiscard]] virtual SetPolicy* by_set() { return nullptr; }
};

/// A policy in which each set decides for itself. The replay asks for a set's decision right after its update, while
/// the numbers are in the CPU cache; the result is that of `evict`.
class SetPolicy : public LayerPolicy {
 public:
  void make_room(std::span<ResidentSet> sets) final {
    for (std::size_t s = 0; s < sets.size(); ++s)
      make_room_in_set(static_cast<std::int32_t>(s), sets[s].residents, sets[s].drop);
  }
  void evict(std::span<ResidentSet> sets) final {
    for (std::size_t s = 0; s < sets.size(); ++s)
      evict_set(static_cast<std::int32_t>(s), sets[s].residents, sets[s].drop);
  }
  [[nodiscard]] SetPolicy* by_set() final { return this; }
  /// Appends to `drop`, which is empty before.
  virtual void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) = 0;
  /// As evict_set, for policies that make room before a token is appended.
  virtual void make_room_in_set(std::int32_t /*set*/, const Residents& /*residents*/,
                                std::vector<std::int32_t>& /*drop*/) {}
};

/// The heads that share one set of residents.
enum class Scope : std::uint8_t {
  kKvHead,  ///< each KV head has its own
  kLayer,   ///< all heads of a layer share one
};

/// The weights that a policy gets.
enum class RowUse : std::uint8_t {
  /// The row restricted to visible tokens and divided by its sum: what an evicting cache computes
  kRenorm,
  kRaw,  ///< the recorded numbers
};

/// What a decode query reads.
enum class Reads : std::uint8_t {
  kResidents,  ///< all kept tokens
  kShown,      ///< the tokens that the policy shows it before the softmax; all tokens stay in the cache
  kChosen,     ///< the tokens that the policy chooses once it knows the row; all tokens stay in the cache
};

inline constexpr std::int64_t kAllRows = INT64_MAX;

/// Positions kept after n tokens, n >= the prompt: [0, min(sink, n)) and the last `recent` of the rest. Two runs,
/// known without any recording.
struct KeptInterval {
  std::int64_t sink{0};
  std::int64_t recent{0};
  friend bool operator==(const KeptInterval&, const KeptInterval&) = default;
};

/// Properties of a policy with its parameters, which replay, accounting and serving runs need.
struct PolicyTraits {
  Scope scope{Scope::kKvHead};
  RowUse rows{RowUse::kRenorm};
  std::int64_t prompt_rows{0};  ///< `update` gets this many of the prompt's last rows
  bool decode_rows{false};      ///< `update` gets the rows of decode steps
  int columns{0};               ///< numbers per resident (Residents::column)
  Reads reads{Reads::kResidents};
  bool makes_room{false};       ///< evicts before it appends, also while the prompt is fed
  bool recorded{false};         ///< follows RecordedLayers, which the caller reads from a file
  bool head_tables{false};      ///< its parameters that name files are HeadTables, which the caller reads
  bool keys{false};             ///< decides by recorded keys
  bool queries{false};          ///< also decides by recorded queries, or by logits
  bool prompt_queries{false};   ///< decides by the queries of the whole prompt
  bool value_norms{false};      ///< decides by norms of values; recorded values are enough
  bool output_weights{false};   ///< decides by recorded output weights
  bool values{false};           ///< decides by recorded values
  bool lower_layers{false};     ///< the tokens that its layer keeps depend on the layers below
  bool foresight{false};        ///< a bound: decides by future rows
  bool moves_positions{false};  ///< the original code gives kept keys new positions; kvplan does not
  /// With foresight: largest product of decode steps and tokens that it can process
  std::int64_t max_foreseen{INT64_MAX};
  std::int64_t state_bytes_per_cell{0};  ///< metadata for each stored (head, token) on the device
  bool alike{false};  ///< all sets of all layers keep the same tokens; true also if `interval` is set
  std::optional<KeptInterval> interval{};  ///< set if the kept set follows from lengths alone
  /// Set if parameters give the number of kept tokens, but not which, and `interval` is not set
  std::optional<std::int64_t> budget{};
  /// Set if lengths alone give the number of kept tokens, the same number in every set
  std::optional<core::KeptCount> count{};
  /// The number of kept tokens for a prompt of `prompt` tokens and a budget of `tokens` (at least 1), if it follows
  /// from lengths alone and is the same in every set, but `count` is not set because the number goes up and down or
  /// depends on the prompt or the length. Null elsewhere. Runs without a recording use it when survivors move
  /// together.
  core::KeptCount (*count_at)(const Choice&, std::int64_t prompt, std::int64_t tokens) = nullptr;
  /// PolicyKind::layer_counts go up and down (core::Thinning); runs use them in the same way.
  bool thins{false};

  /// Prefix caching: number of the prompt's last tokens that are computed even if they are cached, so that the policy
  /// sees the rows by which it decides. At least 1; kAllRows: no prefix may be hit. Keys and values are in the cache,
  /// rows and queries are not.
  [[nodiscard]] std::int64_t computed_rows() const {
    if (makes_room || recorded || lower_layers || prompt_queries) return kAllRows;
    return prompt_rows < 1 ? 1 : prompt_rows;
  }
  /// True: it decides by data that only a recording has: attention, keys, queries or values. False: by positions,
  /// lengths and random draws, or by its own files.
  [[nodiscard]] bool needs_recording() const {
    return prompt_rows > 0 || decode_rows || keys || queries || value_norms || values || output_weights ||
           lower_layers || foresight;
  }
  [[nodiscard]] bool all_alike() const { return alike || interval.has_value(); }
  /// True: everything stays in the cache and queries read a part of it, so it frees nothing.
  [[nodiscard]] bool keeps_everything() const { return reads != Reads::kResidents; }
};

/// Returns true once the result is no longer wanted.
using StopAsked = std::function<bool()>;

struct RecordedLayers;
/// One number for each KV head of a model: [layer][KV head].
using HeadTable = std::vector<std::vector<double>>;

/// The input from which a policy is made.
struct LayerInput {
  const Choice& choice;
  LayerPlace place;
  const RecordedLayers* recorded{nullptr};  ///< PolicyTraits::recorded; outlives the policy
  std::span<const HeadTable> tables{};      ///< for PolicyTraits::head_tables, in the order of the parameters
  StopAsked stop_asked{};  ///< may be called during long work; once it returns true, decisions are ignored
};

/// The parameter that is the number of kept tokens, which a budget from outside can replace (budgeted.h).
struct BudgetParam {
  std::string_view param{};   ///< empty: the policy has no such parameter
  std::string_view beside{};  ///< the budget is the sum of this parameter and `param`; may be empty
  /// Value of `beside` if it is not given; at most half of the budget is used
  std::int64_t usual_beside{INT64_MAX};
  bool of_prompt{false};  ///< it counts only tokens of the prompt: one as large as the prompt drops nothing
  /// If `param` is empty although the policy keeps a number of tokens: how it gets the number instead
  std::string_view why_none{};
};

/// One member of the family: its descriptor, its name in golden files, its traits and its maker.
struct PolicyKind {
  Descriptor descriptor;
  std::string_view golden_name;
  BudgetParam budget{};
  Status (*check)(const Choice&) = nullptr;  ///< checks combinations of parameters; may be null
  PolicyTraits (*traits)(const Choice&);
  std::unique_ptr<LayerPolicy> (*make)(const LayerInput&);
  /// Kept tokens of each of `layers` layers for a prompt of `prompt` tokens, if lengths alone decide, but not the
  /// same in every layer. Null elsewhere; then PolicyTraits::count may be set.
  std::vector<core::KeptCount> (*layer_counts)(const Choice&, std::int64_t prompt,
                                               std::int64_t layers) = nullptr;
};

inline constexpr std::string_view kFamily = "eviction";
inline constexpr double kMaxTokens = 1 << 30;
inline constexpr std::array<std::string_view, 2> kAggregates{"mean", "max"};
inline constexpr std::array<std::string_view, 3> kPlacements{"holes", "reuse", "compact"};

// Parameters at the end of every policy's list.
inline constexpr Param kGroupParam{
    .name = "group",
    .help = "Query heads per KV head; 0 means 1 for JSON inputs, and query heads / KV heads otherwise",
    .fallback = "0",
    .low = 0,
    .high = 65536};
inline constexpr Param kAggParam{.name = "agg",
                                 .help = "How the scores of the query heads of a KV head are combined",
                                 .kind = ParamKind::kText,
                                 .fallback = "mean",
                                 .choices = kAggregates};
inline constexpr Param kPlacementParam{
    .name = "placement",
    .help =
        "What happens to the slots of evicted tokens. holes: they stay until their whole block is unused "
        "(blocks can be shared). reuse: later tokens are written there. compact: kept tokens are moved "
        "together when a block's worth is evicted",
    .kind = ParamKind::kText,
    .fallback = "holes",
    .choices = kPlacements};

/// A share from 0 to 1.
constexpr Param share_param(std::string_view name, std::string_view help, std::string_view fallback) {
  return {.name = name,
          .help = help,
          .kind = ParamKind::kDecimal,
          .unit = Unit::kRatio,
          .fallback = fallback,
          .low = 0,
          .high = 1};
}
/// A whole number of tokens, at least `low`, without a default.
constexpr Param tokens_param(std::string_view name, std::string_view help, double low) {
  return {.name = name, .help = help, .unit = Unit::kTokens, .fallback = {}, .low = low, .high = kMaxTokens};
}

}  // namespace kvplan::attention
