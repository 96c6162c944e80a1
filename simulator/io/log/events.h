// The event log as plain structs: what happened (facts), and what the simulator says about memory (claims).
// proto/event_log.proto has the same with a sentence on every field; FORMAT.md has the file and the order of the facts.
//
// Times are ticks since the first arrival; requests are numbered by their position in the trace.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/io/log/rules.h"

namespace kvplan::event_log {

inline constexpr std::uint32_t kVersion = 14;
inline constexpr std::size_t kStates = 10;
/// metadata, live, reserved, hole, tail, padding, internal, cached, stranded, free.
using Totals = std::array<std::int64_t, kStates>;

// Largest values that a reader accepts; their sums and products stay within 64 bits.
inline constexpr std::int64_t kMostTime = std::int64_t{1} << 62;
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;
inline constexpr std::int64_t kMostAllocUnits = std::int64_t{1} << 31;
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
inline constexpr std::int64_t kMostTracks = 1 << 14;
inline constexpr std::int64_t kMostRows = 1 << 14;
inline constexpr std::int64_t kMostLayers = 1 << 14;  // of a group; groups
inline constexpr std::int64_t kMostRowBytes = 1 << 30;
inline constexpr std::int64_t kMostReplicas = 1 << 14;
/// Longest list in one fact; a longer grant becomes several facts.
inline constexpr std::int64_t kMostListed = 1 << 15;

/// How a free range is chosen for a request with one contiguous range; FORMAT.md defines each rule.
enum class RangePlacement : std::uint8_t { kFirstFit, kBestFit, kNextFit, kBuddy };

/// The form of a request's memory; FORMAT.md, "Memory in bytes".
enum class TableForm : std::uint8_t { kTokens, kPages, kTensors, kNothing };

struct TokenRow {
  std::int64_t bytes{1};
  std::int64_t alloc_units{1};
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

/// Layers that share a block.
struct LayerGroup {
  std::int64_t layers{1};
  std::int64_t window{0};  ///< tokens that a token sees, its own included; 0: all
  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

struct Header {
  std::string writer;  ///< program and version
  std::int64_t alloc_unit_tokens{1};
  std::int64_t token_bytes{1};
  std::int64_t capacity_bytes{0};
  std::int64_t alloc_units{0};
  bool null_block{false};
  bool returns_alloc_units{true};
  bool prefix_cache{false};
  /// Cells of a token in each track, 0 for tracks of other ranks; empty: no courses.
  std::vector<std::int32_t> track_units{};
  std::int64_t metadata_bytes{0};  ///< of each cell
  bool reuse{false};
  RangePlacement range_placement{RangePlacement::kFirstFit};
  TableForm table_form{TableForm::kTokens};
  std::int64_t odd_alloc_unit_bytes{0};  ///< bytes of an allocation unit, if the form is not kTokens
  std::int64_t page_bytes{0};            ///< kPages
  std::vector<TokenRow> rows{};
  std::vector<LayerGroup> groups{};  ///< not empty: each block belongs to one of these groups
  // With groups: blocks of a request for states, beside its table; the layers with states in them; and the slots that
  // the state of a layer fills in a block
  std::int64_t state_blocks{0}, state_layers{0}, state_slots{0};
  bool compacts{false};         ///< courses with survivors that move together
  bool counted{false};          ///< with compacts: only the number of dropped tokens is known
  std::int64_t tables{1};       ///< of a request
  std::int64_t entry_bytes{0};  ///< with several tables: bytes of a block's entry in its table
  bool unnumbered{false};       ///< blocks have no ids
  Rules rules{};                ///< of the scheduler
  bool tree{false};             ///< prefixes are cached in a radix tree of pages
  std::int64_t id_tokens{0};    ///< tokens that one id of a prompt stands for; 0: no ids
  bool named_answers{false};    ///< with a tree: ids may cover tokens of answers (Arrival::named)
  std::int32_t replicas{1};     ///< number of replicas on one clock, all with this header
  /// With courses and prefix cache: least number of tokens that an admission computes
  std::int64_t prompt_rows{0};
  std::string allocator;
  std::string scenario;
  std::string trace_digest;

