// The interface of the allocator family: where the KV bytes of requests go.
//
// Calls for one request: lookup (changes nothing) -> admit -> grow, free_entries, ... -> release (the request ended or
// was preempted; it may be admitted again) -> forget (it ended). The engine decides and calls. The allocator places
// blocks and remembers which request holds which. Running out of room is an ordinary answer: the call returns `false`
// and nothing has changed.
//
// Allocation unit: the smallest amount of memory that can be granted or freed. It is a block of tokens, one KV slot, or
// a page of each tensor (TableForm says which).
//
// One instance serves one replica. It sees the time only if it asks for it (`clock`), and keeps no statistics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::core {

/// How a free range is chosen where the memory of a request is one contiguous range. The event log records it, so
/// that a replay can choose the same range (simulator/io/log/FORMAT.md defines each rule).
enum class RangePlacement : std::uint8_t { kFirstFit, kBestFit, kNextFit, kBuddy };

/// What a table lists. It also decides how memory is freed: with kBlocks, blocks are freed one by one; with all other
/// forms, the memory of a request is freed only as a whole, when the request ends.
enum class TableForm : std::uint8_t {
  kBlocks,   ///< blocks of whole tokens
  kRange,    ///< one range of slots
  kPages,    ///< pages under contiguous tensors; a token's row may cross the border of two pages
  kTensors,  ///< one tensor for all tokens of a request, each in a block that may be longer
  /// No KV is stored and nothing is ever held; the capacity counts as one allocation unit that no request takes
  kNothing,
};

/// Whether allocation units have ids, and whether several requests can hold one.
enum class AllocUnitIds : std::uint8_t {
  kListed,  ///< units have ids; tables list them, and several requests may hold the same unit
  /// No unit is ever shared, and units have no ids: tables and spans of ids are empty.
  kNone,
  /// As kNone, but cached prefixes lie in a radix tree, which owns their units. A table lists only what its
  /// request holds outside the tree; PoolCounts::shared counts the tree's units that requests hold.
  kTree,
};

/// Tensors with rows of the same length (one row for each token).
struct TokenRow {
  std::int64_t bytes{1};  ///< of one token in one tensor
  /// kPages: units that are one page of each tensor; kTensors: number of such tensors in a row
  std::int64_t alloc_units{1};
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

/// Allocation units of tensors, for the forms kPages and kTensors. core/table_bytes.h says what the bytes of a
/// table are used for.
struct TensorAllocUnits {
  std::int64_t alloc_unit_bytes{0};
  /// kPages: bytes of a page; an allocation unit is one page of each tensor of a row
  std::int64_t page_bytes{0};
  std::vector<TokenRow> rows{};
};

/// What one block id covers and how the capacity divides into blocks. Fixed for a run.
struct MemoryLayout {
  /// Where of_tokens() is false, alloc_unit_tokens is 1 without meaning, and no token policy can be used.
  TableForm form{TableForm::kBlocks};
  /// Tokens in an allocation unit (a block; 1 for a slot)
  std::int64_t alloc_unit_tokens{1};
  /// Bytes of one token over all layers and heads; where `groups` is used, over the layers of one group
  std::int64_t token_bytes{1};
  std::int64_t capacity_bytes{0};  ///< KV bytes before rounding to allocation units
  std::int64_t alloc_units{0};     ///< allocation units that requests can hold
  /// The pool has one unit more, with id 0, that no request can hold (vLLM's null block)
  bool null_block{false};
  RangePlacement ranges{RangePlacement::kFirstFit};  ///< kRange: how a free range is chosen
  AllocUnitIds ids{AllocUnitIds::kListed};
  TensorAllocUnits tensors{};  ///< kPages, kTensors: what allocation units are
  /// Not empty: layers lie in groups of equal size, and a block belongs to one group, so that a token has a
  /// slot in one block of each group. The table entry of logical block b of group g is b * groups.size() + g. A
  /// cell is a token's slot in one layer; cells_per_token is the number of layers that a block has room for.
  /// The form is kBlocks, no token policy is used, and growth_tokens() is below 0. A prefix hit may lack blocks
  /// of a group with a window that no longer shows them; such an entry is kNoBlock from the start.
  std::vector<model::LayerGroup> groups{};
  /// With `groups`: blocks that a request holds for states in place of a KV cache, from its admission to its release.
  /// They are in no table, and PoolCounts::held counts them. They are written when its first tokens are.
  model::StateBlocks states{};
  /// KV slots of one token that a token policy can drop separately (see course.h); divides token_bytes.
  std::int64_t cells_per_token{1};
  /// Block tables of a request. Each block of a table holds cells_per_token / tables cells of a token; `tables`
  /// divides cells_per_token. More than one table needs a course for every request; then allocation units have
  /// no ids, and the entry of logical block b of table t is b * tables + t.
  std::int64_t tables{1};
  /// Bytes of a block's entry in its table, in addition to the block's KV slots
  std::int64_t entry_bytes{0};
  /// Bytes beside keys and values in each KV slot: metadata of a policy or of sparse attention, scales of a
  /// codec
  std::int64_t metadata_bytes{0};

