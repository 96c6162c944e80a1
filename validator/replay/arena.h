// Memory of a replay and who holds what of it: the independent allocator. Allocation units come from a stack (the last
// one given back goes out first), ranges in the mirror image of theirs; the simulator does neither.
//
// All counting is by the backend: before a change the touched extents are recounted and subtracted, after
// it they are recounted and added.
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

/// Tokens of a range that lie one behind the other. A range that grew in place has several: each lies below the one
/// before it, since a replay's memory is the mirror image of the simulator's.
struct RangePart {
  std::int64_t first_token, first_cell, cells;
};

/// A request as the replay knows it.
struct Request {
  RequestId id{0};
  std::int64_t input{0}, output{0};
  std::int64_t arrival{0};   ///< tick
  std::int32_t priority{0};  ///< where it goes by priority
  std::int64_t rank{-1};     ///< of its latest admission
  bool running{false}, waiting{false};
  bool whole{false};           ///< prompt, or what is recomputed, is written
  bool first_token{false};     ///< told
  std::int64_t target{0};      ///< tokens to write until the next token comes out
  std::int64_t written{0};     ///< tokens in memory, found ones included
  std::int64_t published{0};   ///< leading blocks that it found or has published; of groups, in all of them
  std::int64_t prefix_ids{0};  ///< of its prompt
  PageKeys pages;              ///< where there is a tree
  std::unique_ptr<Course> course;      ///< since its admission, where requests follow courses
  std::unique_ptr<Gathered> gathered;  ///< instead, where survivors move together
  bool sliding{false};                 ///< has dropped cells since its admission
  std::int64_t sink{0}, begin{0};
  /// Where layers lie in groups.
  struct InGroup {
    std::int64_t published;  ///< the same in this group
    std::int64_t empty_to;   ///< it has none of the blocks below
  };
  std::vector<InGroup> in_groups;
  std::int64_t found_blocks{0};  ///< since its admission
  std::vector<std::int64_t>
      found_entries;          ///< in its pass: those of its table that it takes of what it finds
  std::size_t found_told{0};  ///< of these, the first ones
  /// Allocation units by entry, block b of table t at b x tables + t; kGone: let go, not granted yet to this one of
  /// several, or not taken of what was found, since no window shows it.
  std::vector<std::int64_t> table;
  std::vector<std::int64_t> lengths;             ///< of several tables: blocks, those let go too
  std::int64_t range_first{-1}, range_cells{0};  ///< all of it
  std::vector<RangePart> range_parts;            ///< by token
  std::int64_t range_place{-1};                  ///< the simulator's address
  std::uint64_t range_generation{0};             ///< of its range, or where survivors move of its table
  // Of the pass and step in progress:
  std::int64_t chunk{0};
  std::int64_t stage{0};             ///< what was told of it in this pass; see Replay::Impl::in_order
  std::int64_t publishing_group{0};  ///< of its latest publication
  bool held_back{false};             ///< decodes, but was not reached in this pass
  bool ends{false};
  bool owes_first_token{false}, owes_drop{false}, wrote{false};
  /// Its prompt became whole in this step, with pages that the tree does not have from it
  bool owes_tree{false};
  std::size_t freed_reported{0};  ///< blocks of its course's latest list that have gone back

  [[nodiscard]] std::int64_t final_tokens() const { return input + output - 1; }
};
inline constexpr std::int64_t kGone = -1;
using Requests = std::unordered_map<RequestId, Request>;

struct Holder {
  const Request* request;  ///< requests stay where they are until they end
  std::int64_t logical;
};
struct AllocUnit {
  event_log::ContentKey key{0};
  std::uint64_t generation{0};
  RequestId owner{-1};    ///< whoever was granted it, and alone writes it
  std::int64_t group{0};  ///< of layers, for which it was granted
  std::int64_t entry{0};  ///< of the table for which it was granted
  std::int64_t publication{-1};
  std::vector<Holder> holders;
  std::int32_t place{-1};  ///< the simulator's id
};

class Arena {
 public:
  Arena(const event_log::Header& header, Backend& backend, Requests& requests);

  Status reserve();
  /// Places of tokens, and stamps in memory: one for each place and track.
  [[nodiscard]] std::int64_t places() const { return header_.alloc_units * header_.alloc_unit_tokens; }
  [[nodiscard]] std::int64_t cells() const { return places() * tracks_; }
  [[nodiscard]] std::int64_t free_alloc_units() const { return static_cast<std::int64_t>(free_.size()); }
  [[nodiscard]] AllocUnit& alloc_unit(std::int64_t q) { return alloc_units_[static_cast<std::size_t>(q)]; }
  /// By state, kept up to date by the changes below.
  [[nodiscard]] const CellCounts& counts() const { return counts_; }
  /// Recounts all of memory.
  Result<CellCounts> scan_all();
  /// How many cells of an allocation unit hold the content of this key, of the allocation unit's generation; of
  /// alloc_unit_cells().
  Result<CellCounts> read(std::int64_t q, event_log::ContentKey key);
  [[nodiscard]] std::int64_t alloc_unit_cells() const;

