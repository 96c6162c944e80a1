// The interface of the allocator family: where the KV bytes of requests go.
//
// Life of a request: lookup (changes nothing) -> admit -> grow, free_entries, ... -> release (it ended or was
// preempted; it may be admitted again) -> forget (it ended). The engine decides and calls; the allocator
// places and remembers who holds what. Running out of room is an ordinary answer (`false`, and nothing has
// changed).
//
// One instance serves one replica. It is told nothing about time, unless it asks for that (`clock`), and keeps no
// statistics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/base/check.h"
#include "simulator/base/ids.h"
#include "simulator/base/units.h"
#include "simulator/model/layer_groups.h"

namespace kvplan::core {

/// Which free range a request gets where its memory is one range. The event log says it, so that a replay can place
/// for itself (simulator/io/log/FORMAT.md defines each).
enum class RangePlacement : std::uint8_t { kFirstFit, kBestFit, kNextFit, kBuddy };

/// What a request's table is made of, and how its memory comes back: blocks one by one, all else only as a whole, when
/// the request ends.
enum class TableForm : std::uint8_t {
  kBlocks,  ///< blocks of whole tokens
  kRange,   ///< one range of slots
  kPages,   ///< pages under contiguous tensors, which the rows of tokens fill without regard to their borders
  kTensors,  ///< tensors of so many tokens, each in a block that may be longer
  kNothing,  ///< no token has a place and nothing is ever held; the capacity is one allocation unit that nobody takes
};

/// What is said of which allocation units a request holds.
enum class AllocUnitIds : std::uint8_t {
  kListed,  ///< its table says which, and several requests may hold the same
  /// No allocation unit is ever held by two requests, and none has an id: tables are empty, and so are spans of ids.
  kNone,
  /// As kNone, but prefixes lie in a tree of runs of tokens, and its allocation units are nobody's: a table has only
  /// what a request has beside it, and PoolCounts::shared what of the tree somebody holds.
  kTree,
};

/// Tensors in which a token has rows of one length.
struct TokenRow {
  std::int64_t bytes{1};  ///< of a token in one tensor
  std::int64_t alloc_units{
      1};  ///< kPages: those that are one page of each; kTensors: so many tensors in a row
  friend bool operator==(const TokenRow&, const TokenRow&) = default;
};

/// Allocation units of tensors, where the form is kPages or kTensors; core/table_bytes.h says what a table's bytes
/// are for.
struct TensorAllocUnits {
  std::int64_t alloc_unit_bytes{0};
  std::int64_t page_bytes{
      0};  ///< kPages: of a page; an allocation unit is one page of each of so many tensors
  std::vector<TokenRow> rows{};
};

/// What one block id spans and how capacity divides into blocks: fixed for a run.
struct MemoryLayout {
  /// Where allocation units are not of whole tokens (of_tokens() is false) alloc_unit_tokens is 1 and means nothing,
  /// and no token policy is replayed.
  TableForm form{TableForm::kBlocks};
  std::int64_t alloc_unit_tokens{
      1};  ///< tokens of the least amount that can be granted or returned (block; 1 slot)
  std::int64_t token_bytes{
      1};  ///< bytes of one token's place over all layers and heads; of a group, see groups
  std::int64_t capacity_bytes{0};  ///< KV bytes before rounding to allocation units
  std::int64_t alloc_units{0};     ///< allocation units that requests can hold
  bool null_block{false};  ///< the capacity has one more allocation unit, with id 0, that no request can hold
  RangePlacement ranges{RangePlacement::kFirstFit};  ///< kRange: which free range a request gets
  AllocUnitIds ids{AllocUnitIds::kListed};
  TensorAllocUnits tensors{};  ///< kPages, kTensors: what allocation units are
  /// Not empty: a block is of one of these groups of layers, all of the same size, and a token has a place in a
  /// block of each. The entry of logical block b of group g in a table is b * groups.size() + g. A cell is a token's
  /// place in one layer, cells_per_token how many layers a block has room for. The form is kBlocks, no token policy is
  /// followed, and growth_tokens() is below 0. What is found by a lookup may be missing in a group where its window
  /// does not show it: such an entry is kNoBlock from the start.
  std::vector<model::LayerGroup> groups{};
  /// Cells of one token's place that a token policy tells apart (see course.h); divides token_bytes.
  std::int64_t cells_per_token{1};
  /// Tables of a request, each of whose blocks is of so many of a token's cells less; divides cells_per_token. More
  /// than one only where every request follows a course; then allocation units have no ids, and the entry of logical
  /// block b of table t is b * tables + t.
  std::int64_t tables{1};
  std::int64_t entry_bytes{0};  ///< of an allocation unit of tokens, beside its cells: its entry in a table
  std::int64_t metadata_bytes{0};  ///< of each cell, beside keys and values: a policy's or reader's, scales