  /// Kinds of layer groups; empty without groups.
  [[nodiscard]] std::vector<model::LayerKind> layer_kinds() const { return model::kinds_of(groups, states); }
  /// True: an allocation unit holds whole tokens.
  [[nodiscard]] bool of_tokens() const { return form == TableForm::kBlocks || form == TableForm::kRange; }
  /// True: allocation units are freed one by one. False: a request's memory is freed only as a whole, when it
  /// ends.
  [[nodiscard]] bool returns_alloc_units() const { return form == TableForm::kBlocks; }
  [[nodiscard]] bool block_ids() const { return ids == AllocUnitIds::kListed; }
  [[nodiscard]] bool tree() const { return ids == AllocUnitIds::kTree; }
  [[nodiscard]] std::int64_t alloc_unit_bytes() const {
    if (of_tokens()) return alloc_unit_tokens * (token_bytes / tables) + entry_bytes;
    return form == TableForm::kNothing ? capacity_bytes : tensors.alloc_unit_bytes;
  }
  /// True: a table has an entry for each allocation unit. False: it has an address, or for each tensor a pair
  /// (address, length in allocation units).
  [[nodiscard]] bool table_by_alloc_units() const {
    return returns_alloc_units() || form == TableForm::kPages;
  }
  [[nodiscard]] std::int64_t cell_bytes() const { return token_bytes / cells_per_token; }
  /// Bytes that one count of the ledger stands for: one byte where the KV slots of a token are told apart or
  /// allocation units do not hold whole tokens, else the bytes of one token.
  [[nodiscard]] std::int64_t count_bytes() const {
    return cells_per_token == 1 && metadata_bytes == 0 && of_tokens() ? token_bytes : 1;
  }
  /// Counts of the ledger in one allocation unit.
  [[nodiscard]] std::int64_t alloc_unit_counts() const { return alloc_unit_bytes() / count_bytes(); }
  /// Bytes that no KV slot maps to: the null block, and what the division into allocation units leaves over.
  [[nodiscard]] std::int64_t padding_bytes() const {
    return capacity_bytes - alloc_units * alloc_unit_bytes();
  }
};

/// Why an allocation was refused. The request's demand is counted in allocation units before the allocator rounds
/// it up to ranges or blocks.
enum class Refusal : std::uint8_t {
  kNone,        ///< none was
  kTooShort,    ///< the free and cached memory together is less than the demand
  kFragmented,  ///< free memory would be enough in total, but no single range or block is
};

/// Allocation units of the pool by state; held + cached + free = layout.alloc_units.
struct PoolCounts {
  std::int64_t free{0};    ///< not held, content forgotten
  std::int64_t cached{0};  ///< no request holds them, and a lookup can still find their content
  std::int64_t held{0};
  std::int64_t shared{0};          ///< of `held`: units of the radix tree (MemoryLayout::tree)
  std::int64_t distinct_names{0};  ///< distinct contents that a lookup can find, held or not
  // Not part of the sum:
  std::int64_t duplicates{0};  ///< cached units with content that a lookup finds in an older copy first
  /// Cached units that no lookup reaches, because an earlier block of their prefix is gone
  std::int64_t unreachable{0};
  std::int64_t sharers{0};  ///< over all held units: number of holders beyond the first
  friend bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

/// The result of a lookup in the prefix cache.
struct PrefixHit {
  /// Leading tokens that are cached: whole blocks, and fewer than all tokens of the request
  std::int64_t tokens{0};
  std::int64_t idle{0};  ///< hit blocks that no request holds now; taking them uses up free room
};

/// The range of a request moved. A range that slides was moved during the scheduler step, before anything is
/// computed; old and new range may overlap and have the same length. Any other range is copied during the model
/// step: both ranges are held until the step ends, then the one at `from` is freed.
struct RangeMove {
  RequestId request;
  std::int64_t from, to;    ///< addresses in tokens
  std::int64_t from_slots;  ///< length of the range at `from`
  std::int64_t slots;       ///< length of the range at `to`, at least from_slots
  bool slides;
  friend bool operator==(const RangeMove&, const RangeMove&) = default;
};

/// Receives block contents as they enter and leave the prefix cache. Used by event logs; other runs have no
/// listener.
class BlockListener {
 public:
  virtual ~BlockListener() = default;
  /// `logical_block`: entry of the request's table.
  virtual void on_insert(RequestId request, std::int64_t logical_block, BlockId block) = 0;
  virtual void on_evict_block(BlockId block) = 0;
};

class Observer;
class Placing;

/// What every memory answers, whether an allocator or an engine's own pool places blocks in it.
class Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] virtual const MemoryLayout& layout() const = 0;
  [[nodiscard]] virtual PoolCounts counts() const = 0;
  /// True: an empty pool could serve the request to its end. Requests for which this is false are rejected on
  /// arrival.
  [[nodiscard]] virtual bool fits_empty(RequestId request) const = 0;
  /// True: requests can follow courses (course.h).
  [[nodiscard]] virtual bool follows_courses() const = 0;
  /// An observer through which the memory learns the time; the caller adds it to the replica's observers. The
  /// memory owns it. Null: the memory does not need the time.
  [[nodiscard]] virtual Observer* clock() { return nullptr; }
  /// Null: granting and freeing move no ranges and take no time.
  [[nodiscard]] virtual Placing* placing() { return nullptr; }
};

