// The memory of a replay and its holders: an allocator independent of the simulator's. Allocation units come from a
// stack (the last freed goes out first), ranges from the mirror image of the simulator's. The simulator uses neither.
//
// All counting is done by the backend: before a change the affected extents are recounted and subtracted, after the
// change they are recounted and added.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "simulator/base/result.h"
#include "simulator/io/log/events.h"
#include "validator/replay/backend.h"
#include "validator/replay/course.h"
#include "validator/replay/gathered.h"
#include "validator/replay/page_tree.h"
#include "validator/replay/range_places.h"

namespace kvplan::validator {

/// Contiguous tokens of a range. A range that grew in place has several parts: each lies below the one before it,
/// since a replay's memory is the mirror image of the simulator's.
struct RangePart {
  std::int64_t first_token, first_cell, cells;
};

/// The state of a request in the replay.
struct Request {
  RequestId id{0};
  std::int64_t input{0}, output{0};
  std::int64_t arrival{0};   ///< tick
  std::int32_t priority{0};  ///< used if priority decides the order
  std::int64_t rank{-1};     ///< rank of its latest admission
  bool running{false}, waiting{false};
  bool whole{false};               ///< true: its prompt, or what is recomputed, is written
  bool first_token{false};         ///< its first token was reported
  std::int64_t target{0};          ///< tokens to write until the next token is produced
  std::int64_t written{0};         ///< tokens in memory, hit ones included
  std::int64_t published{0};       ///< leading blocks that it hit or published; with groups, in all of them
  std::int64_t prefix_ids{0};      ///< ids of its prompt
  PageKeys pages;                  ///< used with a radix tree
  std::unique_ptr<Course> course;  ///< the course since its admission, if requests follow courses
  std::unique_ptr<Gathered> gathered;  ///< used instead of `course` if survivors move together
  bool sliding{false};                 ///< it has dropped cells since its admission
  std::int64_t sink{0}, begin{0};
  /// Used if layers lie in groups.
  struct InGroup {
    std::int64_t published;  ///< leading blocks in this group
    std::int64_t empty_to;   ///< blocks below this are empty in its table
  };
  std::vector<InGroup> in_groups;
  std::int64_t found_blocks{0};             ///< leading blocks of the hit of its admission
  std::vector<std::int64_t> found_entries;  ///< in its pass: table entries that it takes from its hit
  std::size_t found_told{0};                ///< number of these that were reported
  /// Allocation units by entry, block b of table t at b x tables + t; kGone: freed, not granted yet to this one of
  /// several tables, or not taken from a hit because no window shows it.
  std::vector<std::int64_t> table;
  std::vector<std::int64_t> states;   ///< allocation units of its states, which are in no table
  std::vector<std::int64_t> lengths;  ///< with several tables: number of blocks, freed ones included
  std::int64_t range_first{-1}, range_cells{0};  ///< the whole range
  std::vector<RangePart> range_parts;            ///< by token
  std::int64_t range_place{-1};                  ///< address in the simulator
  std::uint64_t range_generation{0};  ///< generation of its range, or of its table if survivors move
  // State of the pass and step in progress:
  std::int64_t chunk{0};
  std::int64_t stage{0};             ///< latest report about it in this pass; see Replay::Impl::in_order
  std::int64_t publishing_group{0};  ///< group of its latest publication
  bool held_back{false};             ///< it decodes, but was not reached in this pass
  bool ends{false};
  bool owes_first_token{false}, owes_drop{false}, wrote{false};
  /// Its prompt became complete in this step, and the tree lacks some of its pages
  bool owes_tree{false};
  std::size_t freed_reported{0};  ///< number of blocks of its course's latest list that have been freed

  [[nodiscard]] std::int64_t final_tokens() const { return input + output - 1; }
};
inline constexpr std::int64_t kGone = -1;
using Requests = std::unordered_map<RequestId, Request>;

struct Holder {
  const Request* request;  ///< requests do not move in memory until they end
  std::int64_t logical;
};
struct AllocUnit {
  event_log::ContentKey key{0};
  std::uint64_t generation{0};
  RequestId owner{-1};    ///< the request to which it was granted; only that request writes it
  std::int64_t group{0};  ///< group of layers for which it was granted
  std::int64_t entry{0};  ///< table entry for which it was granted
  std::int64_t publication{-1};
  std::vector<Holder> holders;
  std::int32_t place{-1};         ///< block id in the simulator
  std::int64_t state_layers{-1};  ///< layers with states in it; below 0: it has slots of tokens
};

class Arena {
 public:
  Arena(const event_log::Header& header, Backend& backend, Requests& requests);

