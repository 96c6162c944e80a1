// A token policy decides which tokens of a sequence stay in the KV cache of one layer.
//
// The step model (for token t of the sequence):
//   1 append   t joins the residents of every set
//   2 attend   the query of t reads the residents, or a part of them (Reads)
//   3 update   the policy updates its numbers from the rows of that query
//   4 evict    the policy names residents to drop until its budget holds
// The prompt is processed with full causal attention: its tokens are appended and update runs on its rows (as
// far as the policy asks for them), evict runs once, at its end. So a budget of B attends B + 1 tokens while
// decoding, and B + 1 is the peak. A few policies evict before they append (PolicyTraits::makes_room): with
// them B attends B, and the prompt is fed row by row.
//
// A layer decides: its KV heads have a set of residents each, or share one (Scope), and `evict` sees all
// of them at once. Rows come unreduced, one for each query head; how the query heads of a KV head become
// one score is the policy's affair (reduce.h has the usual ways).
//
// Life cycle: `PolicyKind::make` gives one LayerPolicy per layer. It holds only its own values, is told
// everything else, decides and returns; the replay (replay.h) applies. Two layers never share state, and nothing here
// depends on time, chance or threads.
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

/// The layer that a policy decides about.
struct LayerPlace {
  std::int32_t layer{0};
  std::int32_t layers{1};  ///< of the model
  std::int32_t query_heads{1};
  std::int32_t group{1};   ///< query heads per KV head; divides query_heads
  std::int64_t prompt{1};  ///< tokens of the prompt
  /// [KV head] its number in the model, ascending, where only some heads of the layer are here; empty: all are.
  std::vector<std::int32_t> head_numbers{};
  std::int32_t model_heads{0};  ///< KV heads that the layer has in the model; 0: no more than here

  [[nodiscard]] std::int32_t kv_heads() const { return query_heads / group; }
  [[nodiscard]] std::int32_t model_kv_heads() const { return model_heads == 0 ? kv_heads() : model_heads; }
  /// Its number in the model, by which tables and lots know a KV head.
  [[nodiscard]] std::int32_t head_number(std::int32_t kv_head) const {
    return head_numbers.empty() ? kv_head : head_numbers[static_cast<std::size_t>(kv_head)];
  }
};

/// The newest token's row of one query head over what this head sees. Weight i, of the token at positions[i], is
/// weight[i] / divisor. The division is left to the policy, which fuses it with its own pass.
struct HeadRow {
  std::span<const std::int32_t> positions;  ///< ascending
  std::span<const double> weight;
  double divisor{1.0};
  double sink{0};  ///< weight of the sink beside `weight`; it is no token and is part of the divisor
};

/// One set of residents, and the indices of those that go.
struct ResidentSet {
  Residents residents{0};
  std::vector<std::int32_t> drop;
};

class SetPolicy;

class LayerPolicy {
 public:
  virtual ~LayerPolicy() = default;

  /// 0: before the first token (PolicyTraits::foresight): the recorded rows of a set's query heads at a decode step to
  /// come, over all tokens 0 .. t. Asked for every decode step in order, for every set.
  virtual void foresee(std::int32_t /*set*/, std::span<const HeadRow> /*heads*/) {}
  /// 0: before the first token (PolicyTraits::lower_layers): for each layer below this one, first to last, the recorded
  /// rows of all query heads at the prompt's tokens, first to last, over all tokens 0 .. t.
  virtual void lower_layer(std::int32_t /*layer*/, std::span<const HeadRow> /*heads*/) {}
  /// 1: before the next token is appended (PolicyTraits::makes_room): fills `drop` of the sets as `evict` does.
  virtual void make_room(std::span<ResidentSet> /*sets*/) {}
  /// 2: what the next query of this head may see before its softmax (Reads::kShown): indices into its set's residents,
  /// ascending; the token of the query itself is seen besides.
  [[nodiscard]] virtual std::span<const std::int32_t> shown(std::int32_t /*query_head*/) const { return {}; }
  /// 2: of what its rows say the query reads only a part (Reads::kChosen): appends indices of residents, ascending.
  virtual void choose(std::int32_t /*set*/, const Residents& /*residents*/,
                      std::span<const HeadRow> /*heads*/, std::vector<std::int32_t>& /*attended*/) {}
  /// 0, 2, 3: before all else that a token's rows are shown to (PolicyTraits::keys, values): where keys, values and
  /// logits of the layer are, as far as that token. Valid until the step ends.
  virtual void tensors(const LayerRows& /*rows*/) {}
  /// 3: the rows of the query heads of one set. May write the columns of `residents`.
  virtual void update(std::int32_t /*set*/, Residents& /*residents*/, std::span<const HeadRow> /*heads*/) {}
  /// 4: fills `drop` of each set, which comes empty: indices of the residents that go, ascending and distinct.
  virtual void evict(std::span<ResidentSet> sets) = 0;
  /// This, if it is a SetPolicy.
  [[nodiscard]] virtual SetPolicy* by_set() { return nullptr; }
};

