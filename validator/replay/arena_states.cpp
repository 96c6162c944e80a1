// Blocks of states: a request has them from its admission to its end or preemption, beside its table. Its first tokens
// write the slots that a state fills; the rest of a block is padding.
#include <algorithm>

#include "validator/replay/arena.h"

namespace kvplan::validator {
namespace {

/// Table entries that no block of tokens has, for the keys of contents.
constexpr std::int64_t kLastEntry = (std::int64_t{1} << 31) - 1;

}  // namespace

Status Arena::take_states(Request& r) {
  const auto count = static_cast<std::ptrdiff_t>(header_.state_blocks);
  KVPLAN_CHECK(count <= static_cast<std::ptrdiff_t>(free_.size()) && r.states.empty(), r.id);
  const std::vector<std::int64_t> taken(free_.end() - count, free_.end());
  Pieces pieces;
  for (const std::int64_t q : taken) pieces.push_back(piece_of(q));
  const auto grant = [&] {
    free_.resize(free_.size() - taken.size());
    std::int64_t layers = header_.state_layers;
    for (const std::int64_t q : taken) {
      AllocUnit& unit = alloc_unit(q);
      unit.key = event_log::own_key(r.id, kLastEntry - static_cast<std::int64_t>(r.states.size()));
      unit.generation = ++generations_;
      unit.owner = r.id;
      unit.state_layers = std::min(layers, header_.block_layers());
      layers -= unit.state_layers;
      unit.holders.push_back({&r, kLastEntry});
      r.states.push_back(q);
    }
  };
  return change(pieces, grant, pieces);
}

Status Arena::free_states(Request& r) {
  Pieces pieces;
  for (const std::int64_t q : r.states) pieces.push_back(piece_of(q));
  const auto give_up = [&] {
    for (const std::int64_t q : r.states) {
      alloc_unit(q).holders.clear();
      alloc_unit(q).state_layers = -1;
      release(alloc_unit(q), q);
    }
    r.states.clear();
  };
  return change(pieces, give_up, pieces);
}

void Arena::add_state_pieces(const Request& r, Pieces& pieces) {
  for (const std::int64_t q : r.states) pieces.push_back(piece_of(q));
}

void Arena::add_state_views(const Piece& piece, const AllocUnit& unit) {
  const std::int64_t room = header_.block_layers();
  View state{piece.first_cell,
             header_.state_slots,
             content_of(unit.key, unit.generation),
             0,
             static_cast<std::int32_t>(holdings_.size()),
             1,
             Use::kHeld,
             1};
  holdings_.push_back({0, 0, 0, header_.state_slots});
  state.units = static_cast<std::int32_t>(unit.state_layers);
  state.idle_units = static_cast<std::int32_t>(room - unit.state_layers);
  views_.push_back(state);
  if (header_.state_slots == piece.cells) return;
  View rest = state;
  rest.first_cell += header_.state_slots;
  rest.cells = piece.cells - header_.state_slots;
  rest.first_offset = header_.state_slots;
  rest.units = 0;
  rest.idle_units = static_cast<std::int32_t>(room);
  views_.push_back(rest);
}

void Arena::write_states(const Request& r) {
  for (const std::int64_t q : r.states) {
    const AllocUnit& unit = alloc_unit(q);
    writes_.push_back(
        {q * header_.alloc_unit_tokens, header_.state_slots, content_of(unit.key, unit.generation), 0, 0});
  }
}

}  // namespace kvplan::validator
