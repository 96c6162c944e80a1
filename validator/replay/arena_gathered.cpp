// Memory where the survivors of a request move together: the stamps of its tokens go from cell to cell.
#include <algorithm>

#include "validator/replay/arena.h"

namespace kvplan::validator {

/// Where a slot of the request's table is.
std::int64_t Arena::place_of(const Request& r, std::int64_t slot) const {
  const std::int64_t q = header_.quantum_tokens;
  return r.table[static_cast<std::size_t>(slot / q)] * q + slot % q;
}

Arena::Pieces Arena::table_pieces(const Request& r) const {
  Pieces pieces;
  for (const std::int64_t quantum : r.table) pieces.push_back(piece_of(quantum));
  return pieces;
}

Status Arena::follow_gathered(const std::vector<Followed>& all, const std::function<void()>& f) {
  Pieces pieces;
  for (const Followed& p : all)
    for (const Piece& piece : table_pieces(*p.request)) pieces.push_back(piece);
  const auto step = [&] {
    for (const Followed& p : all) {
      Request& r = *p.request;
      const std::uint64_t content = content_of(event_log::own_key(r.id, 0), r.range_generation);
      for (std::int64_t token = p.from; token < p.to; ++token) {
        for (std::int64_t track = 0; track < tracks_; ++track)
          writes_.push_back(
              {cell_of(place_of(r, r.gathered->slots()), track), 1, content, token * tracks_ + track, 0});
        r.gathered->write();
        const std::int64_t n = token + 1;
        if (n >= r.gathered->shape().prompt && n < r.final_tokens()) r.gathered->drop();
      }
    }
    f();
  };
  return change(pieces, step, pieces);
}

Status Arena::gather(Request& r) {
  const std::int64_t q = header_.quantum_tokens;
  const Pieces pieces = table_pieces(r);
  const auto move = [&] {
    const std::int64_t before = r.gathered->slots();
    for (const Gathered::Stretch& all : r.gathered->gather()) {
      for (std::int64_t done = 0; done < all.cells;) {  // blocks need not lie side by side
        const std::int64_t from = all.from + done;
        const std::int64_t to = all.to + done;
        const std::int64_t cells = std::min({all.cells - done, q - from % q, q - to % q});
        shifts_.push_back(
            {cell_of(place_of(r, from), all.track), cell_of(place_of(r, to), all.track), cells});
        done += cells;
      }
    }
    const std::int64_t slots = r.gathered->slots();
    const std::int64_t blocks = ceil_div(slots, q);
    for (std::int64_t slot = slots; slot < std::min(before, blocks * q); ++slot)
      for (std::int64_t track = 0; track < tracks_; ++track)
        writes_.push_back({cell_of(place_of(r, slot), track), 1, 0, 0, 1});
    for (auto b = static_cast<std::int64_t>(r.table.size()) - 1; b >= blocks; --b) {
      Quantum& held = quantum(r.table.back());
      std::erase_if(held.holders, [&](const Holder& h) { return h.request == r.id; });
      release(held, r.table.back());
      r.table.pop_back();
    }
  };
  return change(pieces, move, pieces);
}

}  // namespace kvplan::validator