/// A policy whose sets decide each for itself. The replay asks for each set's decision right after its update,
/// while the numbers are near; the result is that of `evict`.
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
  /// Appends to `drop`, which comes empty.
  virtual void evict_set(std::int32_t set, const Residents& residents, std::vector<std::int32_t>& drop) = 0;
  /// Likewise, of policies that make room.
  virtual void make_room_in_set(std::int32_t /*set*/, const Residents& /*residents*/,
                                std::vector<std::int32_t>& /*drop*/) {}
};

/// Who shares one set of residents.
enum class Scope : std::uint8_t {
  kKvHead,  ///< each KV head has its own
  kLayer,   ///< one for all heads of a layer
};

/// Which weights a policy is given.
enum class RowUse : std::uint8_t {
  kRenorm,  ///< the row restricted to what is seen and divided by its sum: what an evicting cache computes
  kRaw,     ///< the recorded numbers
};

/// What a decode query reads.
enum class Reads : std::uint8_t {
  kResidents,  ///< all that is kept
  kShown,      ///< what the policy shows it, before the softmax; everything stays in the cache
  kChosen,     ///< what the policy chooses when it knows the row; everything stays in the cache
};

inline constexpr std::int64_t kAllRows = INT64_MAX;

/// Kept positions after n tokens, n >= the prompt: [0, min(sink, n)) and the last `recent` of the rest. Two
/// runs, known without any recording.
struct KeptInterval {
  std::int64_t sink{0};
  std::int64_t recent{0};
  friend bool operator==(const KeptInterval&, const KeptInterval&) = default;
};

/// What the replay, the accounting and a serving run must know about a policy with its parameters.
struct PolicyTraits {
  Scope scope{Scope::kKvHead};
  RowUse rows{RowUse::kRenorm};
  std::int64_t prompt_rows{0};  ///< `update` is given so many of the prompt's last rows
  bool decode_rows{false};      ///< `update` is given the rows of decode steps
  int columns{0};               ///< numbers per resident (Residents::column)
  Reads reads{Reads::kResidents};
  bool makes_room{false};       ///< evicts before it appends, while the prompt is fed too
  bool recorded{false};         ///< follows RecordedLayers, which a reader of files gives it
  bool head_tables{false};      ///< its parameters that name files are HeadTables, given to it likewise
  bool keys{false};             ///< decides by recorded keys
  bool queries{false};          ///< decides by recorded queries too, or by logits
  bool prompt_queries{false};   ///< by those of the whole prompt
  bool value_norms{false};      ///< decides by lengths of values; recorded values say them too
  bool output_weights{false};   ///< decides by recorded output weights
  bool values{false};           ///< decides by recorded values
  bool lower_layers{false};     ///< what its layer stores depends on the layers below
  bool foresight{false};        ///< a bound: decides by rows to come
  bool moves_positions{false};  ///< the original gives kept keys new positions; here they stay
  std::int64_t max_foreseen{INT64_MAX};  ///< of such a one: decode steps x tokens that it can work on
  std::int64_t state_bytes_per_cell{0};  ///< metadata beside each stored (head, token) on the device
  bool alike{false};  ///< sets of all layers keep the same tokens; so they do where `interval` is set
  std::optional<KeptInterval> interval{};  ///< set where the kept set is known from lengths alone
  std::optional<std::int64_t> budget{};    ///< else set where parameters say how many tokens stay, not which
  std::optional<core::KeptCount> count{};  ///< set where lengths alone say how many stay, in every set alike
  /// Where lengths alone say how many tokens stay of so many, a prompt of them and at least 1, in every set alike, but
  /// `count` is not set, since the number goes up and down or follows the prompt or the length. Null elsewhere. Runs
  /// without a recording count by it where survivors move together.
  core::KeptCount (*count_at)(const Choice&, std::int64_t prompt, std::int64_t tokens) = nullptr;
  /// PolicyKind::layer_counts go up and down (core::Thinning); runs count by them likewise.
  bool thins{false};