  /// Allocation units are of whole tokens.
  [[nodiscard]] bool of_tokens() const { return form == TableForm::kBlocks || form == TableForm::kRange; }
  /// True: allocation units come back one by one. False: a request's memory comes back only as a whole, when it ends.
  [[nodiscard]] bool returns_alloc_units() const { return form == TableForm::kBlocks; }
  [[nodiscard]] bool block_ids() const { return ids == AllocUnitIds::kListed; }
  [[nodiscard]] bool tree() const { return ids == AllocUnitIds::kTree; }
  [[nodiscard]] std::int64_t alloc_unit_bytes() const {
    if (of_tokens()) return alloc_unit_tokens * (token_bytes / tables) + entry_bytes;
    return form == TableForm::kNothing ? capacity_bytes : tensors.alloc_unit_bytes;
  }
  /// True: a table has an entry for each allocation unit. False: an address, or a pair (address, allocation units)
  /// for each tensor.
  [[nodiscard]] bool table_by_alloc_units() const {
    return returns_alloc_units() || form == TableForm::kPages;
  }
  [[nodiscard]] std::int64_t cell_bytes() const { return token_bytes / cells_per_token; }
  /// Bytes that one count of the ledger stands for: a token's place, or a byte where tokens are told apart by
  /// cell or allocation units are not of whole tokens.
  [[nodiscard]] std::int64_t count_bytes() const {
    return cells_per_token == 1 && metadata_bytes == 0 && of_tokens() ? token_bytes : 1;
  }
  /// Counts of the ledger in one allocation unit.
  [[nodiscard]] std::int64_t alloc_unit_counts() const { return alloc_unit_bytes() / count_bytes(); }
  /// Bytes that no cell maps to: the null block and remainders of the division into allocation units.
  [[nodiscard]] std::int64_t padding_bytes() const {
    return capacity_bytes - alloc_units * alloc_unit_bytes();
  }
};

/// Why an allocation was refused. What is asked for is counted in allocation units before the allocator rounds it up
/// to ranges or blocks of its own.
enum class Refusal : std::uint8_t {
  kNone,        ///< none was
  kTooShort,    ///< all that nobody holds is less than what was asked for
  kFragmented,  ///< it would be enough, but no range or block that could be granted is
};

/// Allocation units of the pool by who could use them; held + cached + free = layout.alloc_units.
struct PoolCounts {
  std::int64_t free{0};    ///< not held, content forgotten
  std::int64_t cached{0};  ///< not held, content can still be found by a lookup
  std::int64_t held{0};
  std::int64_t shared{0};          ///< of `held`: allocation units of the tree (MemoryLayout::tree)
  std::int64_t distinct_names{0};  ///< contents that a lookup can find, held or not
  // Beside the sum:
  std::int64_t duplicates{0};   ///< cached, and a lookup of their content finds an older copy first
  std::int64_t unreachable{0};  ///< cached, and no lookup comes to them: some block of their prefix is gone
  std::int64_t sharers{0};      ///< holders of held allocation units beyond the first, summed
  friend bool operator==(const PoolCounts&, const PoolCounts&) = default;
};

/// The result of a lookup.
struct PrefixHit {
  std::int64_t tokens{0};  ///< leading tokens that are cached: whole blocks, never all tokens of the request
  std::int64_t idle{0};    ///< blocks among them that nobody holds now: taking them uses free room
};

/// The range of a request is somewhere else from now on. One that slides has been moved within the pass, before
/// anything is computed; the two places may overlap, and its length is what it was. Any other is copied in the step
/// of this pass: both places are held until that ends, then the one at `from` comes back.
struct RangeMove {
  RequestId request;
  std::int64_t from, to;    ///< addresses in tokens
  std::int64_t from_slots;  ///< length of the range at `from`
  std::int64_t slots;       ///< length of the range at `to`, at least from_slots
  bool slides;
  friend bool operator==(const RangeMove&, const RangeMove&) = default;
};

/// Told of contents that become findable or are given up. For event logs; a run without one has no listener.
class BlockListener {
 public:
  virtual ~BlockListener() = default;
  /// `logical_block`: the entry of the table.
  virtual void on_insert(RequestId request, std::int64_t logical_block, BlockId block) = 0;
  virtual void on_evict_block(BlockId block) = 0;
};

class Observer;
class Placing;

/// What is asked of any memory, whoever places in it.
class Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] virtual const MemoryLayout& layout() const = 0;
  [[nodiscard]] virtual PoolCounts counts() const = 0;
  /// Could it carry the request to its end if it were empty? Requests for which it could not are rejected on arrival.
  [[nodiscard]] virtual bool fits_empty(RequestId request) const = 0;
  /// Can its requests follow courses (course.h)?
  [[nodiscard]] virtual bool follows_courses() const = 0;
  /// Null: it need not know the time. Else an observer that must be among the replica's; of the memory, and lives as
  /// long.
  [[nodiscard]] virtual Observer* clock() { return nullptr; }
  /// Null: granting, or giving back, moves no ranges and takes no time.
  [[nodiscard]] virtual Placing* placing() { return nullptr; }
};