  Status reserve();
  /// Number of token slots, and of stamps in memory: one for each slot and track.
  [[nodiscard]] std::int64_t places() const { return header_.alloc_units * header_.alloc_unit_tokens; }
  [[nodiscard]] std::int64_t cells() const { return places() * tracks_; }
  [[nodiscard]] std::int64_t free_alloc_units() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] AllocUnit& alloc_unit(std::int64_t q) { return alloc_units_[static_cast<std::size_t>(q)]; }
  /// Cells by state, kept up to date by the changes below.
  [[nodiscard]] const CellCounts& counts() const { return counts_; }
  /// Recounts all of memory.
  Result<CellCounts> scan_all();
  /// Reads an allocation unit and counts how many of its alloc_unit_cells() cells hold the content of this key, in the
  /// unit's generation.
  Result<CellCounts> read(std::int64_t q, event_log::ContentKey key);
  [[nodiscard]] std::int64_t alloc_unit_cells() const;

  // Paged memory. `take` appends to the request's table. REQUIRES: that many units are free.
  Status take(Request& request, const std::vector<event_log::ContentKey>& keys);
  /// Takes the units of the request's states. REQUIRES: that many are free.
  Status take_states(Request& request);
  Status free_states(Request& request);
  /// Takes units for these entries of a request with several tables. REQUIRES: that many are free.
  Status take_entries(Request& request, const std::vector<std::int64_t>& entries);
  /// Sets these entries of the request's table to these allocation units. REQUIRES: the entries exist and are empty.
  Status share(Request& request, const std::vector<std::int64_t>& entries,
               const std::vector<std::int64_t>& alloc_units);
  /// Frees the logical blocks [first, first + count) of the request.
  Status free_entries(Request& request, std::int64_t first, std::int64_t count);
  /// Counts the cells that hold the content of their keys (`cached`), in their generations, and all other cells.
  Result<CellCounts> read_all(const std::vector<std::int64_t>& alloc_units);
  /// Replaces entries of the request's table, from `first` on, by these allocation units of a tree; the request's own
  /// units at these entries, which no other request holds and no lookup finds, are freed.
  Status take_for_own(Request& request, std::int64_t first, const std::vector<std::int64_t>& alloc_units);
  /// Evicts the content of an allocation unit that no request holds.
  Status forget(std::int64_t q);

  // One range per request. `take_range` returns false if nothing fits.
  Result<bool> take_range(Request& request, std::int64_t cells);
  Status give_range_back(Request& request);
  /// Adds `cells` at the low end, which is the end of a range in this memory. False: they are not free.
  Result<bool> grow_range(Request& request, std::int64_t cells);
  /// Moves the range up to the next held range. Returns the distance; 0 if nothing is free there.
  Result<std::int64_t> slide_range(Request& request);
  /// Takes a longer range for the request; `end_copies` moves the first `copied` tokens into it, and until then the old
  /// range is held. False: nothing fits.
  Result<bool> copy_range(Request& request, std::int64_t cells, std::int64_t copied);
  Status end_copies();
  /// True: a copy that has not ended reads or writes its range.
  [[nodiscard]] bool in_copy(RequestId request) const;

  /// The request writes its tokens [from, to), and the tokens that it keeps may change: `change` makes that change,
  /// which affects cells of tokens [drop_from, drop_to).
  struct Progress {
    Request* request;
    std::int64_t from, to;
    std::int64_t drop_from, drop_to;
  };
  Status progress(const std::vector<Progress>& all, const std::function<void()>& change);

  /// As Progress, for courses: tokens [from, to) of each request are written where its course says.
  struct Followed {
    Request* request;
    std::int64_t from, to;
  };
  Status follow(const std::vector<Followed>& all, const std::function<void()>& change);
  /// As follow, if survivors move together: each request writes behind the cells that it has.
  Status follow_gathered(const std::vector<Followed>& all, const std::function<void()>& change);
  /// Moves the survivors of a table of the request together. The rest of the last block that it keeps is poisoned,
  /// and the blocks behind it are freed, highest first.
  Status gather(Request& request, std::int64_t table);