  // Paged. `take` appends to the request's table. REQUIRES: that many are free.
  Status take(Request& request, const std::vector<event_log::ContentKey>& keys);
  /// For these entries of the tables of a request that has several. REQUIRES: that many are free.
  Status take_entries(Request& request, const std::vector<std::int64_t>& entries);
  /// These entries of the request's table hold these allocation units from now on. REQUIRES: the table has them, empty.
  Status share(Request& request, const std::vector<std::int64_t>& entries,
               const std::vector<std::int64_t>& alloc_units);
  /// Lets go of the logical blocks [first, first + count) of the request.
  Status free_entries(Request& request, std::int64_t first, std::int64_t count);
  /// Their cells that hold the content of their keys (`cached`), of their generations, and all others.
  Result<CellCounts> read_all(const std::vector<std::int64_t>& alloc_units);
  /// Instead of as many entries of its table, from `first` on, which nobody else holds and nobody can find, the
  /// request holds these allocation units of a tree; its own come back.
  Status take_for_own(Request& request, std::int64_t first, const std::vector<std::int64_t>& alloc_units);
  /// The content of an allocation unit that nobody holds is given up.
  Status forget(std::int64_t q);

  // One range per request. `take_range` returns false where nothing fits.
  Result<bool> take_range(Request& request, std::int64_t cells);
  Status give_range_back(Request& request);
  /// `cells` more at the end that is the low one here. False: they are not free.
  Result<bool> grow_range(Request& request, std::int64_t cells);
  /// Moves the range up to the next one that is held. Returns how far: 0 where nothing is free there.
  Result<std::int64_t> slide_range(Request& request);
  /// A longer range for the request, into which the first `copied` tokens are moved by `end_copies`; the old one is
  /// held until then. False: nothing fits.
  Result<bool> copy_range(Request& request, std::int64_t cells, std::int64_t copied);
  Status end_copies();
  /// Is its range read or written by a copy that has not ended?
  [[nodiscard]] bool in_copy(RequestId request) const;

  /// The request's tokens [from, to) are written, and what it keeps may change: `change` does that; cells of
  /// tokens [drop_from, drop_to) are touched by it.
  struct Progress {
    Request* request;
    std::int64_t from, to;
    std::int64_t drop_from, drop_to;
  };
  Status progress(const std::vector<Progress>& all, const std::function<void()>& change);

  /// The same where requests follow courses: tokens [from, to) of each are written where its course says.
  struct Followed {
    Request* request;
    std::int64_t from, to;
  };
  Status follow(const std::vector<Followed>& all, const std::function<void()>& change);
  /// The same where survivors move together: what each writes next is behind what it has.
  Status follow_gathered(const std::vector<Followed>& all, const std::function<void()>& change);
  /// The survivors of a table of the request move together. What is behind them in the last block that it keeps is
  /// poisoned, and the blocks behind that go back, highest first.
  Status gather(Request& request, std::int64_t table);

  /// Called when an allocation unit is poisoned and free again.
  std::function<void(AllocUnit&)> on_free;

 private:
  /// An extent that a change touches; `request` where memory is ranges, -1: free.
  struct Piece {
    std::int64_t first_cell, cells;
    RequestId request;
    std::int64_t first_token{0};  ///< of a range
    std::int64_t read{-1};        ///< tokens of the range that a copy reads; -1: it is the request's own
  };
  using Pieces = std::vector<Piece>;
  /// The range that a copy reads.
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
  // Where layers lie in groups: a block of each group for every `alloc_unit_tokens` tokens.
  void add_group_pieces(const Request& request, std::int64_t from, std::int64_t to, Pieces& pieces);
  void add_piece(const Request& request, std::int64_t entry, Pieces& pieces);
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
  std::int64_t tracks_;  ///< of a table
  CellCounts counts_;
  std::vector<AllocUnit> alloc_units_;
  std::vector<std::int64_t> free_;
  std::optional<RangePlaces> range_places_;   ///< where memory is ranges
  std::map<std::int64_t, RequestId> ranges_;  ///< held ranges by first cell
  std::vector<Source> sources_;               ///< of copies that have not ended
  std::uint64_t generations_{0};
  std::vector<std::uint64_t> touched_;  ///< by allocation unit: the latest change that looked at it
  std::uint64_t change_{0};
  std::vector<Shift> shifts_;  ///< done before the writes
  std::vector<Write> writes_;
  std::vector<View> views_;
  std::vector<Holding> holdings_;
  std::vector<Mark> marks_;
};

}  // namespace kvplan::validator
