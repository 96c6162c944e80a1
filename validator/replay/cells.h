// Cells of replayed memory, and the rule for the state of each cell: the ten states of the ledger, implemented a second
// time. Plain data and inline functions, so that the same text is compiled for the host and for a device.
//
// Memory is scaled: a cell is one stamp of 8 bytes. It represents one token over all layers and heads, `token_bytes`
// bytes of KV memory; with courses, the cells of a token in one track.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define KVPLAN_BOTH __host__ __device__
#else
#define KVPLAN_BOTH
#endif

namespace kvplan::validator {

using Stamp = std::uint64_t;
/// The value of a cell that was not written since it was last granted or freed.
inline constexpr Stamp kPoison = 0xDEAD'CE11'DEAD'CE11ULL;

/// SplitMix64's mixing function (Steele, Lea, Flood 2014).
KVPLAN_BOTH inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E37'79B9'7F4A'7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return x ^ (x >> 31);
}

/// A content in one generation of its place. A place that was freed and granted again has another generation, so old
/// stamps cannot be mistaken for new ones.
inline std::uint64_t content_of(std::uint64_t key, std::uint64_t generation) {
  return mix(mix(key) ^ generation);
}

/// The stamp of token `offset` of a content. It is never the poison.
KVPLAN_BOTH inline Stamp stamp_of(std::uint64_t content, std::int64_t offset) {
  const Stamp stamp = mix(content + static_cast<std::uint64_t>(offset) * 0xD1B5'4A32'D192'ED03ULL);
  return stamp == kPoison ? 0 : stamp;
}

/// An extent of cells to write: token first_offset, first_offset + 1, ... of the content; or poison.
struct Write {
  std::int64_t first_cell;
  std::int64_t cells;
  std::uint64_t content;
  std::int64_t first_offset;
  std::int32_t poison;
};

/// An extent of cells to be moved; old and new extent may overlap.
struct Shift {
  std::int64_t from;
  std::int64_t to;
  std::int64_t cells;
};

enum class Use : std::int32_t { kFree, kCached, kHeld };

/// A request that holds an extent: the cell at offset i is token base + i of the request.
struct Holding {
  std::int64_t base;
  std::int64_t sink, begin;   ///< tokens [sink, begin) are dropped; none if begin <= sink
  std::int64_t final_tokens;  ///< it will write tokens [0, final_tokens)
};

/// The expected content of a cell, for a request that follows a course.
struct Mark {
  std::int64_t offset;   ///< offset of the token written last; -1: none
  std::int32_t kept;     ///< 1: that token is kept
  std::int32_t awaited;  ///< 1: a token will be written here
};

/// An extent of cells to be counted: held by the same requests, for the same content.
struct View {
  std::int64_t first_cell;
  std::int64_t cells;
  std::uint64_t content;  ///< the content that may be written in it
  std::int64_t first_offset;
  std::int32_t first_holding, holdings;
  Use use;
  std::int32_t one_alloc_unit;  ///< 1: the extent is one allocation unit; 0: each of its cells is one
  // For one track of an allocation unit:
  std::int32_t units{1};  ///< cells of a token that each stamp stands for: of the track, or layers of a block
  std::int64_t first_mark{-1};  ///< marks of its cells; -1: the holdings determine the content
  std::int32_t rewritable{0};   ///< 1: dropped cells may be written again
  std::int32_t others_used{0};  ///< 1: another track has a live, reserved or hole cell in the allocation unit
  std::int32_t idle_units{0};   ///< of a held block: layers that its group lacks
};

/// Cells by state. `wrong`: cells with neither poison nor the expected stamp; they are in no state.
struct CellCounts {
  std::int64_t live{0}, reserved{0}, hole{0}, tail{0}, padding{0}, internal{0}, cached{0}, free{0}, wrong{0};

  KVPLAN_BOTH CellCounts& operator+=(const CellCounts& b) { return add(b, 1); }
  KVPLAN_BOTH CellCounts& operator-=(const CellCounts& b) { return add(b, -1); }
  friend bool operator==(const CellCounts&, const CellCounts&) = default;

 private:
  KVPLAN_BOTH CellCounts& add(const CellCounts& b, int sign) {
    live += sign * b.live;
    reserved += sign * b.reserved;
    hole += sign * b.hole;
    tail += sign * b.tail;
    padding += sign * b.padding;
    internal += sign * b.internal;
    cached += sign * b.cached;
    free += sign * b.free;
    wrong += sign * b.wrong;
    return *this;
  }
};

/// As count_cell, for a cell with a mark.
KVPLAN_BOTH inline void count_marked(const View& view, const Mark& mark, Stamp found, CellCounts& counts) {
  const Stamp expected = mark.offset < 0 ? kPoison : stamp_of(view.content, mark.offset);
  if (view.use == Use::kCached && found == kPoison) {
    ++counts.tail;  // published in this pass; its step fills it
  } else if (found != expected) {
    ++counts.wrong;
  } else if (view.use == Use::kCached) {
    ++counts.cached;
  } else if (mark.offset >= 0 && mark.kept != 0) {
    ++counts.live;
  } else if (mark.offset >= 0 && view.rewritable == 0) {
    ++counts.hole;
  } else {
    ++(mark.awaited != 0 ? counts.reserved : counts.tail);
  }
}

/// The offsets of an extent's content that its holders keep and will write: the union over holders.
struct Shown {
  /// Some holder keeps the offsets below `kept_below` and from `kept_from` on
  std::int64_t kept_below, kept_from;
  std::int64_t awaited_below;  ///< some holder will write the offsets below this
};

KVPLAN_BOTH inline Shown shown_by(const View& view, const Holding* holdings) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  Shown out{-kFar, kFar, -kFar};
  for (std::int32_t h = view.first_holding; h < view.first_holding + view.holdings; ++h) {
    const Holding& holding = holdings[h];
    if (out.kept_below < holding.sink - holding.base) out.kept_below = holding.sink - holding.base;
    if (out.kept_from > holding.begin - holding.base) out.kept_from = holding.begin - holding.base;
    if (out.awaited_below < holding.final_tokens - holding.base)
      out.awaited_below = holding.final_tokens - holding.base;
  }
  return out;
}