  /// Called when an allocation unit was poisoned and is free again.
  std::function<void(AllocUnit&)> on_free;

 private:
  /// An extent affected by a change. `request` is used if memory consists of ranges; -1: free.
  struct Piece {
    std::int64_t first_cell, cells;
    RequestId request;
    std::int64_t first_token{0};  ///< first token of a range
    std::int64_t read{-1};        ///< tokens of the range that a copy reads; -1: it is the request's own
  };
  using Pieces = std::vector<Piece>;
  /// A range that a copy reads.
  struct Source {
    RequestId request;
    std::int64_t first, cells;
    std::vector<RangePart> parts;
    std::int64_t copied;
  };

  [[nodiscard]] Piece piece_of(std::int64_t q) const {
    return {q * header_.alloc_unit_tokens, header_.alloc_unit_tokens, kNoRequest};
  }
  /// Adds the extents of the request's tokens [from, to), each allocation unit once.
  void add_pieces(const Request& request, std::int64_t from, std::int64_t to, Pieces& pieces);
  [[nodiscard]] Pieces range_pieces(const Request& request) const;
  static void add_source(const Source& source, Pieces& pieces);
  void add_view(const Piece& piece);
  // For groups of layers: a block of each group for every `alloc_unit_tokens` tokens.
  void add_group_pieces(const Request& request, std::int64_t from, std::int64_t to, Pieces& pieces);
  void add_piece(const Request& request, std::int64_t entry, Pieces& pieces);
  // arena_states.cpp
  void add_state_pieces(const Request& request, Pieces& pieces);
  void add_state_views(const Piece& piece, const AllocUnit& alloc_unit);
  void write_states(const Request& request);
  [[nodiscard]] Holding group_holding(const Request& request, std::int64_t entry) const;
  [[nodiscard]] std::int64_t groups() const { return static_cast<std::int64_t>(header_.groups.size()); }
  // arena_courses.cpp
  void add_followed_pieces(const Followed& followed, Pieces& pieces);
  void add_track_views(const Piece& piece);
  void add_held_views(const AllocUnit& alloc_unit, std::int64_t first_place);
  void add_cached_views(const AllocUnit& alloc_unit, std::int64_t first_place, std::uint64_t content);
  void add_alloc_unit_views(const Request& request, std::int64_t first_track, std::int64_t first_slot,
                            std::int64_t slots, std::int64_t first_place, std::uint64_t content);
  [[nodiscard]] std::int64_t cell_of(std::int64_t place, std::int64_t track) const;
  // arena_gathered.cpp
  [[nodiscard]] std::int64_t place_of(const Request& request, std::int64_t table, std::int64_t slot) const;
  [[nodiscard]] Pieces table_pieces(const Request& request, std::int64_t table) const;
  void begin_table(Request& request);
  void poison(std::int64_t first_place, std::int64_t count);
  Result<CellCounts> recount(const Pieces& pieces);
  Status change(const Pieces& before, const std::function<void()>& f, const Pieces& after);
  void release(AllocUnit& alloc_unit, std::int64_t q);

  const event_log::Header& header_;
  Backend& backend_;
  Requests& requests_;
  std::int64_t tracks_;  ///< tracks of a table
  CellCounts counts_;
  std::vector<AllocUnit> alloc_units_;
  std::vector<std::int64_t> free_;
  std::optional<RangePlaces> range_places_;   ///< used if memory consists of ranges
  std::map<std::int64_t, RequestId> ranges_;  ///< held ranges by first cell
  std::vector<Source> sources_;               ///< of copies in progress
  std::uint64_t generations_{0};
  std::vector<std::uint64_t> touched_;  ///< by allocation unit: the latest change that counted it
  std::uint64_t change_{0};
  std::vector<Shift> shifts_;  ///< moves, made before the writes
  std::vector<Write> writes_;
  std::vector<View> views_;
  std::vector<Holding> holdings_;
  std::vector<Mark> marks_;
};

}  // namespace kvplan::validator
