// The event log as plain structs: what happened (facts) and what the simulator says about memory (claims).
// proto/event_log.proto is the same with a sentence on every field; FORMAT.md has the file and the order of
// the facts.
//
// Times are ticks since the first arrival; requests are numbered by their place in the trace.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "simulator/base/ids.h"
#include "simulator/base/units.h"

namespace kvplan::event_log {

inline constexpr std::uint32_t kVersion = 12;
inline constexpr std::size_t kStates = 10;
/// metadata, live, reserved, hole, tail, padding, internal, cached, stranded, free.
using Totals = std::array<std::int64_t, kStates>;

// What a reader accepts; sums and products of these stay within 64 bits.
inline constexpr std::int64_t kMostTime = std::int64_t{1} << 62;
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;
inline constexpr std::int64_t kMostAllocUnits = std::int64_t{1} << 31;
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
inline constexpr std::int64_t kMostTracks = 1 << 14;
inline constexpr std::int64_t kMostRows = 1 << 14;
inline constexpr std::int64_t kMostLayers = 1 << 14;  // of a group; groups
inline constexpr std::int64_t kMostRowBytes = 1 << 30;
inline constexpr std::int64_t kMostReplicas = 1 << 14;
/// Longest list in one fact: a longer grant is several facts.
inline constexpr std::int64_t kMostListed = 1 << 15;

/// Which free range a request gets where its memory is one range; FORMAT.md defines each.
enum class RangePlacement : std::uint8_t { kFirstFit, kBestFit, kNextFit, kBuddy };

/// What the memory of a request is made of; FORMAT.md, "Memory in bytes".
enum class TableForm : std::uint8_t { kTokens, kPages, kTensors, kNothing };

struct TokenRow {
  std::int64_t bytes{1};
  std::int64_t alloc_units{1};
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

/// Layers that share a block.
struct LayerGroup {
  std::int64_t layers{1};
  std::int64_t window{0};  ///< tokens that a token sees, itself included; 0: all
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
  /// Cells of a token in each track, 0 where another rank has them; empty: no courses.
  std::vector<std::int32_t> track_units{};
  std::int64_t metadata_bytes{0};  ///< of each cell
  bool reuse{false};
  RangePlacement range_placement{RangePlacement::kFirstFit};
  TableForm table_form{TableForm::kTokens};
  std::int64_t odd_alloc_unit_bytes{0};  ///< where the form is not kTokens
  std::int64_t page_bytes{0};            ///< kPages
  std::vector<TokenRow> rows{};
  std::vector<LayerGroup> groups{};  ///< not empty: a block is of one of them
  bool compacts{false};              ///< courses whose survivors move together
  bool counted{false};               ///< of those, only how many tokens go is known
  std::int64_t tables{1};            ///< of a request
  std::int64_t entry_bytes{0};       ///< of a block of several tables
  bool unnumbered{false};            ///< blocks have no ids
  bool prefills_apart{false};        ///< a step with chunks computes nothing else
  bool tree{false};                  ///< of pages, in which prefixes are found
  std::int64_t id_tokens{0};         ///< that an id of a prompt stands for; 0: there are none
  std::int32_t replicas{1};          ///< on one clock, all as this says
  bool by_priority{false};           ///< who is asked, and gives way, by the priority of arrivals
  std::int64_t prompt_rows{0};  ///< where courses find prefixes: tokens that an admission computes at least
  std::string allocator;
  std::string scenario;
  std::string trace_digest;