/// In tables of contiguous memory amounts stand in the place of block ids: an address in tokens, or of each tensor the
/// address and the length of its block in allocation units. Whoever puts one in or takes one out says so with these.
/// REQUIRES: 0 <= amount, fits 32 bits.
constexpr BlockId entry_of_amount(std::int64_t amount) {
  return id_at<BlockId>(amount);
}
constexpr std::int64_t amount_of_entry(BlockId entry) {
  return number(entry);
}

/// What of a request is where.
struct BlockTable {
  /// By logical block, or entry (MemoryLayout::groups); kNoBlock where a block was let go, or never taken. For
  /// contiguous memory one entry, the address in tokens; for tensors, of each the address and the length in
  /// allocation units. Empty where blocks have no ids. Valid until the next call for this request.
  std::span<const BlockId> ids;
  std::int64_t alloc_units{0};    ///< that the request holds or has let go, unless they were cut off
  std::int64_t tensor_tokens{0};  ///< that its tensors are long, where the layout's form is kTensors
};

// Parts of an allocator that only some have. Each belongs to one allocator and lives as long.

/// The index of contents: finds what is cached, for the request that computed it or for others.
class Contents {
 public:
  /// Leading tokens found cached for a request that has to compute `num_tokens`; at most num_tokens - 1.
  [[nodiscard]] virtual PrefixHit lookup(RequestId request, std::int64_t num_tokens) = 0;
  /// What such a lookup would find; leaves no trace. For whoever chooses among replicas.
  [[nodiscard]] virtual std::int64_t cached_tokens(RequestId /*request*/, std::int64_t /*num_tokens*/) const {
    return 0;
  }
  /// Changes whenever the answer of the latest lookup may have changed, so that a refused head of the queue
  /// need not be looked up at every pass.
  [[nodiscard]] virtual std::uint64_t lookup_epoch() const = 0;
  /// Makes whole blocks of the first `tokens` tokens findable (they are full, or will be when this step
  /// ends).
  virtual void insert(RequestId request, std::int64_t tokens) = 0;
  /// Cells of the request are no longer kept: what it fills from now on, until its release, is not made findable. Whole
  /// blocks of its first `written` tokens are, before.
  virtual void close(RequestId request, std::int64_t written) = 0;
  /// The request has ended for good: nothing about it need be remembered. REQUIRES: released.
  virtual void forget(RequestId request) = 0;

  void set_listener(BlockListener* listener) { listener_ = listener; }

 protected:
  ~Contents() = default;
  BlockListener* listener_{nullptr};
};

