#include "validator/replay/arena.h"

#include <algorithm>

#include "simulator/base/check.h"

namespace kvplan::validator {
namespace {

Holding holding_of(const Request& r, std::int64_t base) {
  return {base, r.sliding ? r.sink : 0, r.sliding ? r.begin : 0, r.final_tokens()};
}

}  // namespace

Arena::Arena(const event_log::Header& header, Backend& backend, Requests& requests)
    : header_(header),
      backend_(backend),
      requests_(requests),
      tracks_(std::max<std::int64_t>(header.tracks_of_table(), 1)) {}

Status Arena::reserve() {
  KVPLAN_TRY_DO(backend_.reserve(cells()));
  counts_.free = places();
  for (std::int64_t track = 0; track < header_.tracks_of_table(); ++track)
    counts_.free += places() * header_.track_units[static_cast<std::size_t>(track)];
  if (!header_.track_units.empty()) counts_.free -= places();
  if (groups() > 0) counts_.free *= header_.block_layers();
  if (header_.returns_alloc_units) {
    alloc_units_.resize(static_cast<std::size_t>(header_.alloc_units));
    touched_.resize(alloc_units_.size(), 0);
    for (std::int64_t q = 0; q < header_.alloc_units; ++q) free_.push_back(q);
  } else {
    range_places_.emplace(header_.range_placement, places());
  }
  return Done{};
}

// ---- looking at memory ----

void Arena::add_pieces(const Request& r, std::int64_t from, std::int64_t to, Pieces& pieces) {
  if (from >= to) return;
  if (!header_.returns_alloc_units) {
    for (const RangePart& part : r.range_parts) {
      const std::int64_t begin = std::max(from, part.first_token);
      const std::int64_t end = std::min(to, part.first_token + part.cells);
      if (begin < end)
        pieces.push_back({part.first_cell + begin - part.first_token, end - begin, r.id, begin});
    }
    return;
  }
  const std::int64_t q = header_.alloc_unit_tokens;
  for (std::int64_t b = from / q; b < ceil_div(to, q); ++b) add_piece(r, b, pieces);
}

/// Adds the allocation unit in an entry of the request's table, each unit once.
void Arena::add_piece(const Request& r, std::int64_t entry, Pieces& pieces) {
  const std::int64_t alloc_unit = r.table[static_cast<std::size_t>(entry)];
  if (alloc_unit == kGone) return;
  std::uint64_t& seen = touched_[static_cast<std::size_t>(alloc_unit)];
  if (seen == change_) return;
  seen = change_;
  pieces.push_back(piece_of(alloc_unit));
}

/// Changes when tokens [from, to) are written: their slots, and the slots that windows no longer show after that.
void Arena::add_group_pieces(const Request& r, std::int64_t from, std::int64_t to, Pieces& pieces) {
  const std::int64_t q = header_.alloc_unit_tokens;
  for (std::int64_t g = 0; g < groups(); ++g) {
    for (std::int64_t b = from / q; b < ceil_div(to, q); ++b) add_piece(r, b * groups() + g, pieces);
    const std::int64_t window = header_.groups[static_cast<std::size_t>(g)].window;
    if (window == 0 || to < window) continue;
    const std::int64_t first = std::max<std::int64_t>(from + 1 - window, 0);
    for (std::int64_t b = first / q; b < ceil_div(to + 1 - window, q); ++b)
      add_piece(r, b * groups() + g, pieces);
  }
}

Holding Arena::group_holding(const Request& r, std::int64_t entry) const {
  const std::int64_t window = header_.groups[static_cast<std::size_t>(entry % groups())].window;
  const std::int64_t shown_from = window == 0 ? 0 : std::max<std::int64_t>(r.written + 1 - window, 0);
  return {entry / groups() * header_.alloc_unit_tokens, 0, shown_from, r.final_tokens()};
}

void Arena::add_view(const Piece& piece) {
  if (!header_.track_units.empty()) return add_track_views(piece);
  if (header_.state_blocks > 0)
    if (const AllocUnit& unit = alloc_unit(piece.first_cell / header_.alloc_unit_tokens);
        unit.state_layers >= 0)
      return add_state_views(piece, unit);
  View view{
      piece.first_cell, piece.cells, 0, 0, static_cast<std::int32_t>(holdings_.size()), 0, Use::kFree, 0};
  if (header_.returns_alloc_units) {
    const AllocUnit& alloc_unit =
        alloc_units_[static_cast<std::size_t>(piece.first_cell / header_.alloc_unit_tokens)];
    view.content = content_of(alloc_unit.key, alloc_unit.generation);
    view.one_alloc_unit = 1;
    const auto room = static_cast<std::int32_t>(groups() > 0 ? header_.block_layers() : 1);
    view.units = room;
    for (const Holder& holder : alloc_unit.holders) {
      const Request& r = *holder.request;
      if (groups() == 0) {
        holdings_.push_back(holding_of(r, holder.logical * header_.alloc_unit_tokens));
        continue;
      }
      holdings_.push_back(group_holding(r, holder.logical));
      const auto layers = static_cast<std::int32_t>(
          header_.groups[static_cast<std::size_t>(holder.logical % groups())].layers);
      view.idle_units = room - layers;
      view.units = layers;
    }
    if (!alloc_unit.holders.empty()) {
      view.use = Use::kHeld;
    } else if (alloc_unit.publication >= 0) {
      view.use = Use::kCached;
    }
  } else if (piece.request != kNoRequest) {
    const Request& r = requests_.at(piece.request);
    view.content = content_of(event_log::own_key(r.id, 0), r.range_generation);
    view.first_offset = piece.first_token;
    view.use = Use::kHeld;
    // A copy's source keeps all its cells until the copy ends, and no other cell of it awaits a token.
    holdings_.push_back(piece.read < 0 ? holding_of(r, 0) : Holding{0, 0, 0, piece.read});
  }
  view.holdings = static_cast<std::int32_t>(holdings_.size()) - view.first_holding;
  views_.push_back(view);
}

Result<CellCounts> Arena::recount(const Pieces& pieces) {
  views_.clear();
  holdings_.clear();
  marks_.clear();
  for (const Piece& piece : pieces) add_view(piece);
  if (views_.empty()) return CellCounts{};
  return backend_.recount(views_, holdings_, marks_);
}

Status Arena::change(const Pieces& before, const std::function<void()>& f, const Pieces& after) {
  KVPLAN_TRY(const CellCounts were, recount(before));
  counts_ -= were;
  writes_.clear();
  shifts_.clear();
  f();
  if (!shifts_.empty()) KVPLAN_TRY_DO(backend_.shift(shifts_));
  if (!writes_.empty()) KVPLAN_TRY_DO(backend_.write(writes_));
  KVPLAN_TRY(const CellCounts are, recount(after));
  counts_ += are;
  return Done{};
}

Result<CellCounts> Arena::scan_all() {
  Pieces pieces;
  if (header_.returns_alloc_units) {
    pieces.reserve(alloc_units_.size());
    for (std::int64_t q = 0; q < header_.alloc_units; ++q) pieces.push_back(piece_of(q));
  } else {
    for (const auto& [first, cells] : range_places_->free()) pieces.push_back({first, cells, kNoRequest});
    for (const auto& [first, request] : ranges_)
      for (const Piece& piece : range_pieces(requests_.at(request))) pieces.push_back(piece);
    for (const Source& source : sources_) add_source(source, pieces);
  }
  return recount(pieces);
}

Result<CellCounts> Arena::read(std::int64_t q, event_log::ContentKey key) {
  if (!header_.track_units.empty()) {
    views_.clear();
    marks_.clear();
    add_cached_views(alloc_unit(q), q * header_.alloc_unit_tokens, content_of(key, alloc_unit(q).generation));
    return backend_.recount(views_, {}, marks_);
  }
  const View view{q * header_.alloc_unit_tokens,
                  header_.alloc_unit_tokens,
                  content_of(key, alloc_unit(q).generation),
                  0,
                  0,
                  0,
                  Use::kCached,
                  1};
  return backend_.recount({&view, 1}, {}, {});
}

// ---- allocation units ----

Status Arena::take(Request& r, const std::vector<event_log::ContentKey>& keys) {
  const auto count = static_cast<std::ptrdiff_t>(keys.size());
  KVPLAN_CHECK(count <= static_cast<std::ptrdiff_t>(free_.size()));
  const std::vector<std::int64_t> taken(free_.end() - count, free_.end());
  Pieces pieces;
  for (const std::int64_t q : taken) pieces.push_back(piece_of(q));
  const auto grant = [&] {
    begin_table(r);
    free_.resize(free_.size() - taken.size());
    for (std::size_t i = 0; i < taken.size(); ++i) {
      AllocUnit& alloc_unit = alloc_units_[static_cast<std::size_t>(taken[i])];
      alloc_unit.key = keys[i];
      alloc_unit.generation = ++generations_;
      alloc_unit.owner = r.id;
      const auto entry = static_cast<std::int64_t>(r.table.size());
      alloc_unit.group = entry % header_.entries_per_block();
      alloc_unit.entry = entry;
      alloc_unit.holders.push_back({&r, entry});
      r.table.push_back(taken[i]);
    }
  };
  return change(pieces, grant, pieces);
}

Status Arena::share(Request& r, const std::vector<std::int64_t>& entries,
                    const std::vector<std::int64_t>& alloc_units) {
  Pieces pieces;
  for (const std::int64_t q : alloc_units) pieces.push_back(piece_of(q));
  const auto hold = [&] {
    for (std::size_t i = 0; i < alloc_units.size(); ++i) {
      std::int64_t& place = r.table[static_cast<std::size_t>(entries[i])];
      KVPLAN_CHECK(place == kGone, r.id, entries[i]);
      alloc_unit(alloc_units[i]).holders.push_back({&r, entries[i]});
      place = alloc_units[i];
    }
  };
  return change(pieces, hold, pieces);
}

void Arena::release(AllocUnit& alloc_unit, std::int64_t q) {
  if (!alloc_unit.holders.empty() || alloc_unit.publication >= 0) return;
  poison(q * header_.alloc_unit_tokens, header_.alloc_unit_tokens);
  alloc_unit.owner = kNoRequest;
  free_.push_back(q);
  on_free(alloc_unit);
}

Status Arena::free_entries(Request& r, std::int64_t first, std::int64_t count) {
  Pieces pieces;
  const auto begin = r.table.begin() + first;
  for (auto q = begin; q != begin + count; ++q)
    if (*q != kGone) pieces.push_back(piece_of(*q));
  const auto give_up = [&] {
    for (auto slot = begin; slot != begin + count; ++slot) {
      if (*slot == kGone) continue;
      AllocUnit& held = alloc_unit(*slot);
      std::erase_if(held.holders, [&](const Holder& h) { return h.request == &r; });
      release(held, *slot);
      *slot = kGone;
    }
  };
  return change(pieces, give_up, pieces);
}

Status Arena::forget(std::int64_t q) {
  const Pieces pieces{piece_of(q)};
  const auto give_up = [&] {
    alloc_unit(q).publication = -1;
    release(alloc_unit(q), q);
  };
  return change(pieces, give_up, pieces);
}

// ---- steps ----

Status Arena::progress(const std::vector<Progress>& all, const std::function<void()>& f) {
  ++change_;
  Pieces pieces;
  for (const Progress& p : all) {
    if (groups() > 0) {
      add_group_pieces(*p.request, p.from, p.to, pieces);
      if (p.from == 0) add_state_pieces(*p.request, pieces);
      continue;
    }
    // In a range, written and dropped cells are either separate or one extent: no cell may be counted twice.
    const bool apart =
        header_.returns_alloc_units || p.drop_to <= p.from || p.drop_from >= p.to || p.drop_from >= p.drop_to;
    if (apart) {
      add_pieces(*p.request, p.from, p.to, pieces);
      add_pieces(*p.request, p.drop_from, p.drop_to, pieces);
    } else {
      add_pieces(*p.request, std::min(p.from, p.drop_from), std::max(p.to, p.drop_to), pieces);
    }
  }
  const auto step = [&] {
    for (const Progress& p : all) {
      const Request& r = *p.request;
      if (!header_.returns_alloc_units) {
        Pieces written;
        add_pieces(r, p.from, p.to, written);
        for (const Piece& piece : written)
          writes_.push_back({piece.first_cell, piece.cells,
                             content_of(event_log::own_key(r.id, 0), r.range_generation), piece.first_token,
                             0});
        continue;
      }
      if (p.from == 0) write_states(r);
      const std::int64_t q = header_.alloc_unit_tokens;
      const std::int64_t each = header_.entries_per_block();
      for (std::int64_t token = p.from; token < p.to;) {
        const std::int64_t end = std::min(p.to, (token / q + 1) * q);
        for (std::int64_t entry = token / q * each; entry < (token / q + 1) * each; ++entry) {
          const std::int64_t place = r.table[static_cast<std::size_t>(entry)];
          const AllocUnit& written = alloc_unit(place);
          writes_.push_back({place * q + token % q, end - token, content_of(written.key, written.generation),
                             token % q, 0});
        }
        token = end;
      }
    }
    f();
  };
  return change(pieces, step, pieces);
}

}  // namespace kvplan::validator