  [[nodiscard]] std::int64_t tracks_of_table() const {
    return static_cast<std::int64_t>(track_units.size()) / tables;
  }
  /// Entries of a table for a logical block: one of each group, where there are groups.
  [[nodiscard]] std::int64_t entries_per_block() const {
    return groups.empty() ? 1 : static_cast<std::int64_t>(groups.size());
  }
  /// Layers that a block has room for, where there are groups.
  [[nodiscard]] std::int64_t block_layers() const {
    std::int64_t most = 0;
    for (const LayerGroup& group : groups) most = group.layers > most ? group.layers : most;
    return most;
  }
};

/// Names the content of a block: equal keys, equal contents. Even: contents that several requests may have.
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
  std::int32_t prefix_ids{0};  ///< where there is a tree: that the PrefixIds behind it come to
  std::int32_t priority{0};    ///< where it goes by priority: the least is asked first
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
  std::int64_t pages{0};  ///< where there is a tree: so many, from this one on
};
struct Admit {
  RequestId request;
  std::vector<std::int64_t> hit_publications;
  std::vector<ContentKey> hit_keys;  ///< as many
  std::int64_t found_pages{0};       ///< instead, where there is a tree
  std::int64_t found_blocks{0};      ///< where there are groups: leading logical blocks that are found
};
struct Grant {
  RequestId request;
  std::int64_t first_block, alloc_units;
  std::vector<ContentKey> shared_keys;  ///< of the leading allocation units
  std::int64_t tensor_tokens{0};        ///< kTensors: how long each tensor is
  std::int32_t first_table{0};  ///< of several: so many from this one on, each of which is granted these
  std::int32_t tables{0};
};
struct Publish {
  RequestId request;
  std::int64_t logical_block;  ///< where there are groups, the place in the table
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
  /// Of its first steps.
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

/// A token kept in a track, as a term of the digest of all that are kept: the terms are added, modulo 2^64.
/// SplitMix64's mixing function (Steele, Lea, Flood 2014).
constexpr std::uint64_t kept_term(std::int64_t token, std::int64_t track, std::int64_t tracks) {
  std::uint64_t x = static_cast<std::uint64_t>(token * tracks + track) + 0x9E37'79B9'7F4A'7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return x ^ (x >> 31);
}

struct Course {
  RequestId request;
  std::vector<std::int32_t> drops;  ///< a part of: for each n, for each track, a count and positions
};
struct LetGo {
  RequestId request;
  std::vector<std::int32_t> logical_blocks;  ///< highest first
};
struct Move {
  RequestId request;
  std::int64_t copied;  ///< leading slots that were written
  std::int64_t slots;   ///< of the range where it is now
  bool slides;          ///< false: copied in the step, both ranges held until it ends
};

/// Of several replicas: all that happens at this tick has been told.
struct TickEnd {
  std::int64_t time;
};
/// Of several replicas: the last fact of all.
struct FleetEnd {
  std::int64_t time;
};

/// Neighbouring tracks of which as many tokens go.
struct AlikeTracks {
  std::int32_t tracks;
  std::vector<std::int32_t> runs;  ///< pairs: so many go, after each of so many n
};
struct Counts {
  RequestId request;
  std::vector<AlikeTracks> alike;
};
struct Compact {
  RequestId request;
  std::int64_t slots;           ///< of the table from now on
  std::int64_t cells;           ///< kept, of all tracks
  std::int64_t released;        ///< blocks
  std::int32_t first_table{0};  ///< of several: so many from this one on, all this of each
  std::int32_t tables{0};
};

/// The names of a prompt's tokens, where there is a tree.
struct PrefixIds {
  RequestId request;
  std::vector<std::uint32_t> ids;
};
/// Its first tokens, whole pages, are in the tree.
struct Settle {
  RequestId request;
  std::int64_t tokens;
};

/// Decodes, but computes nothing until the next pass.
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

/// What several replicas together came to.
struct JointPeak {
  std::int64_t time{0};        ///< the earliest at which least memory was available after all passes
  Totals totals{};             ///< then
  std::int64_t running{0};     ///< members of all running lists, at most
  std::int64_t hole_bytes{0};  ///< at most
  friend bool operator==(const JointPeak&, const JointPeak&) = default;
};

/// What the simulator says about the moment after a fact.
struct Claims {
  std::vector<std::int32_t> places;  ///< block ids; one address; addresses and lengths; of Move: the new one
  bool has_totals{false};
  Totals totals{};
  std::int64_t running{0}, waiting{0};  ///< of PassEnd; of TickEnd the former, of all replicas
  bool has_kept{false};
  std::uint64_t kept_digest{0};  ///< of Preempt and Finish, where a course is followed or tokens were dropped

  bool has_kept_cells{false};
  std::int64_t kept_cells{0};  ///< of the same two, where it is counted

  bool has_joint_peak{false};
  JointPeak joint_peak{};  ///< of FleetEnd

  [[nodiscard]] bool any() const {
    return has_totals || has_kept || has_kept_cells || has_joint_peak || !places.empty();
  }
};

struct Record {
  Fact fact;
  Claims claims;
  std::int32_t replica{0};  ///< whose; 0 of facts that are of all
};

}  // namespace kvplan::event_log
