// Memory in which the survivors of a request move together: the stamps of its tokens move from cell to cell.
#include <algorithm>

#include "simulator/base/check.h"
#include "validator/replay/arena.h"

namespace kvplan::validator {

/// The place of a slot in a table of the request.
std::int64_t Arena::place_of(const Request& r, std::int64_t table, std::int64_t slot) const {
  const std::int64_t q = header_.alloc_unit_tokens;
  return r.table[static_cast<std::size_t>(slot / q * header_.tables + table)] * q + slot % q;
}

Arena::Pieces Arena::table_pieces(const Request& r, std::int64_t table) const {
  Pieces pieces;
  const auto entries = static_cast<std::int64_t>(r.table.size());
  for (std::int64_t entry = table; entry < entries; entry += header_.tables)
    if (const std::int64_t alloc_unit = r.table[static_cast<std::size_t>(entry)]; alloc_unit != kGone)
      pieces.push_back(piece_of(alloc_unit));
  return pieces;
}

/// Called before the request is granted its first allocation unit.
void Arena::begin_table(Request& r) {
  if (header_.compacts && r.table.empty()) r.range_generation = ++generations_;
}

Status Arena::take_entries(Request& r, const std::vector<std::int64_t>& entries) {
  KVPLAN_CHECK(entries.size() <= free_.size());
  const std::vector<std::int64_t> taken(free_.end() - static_cast<std::ptrdiff_t>(entries.size()),
                                        free_.end());
  Pieces pieces;
  for (const std::int64_t q : taken) pieces.push_back(piece_of(q));
  const auto grant = [&] {
    begin_table(r);
    free_.resize(free_.size() - taken.size());
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const auto entry = static_cast<std::size_t>(entries[i]);
      AllocUnit& alloc_unit = alloc_units_[static_cast<std::size_t>(taken[i])];
      alloc_unit.key = event_log::own_key(r.id, entries[i]);
      alloc_unit.generation = ++generations_;
      alloc_unit.owner = r.id;
      alloc_unit.holders.push_back({&r, entries[i]});
      if (entry >= r.table.size()) r.table.resize(entry + 1, kGone);
      r.table[entry] = taken[i];
    }
  };
  return change(pieces, grant, pieces);
}

/// Only slots of newly written and of dropped tokens change: cells that await later tokens keep that state.
Status Arena::follow_gathered(const std::vector<Followed>& all, const std::function<void()>& f) {
  ++change_;
  const std::int64_t q = header_.alloc_unit_tokens;
  Pieces pieces;
  for (const Followed& p : all) {
    Gathered& cells = *p.request->gathered;
    for (std::int64_t table = 0; table < header_.tables; ++table) {
      const std::int64_t end = ceil_div(cells.slots(table) + p.to - p.from, q);
      for (std::int64_t b = cells.slots(table) / q; b < end; ++b)
        add_piece(*p.request, b * header_.tables + table, pieces);
    }
    for (const Gathered::Place& place : cells.plan(p.to - p.from))
      add_piece(*p.request, place.slot / q * header_.tables + place.track / tracks_, pieces);
  }
  const auto step = [&] {
    for (const Followed& p : all) {
      const Request& r = *p.request;
      const std::uint64_t content = content_of(event_log::own_key(r.id, 0), r.range_generation);
      const std::int64_t all_tracks = tracks_ * header_.tables;
      for (std::int64_t token = p.from; token < p.to; ++token) {
        for (std::int64_t of_all = 0; of_all < all_tracks; ++of_all) {
          const std::int64_t table = of_all / tracks_;
          const std::int64_t place = place_of(r, table, r.gathered->slots(table) + token - p.from);
          writes_.push_back({cell_of(place, of_all % tracks_), 1, content, token * all_tracks + of_all, 0});
        }
      }
      r.gathered->commit();
    }
    f();
  };
  return change(pieces, step, pieces);
}

Status Arena::gather(Request& r, std::int64_t table) {
  const std::int64_t q = header_.alloc_unit_tokens;
  const Pieces pieces = table_pieces(r, table);
  const auto move = [&] {
    const std::int64_t before = r.gathered->slots(table);
    for (const Gathered::Extent& all : r.gathered->gather(table)) {
      const std::int64_t track = all.track % tracks_;
      for (std::int64_t done = 0; done < all.cells;) {  // blocks need not lie side by side
        const std::int64_t from = all.from + done;
        const std::int64_t to = all.to + done;
        const std::int64_t cells = std::min({all.cells - done, q - from % q, q - to % q});
        shifts_.push_back(
            {cell_of(place_of(r, table, from), track), cell_of(place_of(r, table, to), track), cells});
        done += cells;
      }
    }
    const std::int64_t slots = r.gathered->slots(table);
    const std::int64_t blocks = ceil_div(slots, q);
    for (std::int64_t slot = slots; slot < std::min(before, blocks * q); ++slot)
      for (std::int64_t track = 0; track < tracks_; ++track)
        writes_.push_back({cell_of(place_of(r, table, slot), track), 1, 0, 0, 1});
    const auto entries = static_cast<std::int64_t>(r.table.size());
    for (std::int64_t b = (entries - 1 - table) / header_.tables; b >= blocks; --b) {
      std::int64_t& place = r.table[static_cast<std::size_t>(b * header_.tables + table)];
      if (place == kGone) continue;
      AllocUnit& held = alloc_unit(place);
      std::erase_if(held.holders, [&](const Holder& h) { return h.request == &r; });
      release(held, place);
      place = kGone;
    }
    while (!r.table.empty() && r.table.back() == kGone) r.table.pop_back();
    if (!r.lengths.empty()) r.lengths[static_cast<std::size_t>(table)] = blocks;
  };
  return change(pieces, move, pieces);
}

}  // namespace kvplan::validator