/// Blocks come back from requests that go on. Which, the replica says: no cell in them is kept, or no window shows them
/// any more. Allocators without this keep them until the request gives everything back.
class BlockReturns {
 public:
  /// These entries of the request's table come back, in this order. REQUIRES: it holds them. Where contents are found
  /// by lookups and layers do not lie in groups, its own are closed (Contents::close); if blocks have no ids besides,
  /// all that came back since its admission is one range of the table, to which each call adds at the end, the highest
  /// first.
  virtual void free_entries(RequestId request, std::span<const std::int32_t> entries) = 0;
  /// The table is `alloc_units` long from now on: those behind come back, highest first. For requests with
  /// placement=compact. REQUIRES: nothing is made findable, the table is longer.
  virtual void cut_table(RequestId request, std::int64_t alloc_units) = 0;

 protected:
  ~BlockReturns() = default;
};

/// Placing moves ranges or takes time.
class Placing {
 public:
  /// What the latest `admit` or `grow` moved to make room, in the order in which it did; nothing if it made none.
  /// Valid until the next call.
  [[nodiscard]] virtual std::span<const RangeMove> moves() const { return {}; }
  /// The step has ended in which moves (those that do not slide) were copied: the ranges that they came from come
  /// back. Called only after such moves.
  virtual void end_copies() {}
  /// By how much what was done since the last call makes the next step later: `copied_tokens` tokens were moved, and
  /// whatever else takes time. Asked once in every pass that computes something. `computed`: how long the step before
  /// took without what placing added to it, 0 where there was none: what an allocator does beside a step is hidden by
  /// at most that.
  [[nodiscard]] virtual Ticks take_delay(std::int64_t copied_tokens, Ticks computed) = 0;

 protected:
  ~Placing() = default;
};

/// What requests are served from. Eight questions that every allocator answers, those of Memory among them; what only
/// some do is a part that is there or null.
class Allocator : public Memory {
 public:
  [[nodiscard]] bool follows_courses() const override { return growth_tokens() >= 0; }
  /// Tokens between two grants to a request that decodes: it needs room when it holds a multiple of this. It
  /// is then granted one allocation unit, and that succeeds as long as an allocation unit is free or cached. 0:
  /// everything is reserved at admission, `grow` always succeeds. Below 0: a request needs room when it holds
  /// `next_growth` tokens, is granted any number of allocation units, none too, and may be refused whatever is free.
  /// Not for courses.
  [[nodiscard]] virtual std::int64_t growth_tokens() const = 0;
  /// Takes what the latest lookup found and makes room for `tokens` in all. `goal`: tokens that the request holds when
  /// it has computed all that it must before it samples a token, at least `tokens`. REQUIRES: `found` is empty, or of
  /// the latest lookup, which was for this request, and its epoch still holds; tokens > found.tokens.
  [[nodiscard]] virtual bool admit(RequestId request, const PrefixHit& found, std::int64_t tokens,
                                   std::int64_t goal) = 0;
  /// Makes room for `tokens` in all. REQUIRES: the request is admitted; tokens is what it will hold after
  /// this step, or the slots that its course needs for them (Course::table_slots).
  [[nodiscard]] virtual bool grow(RequestId request, std::int64_t tokens) = 0;
  /// Everything comes back, the tail first. `written`: tokens that the request had written.
  virtual void release(RequestId request, std::int64_t written) = 0;
  /// Empty for a request that is not admitted.
  [[nodiscard]] virtual BlockTable table(RequestId request) const = 0;

  /// `grow` for requests that decode and whose tables are full, one allocation unit each, in this order. REQUIRES: as
  /// many allocation units are free or cached.
  virtual void grow_full(std::span<const RequestId> requests) {
    for (const RequestId r : requests) {
      const bool grown = grow(r, table(r).alloc_units * growth_tokens() + 1);
      KVPLAN_CHECK(grown, r);
    }
  }
  /// Where growth_tokens() is below 0: the tokens that the request can hold as it is. Changes by its own `grow` only.
  /// REQUIRES: admitted.
  [[nodiscard]] virtual std::int64_t next_growth(RequestId request) const {
    KVPLAN_CHECK(false, request);
    return 0;
  }
  /// Why the latest `admit` or `grow` said no; asked at once. As it stands here for memory of which every idle
  /// allocation unit serves everybody.
  [[nodiscard]] virtual Refusal refusal() const { return Refusal::kTooShort; }

  // Null where it has no such part.

  [[nodiscard]] virtual Contents* contents() { return nullptr; }
  [[nodiscard]] virtual BlockReturns* block_returns() { return nullptr; }
};

}  // namespace kvplan::core