  [[nodiscard]] std::int64_t tracks_of_table() const {
    return static_cast<std::int64_t>(track_units.size()) / tables;
  }
  /// Table entries for a logical block: one for each group, if there are groups.
  [[nodiscard]] std::int64_t entries_per_block() const {
    return groups.empty() ? 1 : static_cast<std::int64_t>(groups.size());
  }
  /// Layers that a block has room for, if there are groups.
  [[nodiscard]] std::int64_t block_layers() const {
    std::int64_t most = 0;
    for (const LayerGroup& group : groups) most = group.layers > most ? group.layers : most;
    // Layers of one kind are dealt out to its groups one after the other.
    const std::int64_t of_states = state_blocks > 0 ? (state_layers + state_blocks - 1) / state_blocks : 0;
    return of_states > most ? of_states : most;
  }
};

/// Names the content of a block: equal keys mean equal contents. Even keys: contents that several requests may have.
using ContentKey = std::uint64_t;
constexpr ContentKey shared_key(std::int64_t name) {
  return static_cast<ContentKey>(name) * 2;
}
constexpr ContentKey own_key(RequestId request, std::int64_t logical_block) {
  return (static_cast<ContentKey>(request) << 32 | static_cast<ContentKey>(logical_block) << 1) | 1U;
}

struct Arrival {
  std::int64_t time;
  RequestId request;
  std::int32_t input, output;
  bool accepted;
  std::int32_t prefix_ids{0};  ///< with a tree: number of ids in the PrefixIds that follow
  std::int32_t priority{0};    ///< with by_priority: lower values come first
  std::int32_t named{0};       ///< with named_answers: leading tokens with ids; 0: at most the prompt
};
struct PassBegin {
  std::int64_t time;
};
struct Preempt {
  RequestId request;
  std::int64_t written;
};
struct Reclaim {
  std::int64_t publication;
  std::int64_t pages{0};  ///< with a tree: this many pages, from this one on
};
struct Admit {
  RequestId request;
  std::vector<std::int64_t> hit_publications;
  std::vector<ContentKey> hit_keys;  ///< one for each hit publication
  std::int64_t found_pages{0};       ///< with a tree: pages of the hit
  std::int64_t found_blocks{0};      ///< with groups: leading logical blocks of the hit
};
struct Grant {
  RequestId request;
  std::int64_t first_block, alloc_units;
  std::vector<ContentKey> shared_keys;  ///< of the leading allocation units
  std::int64_t tensor_tokens{0};        ///< kTensors: length of each tensor, in tokens
  /// With several tables: this many tables from this one on, each with this grant
  std::int32_t first_table{0};
  std::int32_t tables{0};
};
struct Publish {
  RequestId request;
  std::int64_t logical_block;  ///< with groups: the entry of the table
  ContentKey key;
};
struct Chunk {
  RequestId request;
  std::int64_t computed, tokens;
};
struct PassEnd {
  bool refused;
};
struct StepRun {
  std::int64_t time, first, growth, steps;
  [[nodiscard]] Wide span() const { return span(steps); }
  /// Duration of its first `count` steps.
  [[nodiscard]] Wide span(std::int64_t count) const {
    return Wide{first} * count + Wide{growth} * (Wide{count} * (count - 1) / 2);
  }
};
struct StepEnd {
  std::int64_t time;
  std::vector<RequestId> finishing;
};
struct FirstToken {
  RequestId request;
};
struct Drop {
  RequestId request;
  std::int64_t sink, begin, first_released, released;
};
struct Finish {
  RequestId request;
  std::int64_t written;
};
struct Settled {
  std::int64_t time;
};
struct End {
  std::int64_t time;
};

/// The term of a kept token in the digest of all kept tokens of a track; terms are added modulo 2^64. SplitMix64's
/// mixing function (Steele, Lea, Flood 2014).
constexpr std::uint64_t kept_term(std::int64_t token, std::int64_t track, std::int64_t tracks) {
  std::uint64_t x = static_cast<std::uint64_t>(token * tracks + track) + 0x9E37'79B9'7F4A'7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return x ^ (x >> 31);
}

struct Course {
  RequestId request;
  std::vector<std::int32_t> drops;  ///< part of a list: for each n, for each track, a count and positions
};
struct LetGo {
  RequestId request;
  std::vector<std::int32_t> logical_blocks;  ///< highest first
};
struct Move {
  RequestId request;
  std::int64_t copied;  ///< leading slots that were written and are copied
  std::int64_t slots;   ///< length of the range at its new address
  bool slides;          ///< false: copied in the step, both ranges held until it ends
};

/// With several replicas: everything at this tick has been reported.
struct TickEnd {
  std::int64_t time;
};
/// With several replicas: the last fact of the log.
struct FleetEnd {
  std::int64_t time;
};

/// Neighbouring tracks that drop the same number of tokens.
struct AlikeTracks {
  std::int32_t tracks;
  std::vector<std::int32_t> runs;  ///< pairs: number of dropped tokens, and for how many n
};
struct Counts {
  RequestId request;
  std::vector<AlikeTracks> alike;
};
struct Compact {
  RequestId request;
  std::int64_t slots;     ///< slots of the table from now on
  std::int64_t cells;     ///< kept, of all tracks
  std::int64_t released;  ///< blocks
  /// With several tables: this many tables from this one on, each with this change
  std::int32_t first_table{0};
  std::int32_t tables{0};
};

/// The names of a prompt's tokens, with a radix tree.
struct PrefixIds {
  RequestId request;
  std::vector<std::uint32_t> ids;
};
/// The first tokens of the request, whole pages, are now in the tree.
struct Settle {
  RequestId request;
  std::int64_t tokens;
};

/// The request decodes, but computes nothing until the next pass.
struct HoldBack {
  RequestId request;
};

using Fact = std::variant<Arrival, PassBegin, Preempt, Reclaim, Admit, Grant, Publish, Chunk, PassEnd,
                          StepRun, StepEnd, FirstToken, Drop, Finish, Settled, End, Course, LetGo, Move,
                          Counts, Compact, PrefixIds, Settle, TickEnd, FleetEnd, HoldBack>;
/// Short names, in the order of `Fact`.
inline constexpr std::array<const char*, std::variant_size_v<Fact>> kFactNames{
    "arrival",    "pass_begin", "preempt",  "reclaim",   "admit",       "grant",  "publish",
    "chunk",      "pass_end",   "steps",    "step_end",  "first_token", "drop",   "finish",
    "settled",    "end",        "course",   "let_go",    "move",        "counts", "compact",
    "prefix_ids", "settle",     "tick_end", "fleet_end", "hold_back"};

/// What several replicas reached together.
struct JointPeak {
  std::int64_t time{0};        ///< the earliest moment at which least memory was available after all passes
  Totals totals{};             ///< then
  std::int64_t running{0};     ///< most requests in all running lists
  std::int64_t hole_bytes{0};  ///< at most
  friend bool operator==(const JointPeak&, const JointPeak&) = default;
};

/// What the simulator says about the state after a fact.
struct Claims {
  /// Block ids; one address; addresses and lengths; for Move: the new address
  std::vector<std::int32_t> places;
  bool has_totals{false};
  Totals totals{};
  std::int64_t running{0}, waiting{0};  ///< for PassEnd; for TickEnd `running` of all replicas
  bool has_kept{false};
  std::uint64_t kept_digest{0};  ///< for Preempt and Finish, with a course or dropped tokens

  bool has_kept_cells{false};
  std::int64_t kept_cells{0};  ///< for Preempt and Finish, if tokens are only counted

  bool has_joint_peak{false};
  JointPeak joint_peak{};  ///< of FleetEnd

  [[nodiscard]] bool any() const {
    return has_totals || has_kept || has_kept_cells || has_joint_peak || !places.empty();
  }
};

struct Record {
  Fact fact;
  Claims claims;
  std::int32_t replica{0};  ///< replica of the fact; 0 for facts of all
};

}  // namespace kvplan::event_log
