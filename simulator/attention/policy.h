// A token policy decides which tokens of a sequence stay in the KV cache of one stored head.
//
// The step model (for token t of the sequence):
//   1 append   t joins the residents
//   2 attend   the query of t reads the residents, or what `select` picks of them
//   3 update   the policy updates its numbers from that attention row
//   4 evict    the policy names residents to drop until its budget holds
// The prompt is processed with full causal attention: its tokens are appended and update runs on its rows (as
// far as the policy asks for them), evict runs once, at its end. So a budget of B attends B + 1 tokens while
// decoding, and B + 1 is the peak.
//
// Life cycle: `PolicyKind::make` gives one TokenPolicy per stored head (or per layer, see Scope). It holds
// only its own values, is told everything else, decides and returns; the replay (replay.h) applies. Two
// policies never share state, and nothing here depends on time, chance or threads.
//
// To add a policy: one file that defines a `PolicyKind`, one line in catalogue.cpp (README.md shows it).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/attention/residents.h"
#include "simulator/base/component.h"

namespace kvplan::attention {

/// The weight of every resident in one attention row, reduced over the query heads that share the residents:
/// weight i is value[i] / divisor. The division is left to the policy, which fuses it with its own pass.
struct Weights {
  std::span<const double> value;
  double divisor{1.0};
};

class TokenPolicy {
 public:
  virtual ~TokenPolicy() = default;

  /// 2: for policies that read only a part of what they keep (PolicyTraits::selects): appends the indices of
  /// the residents that the query reads, ascending.
  virtual void select(const Residents& /*residents*/, const Weights& /*weights*/,
                      std::vector<std::int32_t>& /*attended*/) {}
  /// 3: the row of the newest token over the residents. May write the columns of `residents`.
  virtual void update(Residents& /*residents*/, const Weights& /*weights*/) {}
  /// 4: appends the indices of the residents that go, ascending and distinct; nothing when all may stay.
  virtual void evict(const Residents& residents, std::vector<std::int32_t>& drop) = 0;
};

/// Who shares one set of residents.
enum class Scope : std::uint8_t {
  kStoredHead,  ///< each stored head has its own
  kLayer,       ///< one for all heads of a layer
};

/// Which weights a policy is given.
enum class RowUse : std::uint8_t {
  kNone,    ///< positions decide: no rows are needed
  kRenorm,  ///< the row restricted to the residents and divided by its sum: what an evicting cache computes
  kRaw,     ///< the recorded numbers
};

/// Which rows of the prompt `update` is given.
enum class PromptRows : std::uint8_t { kNone, kLast, kAll };

/// Kept positions after n tokens, n >= the prompt: [0, min(sink, n)) and the last `recent` of the rest. Two
/// runs, known without any recording.
struct KeptInterval {
  std::int64_t sink{0};
  std::int64_t recent{0};
};

/// What the replay, the accounting and a serving run must know about a policy with its parameters.
struct PolicyTraits {
  Scope scope{Scope::kStoredHead};
  RowUse rows{RowUse::kNone};
  PromptRows prompt{PromptRows::kNone};
  int columns{0};                          ///< numbers per resident (Residents::column)
  bool selects{false};                     ///< keeps everything, reads what `select` picks
  std::int64_t state_bytes_per_cell{0};    ///< metadata beside each stored (head, token) on the device
  std::optional<KeptInterval> interval{};  ///< set where the kept set is known from lengths alone
  std::optional<std::int64_t> budget{};    ///< else set where parameters say how many tokens stay, not which
};

/// One member of the family: its descriptor, what it is called in golden files, its traits and its maker.
struct PolicyKind {
  Descriptor descriptor;
  std::string_view golden_name;
  PolicyTraits (*traits)(const Choice&);
  std::unique_ptr<TokenPolicy> (*make)(const Choice&);
};

/// How the query heads of one stored head are reduced to one weight per token.
enum class Aggregate : std::uint8_t { kMean, kMax };

inline constexpr std::string_view kFamily = "eviction";
inline constexpr double kMaxTokens = 1 << 30;
inline constexpr std::array<std::string_view, 2> kAggregates{"mean", "max"};
inline constexpr std::array<std::string_view, 2> kPlacements{"holes", "reuse"};

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
    .help = "Dropped cells stay until their block is dead (holes), or the next token takes the place (reuse)",
    .kind = ParamKind::kText,
    .fallback = "holes",
    .choices = kPlacements};

/// A whole number of tokens from `low` up, without a default.
constexpr Param tokens_param(std::string_view name, std::string_view help, double low) {
  return {.name = name, .help = help, .unit = Unit::kTokens, .fallback = {}, .low = low, .high = kMaxTokens};
}

}  // namespace kvplan::attention