/// Tables of contiguous memory hold amounts instead of block ids: an address in tokens, or for each tensor the
/// address and the length of its block in allocation units. These functions convert. REQUIRES: 0 <= amount, fits
/// 32 bits.
constexpr BlockId entry_of_amount(std::int64_t amount) {
  return id_at<BlockId>(amount);
}
constexpr std::int64_t amount_of_entry(BlockId entry) {
  return number(entry);
}

/// The block table of a request.
struct BlockTable {
  /// Block ids by logical block, or by entry where layers lie in groups (MemoryLayout::groups); kNoBlock where
  /// a block was freed or never taken. Contiguous memory: one entry, the address in tokens. Tensors: for each
  /// tensor, address and length in allocation units. Empty where blocks have no ids. Valid until the next call
  /// for this request.
  std::span<const BlockId> ids;
  /// Units that the request holds or has freed, except those that cut_table removed
  std::int64_t alloc_units{0};
  std::int64_t tensor_tokens{0};  ///< kTensors: length of the request's tensors, in tokens
};

// Optional parts of an allocator. Each belongs to one allocator and lives as long.

/// The prefix cache: finds the cached blocks of a request, computed by itself or by others.
class Contents {
 public:
  /// Leading cached tokens of a request that has to compute `num_tokens`; at most num_tokens - 1.
  [[nodiscard]] virtual PrefixHit lookup(RequestId request, std::int64_t num_tokens) = 0;
  /// The tokens that lookup() would find, without changing anything. For routers that compare replicas.
  [[nodiscard]] virtual std::int64_t cached_tokens(RequestId /*request*/, std::int64_t /*num_tokens*/) const {
    return 0;
  }
  /// A number that changes whenever the answer of the latest lookup may have changed. So a request that waits
  /// at the head of the queue need not be looked up in every scheduler step.
  [[nodiscard]] virtual std::uint64_t lookup_epoch() const = 0;
  /// Makes the whole blocks of the first `tokens` tokens findable. They are full, or will be when this step
  /// ends.
  virtual void insert(RequestId request, std::int64_t tokens) = 0;
  /// The request no longer keeps all its KV slots. The whole blocks of its first `written` tokens are inserted;
  /// blocks that it fills later, until its release, are not.
  virtual void close(RequestId request, std::int64_t written) = 0;
  /// The request has ended and will not come back: nothing about it need be remembered. REQUIRES: released.
  virtual void forget(RequestId request) = 0;

  void set_listener(BlockListener* listener) { listener_ = listener; }

 protected:
  ~Contents() = default;
  BlockListener* listener_{nullptr};
};