  /// Where the beginning of a prompt is found cached (prefix caching): its last tokens that are computed all the same,
  /// so that the policy sees by what it decides. At least 1; kAllRows: nothing may be found. Keys and values lie in the
  /// cache, rows and queries do not.
  [[nodiscard]] std::int64_t computed_rows() const {
    if (makes_room || recorded || lower_layers || prompt_queries) return kAllRows;
    return prompt_rows < 1 ? 1 : prompt_rows;
  }
  /// It goes by what only a recording has: attention, keys, queries or values. Else by positions, lengths and lots, or
  /// by what files of its own say.
  [[nodiscard]] bool needs_recording() const {
    return prompt_rows > 0 || decode_rows || keys || queries || value_norms || values || output_weights ||
           lower_layers || foresight;
  }
  [[nodiscard]] bool all_alike() const { return alike || interval.has_value(); }
  /// Everything stays in the cache, and queries read a part of it: it frees nothing.
  [[nodiscard]] bool keeps_everything() const { return reads != Reads::kResidents; }
};

/// True once whoever waits for the answer no longer does.
using StopAsked = std::function<bool()>;

struct RecordedLayers;
/// A number for each KV head of a model: [layer][KV head].
using HeadTable = std::vector<std::vector<double>>;

/// What a policy is made from.
struct LayerInput {
  const Choice& choice;
  LayerPlace place;
  const RecordedLayers* recorded{nullptr};  ///< PolicyTraits::recorded; outlives the policy
  std::span<const HeadTable> tables{};      ///< PolicyTraits::head_tables, in the order of the parameters
  StopAsked stop_asked{};  ///< may be asked during long work; once true, no decision is of use any more
};

/// Which parameter is the number of tokens that stay, so that a budget from outside can take its place (budgeted.h).
struct BudgetParam {
  std::string_view param{};   ///< empty: the policy takes no number of tokens
  std::string_view beside{};  ///< the budget is this parameter and `param` together; may be empty
  /// What `beside` is where nobody says, but at most half of the budget
  std::int64_t usual_beside{INT64_MAX};
  bool of_prompt{false};  ///< it counts tokens of the prompt alone: one as large as the prompt drops nothing
  std::string_view
      why_none{};  ///< where `param` is empty although there is such a number: what it does instead
};

/// One member of the family: its descriptor, what it is called in golden files, its traits and its maker.
struct PolicyKind {
  Descriptor descriptor;
  std::string_view golden_name;
  BudgetParam budget{};
  Status (*check)(const Choice&) = nullptr;  ///< what ranges cannot say of parameters; may be null
  PolicyTraits (*traits)(const Choice&);
  std::unique_ptr<LayerPolicy> (*make)(const LayerInput&);
  /// Where lengths alone say how many tokens stay, but not as many in every layer: of each of `layers` layers, for a
  /// prompt of so many tokens. Null elsewhere; then PolicyTraits::count may be set.
  std::vector<core::KeptCount> (*layer_counts)(const Choice&, std::int64_t prompt,
                                               std::int64_t layers) = nullptr;
};

inline constexpr std::string_view kFamily = "eviction";
inline constexpr double kMaxTokens = 1 << 30;
inline constexpr std::array<std::string_view, 2> kAggregates{"mean", "max"};
inline constexpr std::array<std::string_view, 3> kPlacements{"holes", "reuse", "compact"};

// Parameters that every policy ends its list with.
inline constexpr Param kGroupParam{
    .name = "group",
    .help = "Query heads per stored head; 0 takes 1 for JSON inputs, and query heads / KV heads otherwise",
    .fallback = "0",
    .low = 0,
    .high = 65536};
inline constexpr Param kAggParam{.name = "agg",
                                 .help = "How the query heads of a stored head become one score",
                                 .kind = ParamKind::kText,
                                 .fallback = "mean",
                                 .choices = kAggregates};
inline constexpr Param kPlacementParam{
    .name = "placement",
    .help =
        "Dropped cells stay until their block is dead (holes: blocks can be shared), the next token takes "
        "the place (reuse), or survivors move together when a block's worth is dropped (compact)",
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
/// A whole number of tokens from `low` up, without a default.
constexpr Param tokens_param(std::string_view name, std::string_view help, double low) {
  return {.name = name, .help = help, .unit = Unit::kTokens, .fallback = {}, .low = low, .high = kMaxTokens};
}

}  // namespace kvplan::attention
