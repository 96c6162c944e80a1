// Memory of requests that follow courses: every slot of a token has a stamp for each track.
#include <algorithm>
#include <map>
#include <set>

#include "simulator/base/check.h"
#include "validator/replay/arena.h"

namespace kvplan::validator {

/// In an allocation unit the tracks lie one after the other; in ranges each track has its own memory.
std::int64_t Arena::cell_of(std::int64_t place, std::int64_t track) const {
  if (!header_.returns_alloc_units) return track * places() + place;
  const std::int64_t q = header_.alloc_unit_tokens;
  return (place / q * tracks_ + track) * q + place % q;
}

/// REQUIRES: whole allocation units.
void Arena::poison(std::int64_t first_place, std::int64_t count) {
  if (header_.returns_alloc_units) {
    writes_.push_back({first_place * tracks_, count * tracks_, 0, 0, 1});
    return;
  }
  for (std::int64_t track = 0; track < tracks_; ++track)
    writes_.push_back({cell_of(first_place, track), count, 0, 0, 1});
}

void Arena::add_track_views(const Piece& piece) {
  const std::int64_t q = header_.alloc_unit_tokens;
  if (header_.returns_alloc_units) {
    const AllocUnit& alloc_unit = alloc_units_[static_cast<std::size_t>(piece.first_cell / q)];
    if (header_.prefix_cache && !alloc_unit.holders.empty())
      return add_held_views(alloc_unit, piece.first_cell);
    if (alloc_unit.holders.empty() && alloc_unit.publication >= 0)
      return add_cached_views(alloc_unit, piece.first_cell,
                              content_of(alloc_unit.key, alloc_unit.generation));
    if (!alloc_unit.holders.empty()) {
      const Holder& holder = alloc_unit.holders.front();
      const Request& r = *holder.request;
      // Contents that move from block to block belong to the request, not to the block.
      const std::uint64_t content = header_.compacts
                                        ? content_of(event_log::own_key(r.id, 0), r.range_generation)
                                        : content_of(alloc_unit.key, alloc_unit.generation);
      const std::int64_t table = holder.logical % header_.tables;
      return add_alloc_unit_views(r, table * tracks_, holder.logical / header_.tables * q, q,
                                  piece.first_cell, content);
    }
  } else if (piece.request != kNoRequest) {
    const Request& r = requests_.at(piece.request);
    const std::uint64_t content = content_of(event_log::own_key(r.id, 0), r.range_generation);
    for (std::int64_t i = 0; i < piece.cells; ++i)  // every slot is an allocation unit
      add_alloc_unit_views(r, 0, piece.first_token + i, 1, piece.first_cell + i, content);
    return;
  }
  for (std::int64_t track = 0; track < tracks_; ++track) {
    View view{cell_of(piece.first_cell, track), piece.cells, 0, 0, 0, 0, Use::kFree, 0};
    view.units = header_.track_units[static_cast<std::size_t>(track)];
    views_.push_back(view);
  }
}

std::int64_t Arena::alloc_unit_cells() const {
  std::int64_t units = header_.track_units.empty() ? 1 : 0;
  for (const std::int32_t u : header_.track_units) units += u;
  return units * header_.alloc_unit_tokens;
}

/// Adds a view for each track of a block that other requests may hold too: a cell is kept if any holder keeps it, and
/// was written if its owner wrote it. Tokens are in order; in each track they are at their own number.
void Arena::add_held_views(const AllocUnit& alloc_unit, std::int64_t first_place) {
  const std::int64_t q = header_.alloc_unit_tokens;
  const std::int64_t first_slot = alloc_unit.entry * q;
  // A request that is being admitted keeps its whole hit.
  const auto follows = [](const Request& r) { return r.course != nullptr && r.course->complete(); };
  const auto owner = std::ranges::find(alloc_unit.holders, alloc_unit.owner,
                                       [](const Holder& holder) { return holder.request->id; });
  std::vector<Mark> own(static_cast<std::size_t>(q));  // of one holder
  const std::int64_t written = owner == alloc_unit.holders.end() ? first_slot + q : owner->request->written;
  for (std::int64_t track = 0; track < tracks_; ++track) {
    View view{cell_of(first_place, track),
              q,
              content_of(alloc_unit.key, alloc_unit.generation),
              0,
              0,
              0,
              Use::kHeld,
              1};
    view.units = header_.track_units[static_cast<std::size_t>(track)];
    view.first_mark = static_cast<std::int64_t>(marks_.size());
    for (std::int64_t slot = first_slot; slot < first_slot + q; ++slot)
      marks_.push_back({slot < written ? slot * tracks_ + track : -1, 0, 0});
    const auto all = std::span(marks_).last(own.size());
    for (const Holder& holder : alloc_unit.holders) {
      const Request& r = *holder.request;
      if (follows(r)) r.course->marks(track, first_slot, r.written, own);
      for (std::int64_t i = 0; i < q; ++i) {
        Mark& mark = all[static_cast<std::size_t>(i)];
        mark.kept = mark.kept | (follows(r) ? own[static_cast<std::size_t>(i)].kept : 1);
        mark.awaited = mark.awaited | (first_slot + i < r.final_tokens() ? 1 : 0);
      }
    }
    views_.push_back(view);
  }
}

/// Like add_held_views, for a unit that no request holds, if it has this content.
void Arena::add_cached_views(const AllocUnit& alloc_unit, std::int64_t first_place, std::uint64_t content) {
  const std::int64_t q = header_.alloc_unit_tokens;
  for (std::int64_t track = 0; track < tracks_; ++track) {
    View view{cell_of(first_place, track), q, content, 0, 0, 0, Use::kCached, 1};
    view.units = header_.track_units[static_cast<std::size_t>(track)];
    view.first_mark = static_cast<std::int64_t>(marks_.size());
    for (std::int64_t slot = alloc_unit.entry * q; slot < (alloc_unit.entry + 1) * q; ++slot)
      marks_.push_back({slot * tracks_ + track, 1, 0});
    views_.push_back(view);
  }
}

/// A view for each track of one held allocation unit.
void Arena::add_alloc_unit_views(const Request& r, std::int64_t first_track, std::int64_t first_slot,
                                 std::int64_t slots, std::int64_t first_place, std::uint64_t content) {
  KVPLAN_CHECK(header_.compacts ? r.gathered != nullptr && r.gathered->told().complete()
                                : r.course != nullptr && r.course->complete(),
               r.id);
  std::int64_t tracks_used = 0;
  const std::size_t first_view = views_.size();
  std::vector<bool> uses;
  for (std::int64_t track = 0; track < tracks_; ++track) {
    View view{cell_of(first_place, track), slots, content, 0, 0, 0, Use::kHeld, 1};
    view.units = header_.track_units[static_cast<std::size_t>(track)];
    view.first_mark = static_cast<std::int64_t>(marks_.size());
    view.rewritable = header_.reuse ? 1 : 0;
    marks_.resize(marks_.size() + static_cast<std::size_t>(slots));
    const auto marks = std::span(marks_).last(static_cast<std::size_t>(slots));
    if (header_.compacts) {
      for (std::int64_t i = 0; i < slots; ++i)
        marks[static_cast<std::size_t>(i)] = r.gathered->mark(first_track + track, first_slot + i);
    } else {
      r.course->marks(first_track + track, first_slot, r.written, marks);
    }
    const bool used = std::ranges::any_of(marks, [&](const Mark& mark) {
      return mark.awaited != 0 || (mark.offset >= 0 && (mark.kept != 0 || !header_.reuse));
    });
    uses.push_back(used);
    tracks_used += used ? 1 : 0;
    views_.push_back(view);
  }
  for (std::size_t track = 0; track < uses.size(); ++track)
    views_[first_view + track].others_used = tracks_used - (uses[track] ? 1 : 0) > 0 ? 1 : 0;
}

/// Only places where tokens are written, and places where tokens are dropped, change.
void Arena::add_followed_pieces(const Followed& p, Pieces& pieces) {
  const Request& r = *p.request;
  if (header_.returns_alloc_units) {
    r.course->each_change(p.from, p.to, [&](std::int64_t track, std::int64_t slot) {
      add_piece(r, slot / header_.alloc_unit_tokens * header_.tables + track / tracks_, pieces);
    });
    return;
  }
  std::set<std::int64_t> slots;
  r.course->each_change(p.from, p.to, [&](std::int64_t, std::int64_t slot) { slots.insert(slot); });
  for (const std::int64_t slot : slots) pieces.push_back({r.range_first + slot, 1, r.id, slot});
}

Status Arena::follow(const std::vector<Followed>& all, const std::function<void()>& f) {
  Pieces pieces;
  ++change_;
  for (const Followed& p : all) add_followed_pieces(p, pieces);
  const auto step = [&] {
    for (const Followed& p : all) {
      const std::int64_t all_tracks = tracks_ * header_.tables;
      for (std::int64_t of_all = 0; of_all < all_tracks; ++of_all) {
        const std::int64_t track = of_all % tracks_;
        std::map<std::int64_t, std::int64_t> latest;  // slot -> its latest token: writes must not overlap
        for (std::int64_t token = p.from; token < p.to; ++token)
          latest[p.request->course->slot(of_all, token)] = token;
        for (const auto& [slot, token] : latest) {
          const Request& r = *p.request;
          const std::int64_t offset = token * all_tracks + of_all;
          if (!header_.returns_alloc_units) {
            writes_.push_back({cell_of(r.range_first + slot, track), 1,
                               content_of(event_log::own_key(r.id, 0), r.range_generation), offset, 0});
            continue;
          }
          const std::int64_t place = place_of(r, of_all / tracks_, slot);
          const AllocUnit& written = alloc_unit(place / header_.alloc_unit_tokens);
          writes_.push_back(
              {cell_of(place, track), 1, content_of(written.key, written.generation), offset, 0});
        }
      }
    }
    f();
  };
  return change(pieces, step, pieces);
}

}  // namespace kvplan::validator