/// Frees single blocks of requests that go on. The replica says which: blocks in which no KV slot is kept, or
/// that no window shows any more. An allocator without this part keeps them until the request is released.
class BlockReturns {
 public:
  /// Frees these entries of the request's table, in this order. REQUIRES: the request holds them. If there is a
  /// prefix cache and layers do not lie in groups, the request's contents are closed (Contents::close). If
  /// blocks have no ids either, all entries freed since the admission form one range of the table; each call
  /// extends that range at its end, highest entry first.
  virtual void free_entries(RequestId request, std::span<const std::int32_t> entries) = 0;
  /// Shortens the table to `alloc_units` entries and frees the ones behind, highest first. For requests with
  /// placement=compact. REQUIRES: the request inserts nothing into the cache, and the table is longer.
  virtual void cut_table(RequestId request, std::int64_t alloc_units) = 0;

 protected:
  ~BlockReturns() = default;
};

/// The part of an allocator that moves ranges, or takes time, when it places.
class Placing {
 public:
  /// The ranges that the latest `admit` or `grow` moved to make room, in order; empty if none. Valid until the
  /// next call.
  [[nodiscard]] virtual std::span<const RangeMove> moves() const { return {}; }
  /// The step in which ranges were copied (not slid) has ended: the ranges at their old addresses are free.
  /// Called only after such moves.
  virtual void end_copies() {}
  /// The delay of the next step: time for moving `copied_tokens` tokens and for everything else since the last
  /// call. Called once in every scheduler step that computes something. `computed`: duration of the step before
  /// without its own delay, 0 if there was none; work done beside a step is hidden by at most that much.
  [[nodiscard]] virtual Ticks take_delay(std::int64_t copied_tokens, Ticks computed) = 0;

 protected:
  ~Placing() = default;
};

/// An allocator: the functions that all allocators have, with those of Memory. What only some can do is a part
/// that may be null.
class Allocator : public Memory {
 public:
  [[nodiscard]] bool follows_courses() const override { return growth_tokens() >= 0; }
  /// Tokens between two grants to a decoding request. Above 0: a request needs room when it holds a multiple of
  /// this number; it is granted one allocation unit, which succeeds as long as one is free or cached. 0:
  /// everything is reserved at admission, and `grow` always succeeds. Below 0: a request needs room when it
  /// holds `next_growth` tokens; it is granted any number of units, even none, and may be refused whatever is
  /// free. Courses need a value of 0 or more.
  [[nodiscard]] virtual std::int64_t growth_tokens() const = 0;
  /// Admits a request: takes the blocks of the latest lookup and makes room for `tokens` in all. `goal` (at
  /// least `tokens`): tokens that the request holds once it has computed everything that it must before it
  /// samples. REQUIRES: `found` is empty, or the result of the latest lookup, for this request, at an unchanged
  /// epoch; tokens > found.tokens.
  [[nodiscard]] virtual bool admit(RequestId request, const PrefixHit& found, std::int64_t tokens,
                                   std::int64_t goal) = 0;
  /// Makes room for `tokens` in all. REQUIRES: the request is admitted; `tokens` is what it will hold after
  /// this step, or the slots that its course needs then (Course::table_slots).
  [[nodiscard]] virtual bool grow(RequestId request, std::int64_t tokens) = 0;
  /// Frees everything that the request holds, the end of its table first. `written`: tokens that it had
  /// written.
  virtual void release(RequestId request, std::int64_t written) = 0;
  /// The request's table; empty if it is not admitted.
  [[nodiscard]] virtual BlockTable table(RequestId request) const = 0;

  /// Calls `grow` for decoding requests with full tables: one allocation unit each, in this order. REQUIRES: at
  /// least that many units are free or cached.
  virtual void grow_full(std::span<const RequestId> requests) {
    for (const RequestId r : requests) {
      const bool grown = grow(r, table(r).alloc_units * growth_tokens() + 1);
      KVPLAN_CHECK(grown, r);
    }
  }
  /// Where growth_tokens() is below 0: the tokens that the request can hold without growing. Only its own
  /// `grow` changes it. REQUIRES: admitted.
  [[nodiscard]] virtual std::int64_t next_growth(RequestId request) const {
    KVPLAN_CHECK(false, request);
    return 0;
  }
  /// Why the latest `admit` or `grow` was refused; call it at once. This default is for memory in which every
  /// unit that is not held serves every request.
  [[nodiscard]] virtual Refusal refusal() const { return Refusal::kTooShort; }

  // Null where the allocator has no such part.

  [[nodiscard]] virtual Contents* contents() { return nullptr; }
  [[nodiscard]] virtual BlockReturns* block_returns() { return nullptr; }
};

}  // namespace kvplan::core