/// Counts the cells first, first + step, ... of a view with cells that begin at `cells`. Cells that will never be
/// written count as `tail` until settle_view.
KVPLAN_BOTH inline CellCounts count_view(const View& view, const Holding* holdings, const Stamp* cells,
                                         const Mark* marks, std::int64_t first, std::int64_t step) {
  CellCounts counts;
  if (view.first_mark >= 0) {
    for (std::int64_t i = first; i < view.cells; i += step)
      count_marked(view, marks[view.first_mark + i], cells[i], counts);
    return counts;
  }
  // Sums without branches, because neighbouring cells often differ in their state.
  std::int64_t looked_at = 0, written = 0, empty = 0, kept = 0, awaited = 0;
  if (view.use == Use::kFree) {
    for (std::int64_t i = first; i < view.cells; i += step, ++looked_at) empty += cells[i] == kPoison ? 1 : 0;
    counts.free = empty;
  } else {
    const Shown shown = shown_by(view, holdings);
    for (std::int64_t i = first; i < view.cells; i += step, ++looked_at) {
      const std::int64_t offset = view.first_offset + i;
      const int is_written = cells[i] == stamp_of(view.content, offset) ? 1 : 0;
      const int is_empty = cells[i] == kPoison ? 1 : 0;
      const int is_kept =
          static_cast<int>(offset < shown.kept_below) | static_cast<int>(offset >= shown.kept_from);
      written += is_written;
      empty += is_empty;
      kept += is_written & is_kept;
      awaited += is_empty & static_cast<int>(offset < shown.awaited_below);
    }
    if (view.use == Use::kCached) {
      counts.cached = written;
      counts.tail = empty;
    } else {
      counts.live = kept;
      counts.hole = written - kept;
      counts.reserved = awaited;
      counts.tail = empty - awaited;
    }
  }
  counts.wrong = looked_at - written - empty;
  return counts;
}

/// Called after all cells of a view. In a held view, cells that will never be written are tail only beside a live,
/// reserved or hole cell of the same allocation unit (and track); padding, if another track has such a cell there;
/// otherwise over-reservation.
KVPLAN_BOTH inline void settle_view(const View& view, CellCounts& counts) {
  const bool used = counts.live + counts.reserved + counts.hole > 0;
  if (view.use == Use::kHeld && (view.one_alloc_unit == 0 || !used)) {
    (view.others_used != 0 ? counts.padding : counts.internal) += counts.tail;
    counts.tail = 0;
  }
  if (view.units != 1) {
    counts.live *= view.units;
    counts.reserved *= view.units;
    counts.hole *= view.units;
    counts.tail *= view.units;
    counts.padding *= view.units;
    counts.internal *= view.units;
    counts.cached *= view.units;
    counts.free *= view.units;
  }
  counts.padding += view.cells * view.idle_units;
}

}  // namespace kvplan::validator
