// Pages that requests have from a tree.
#include "validator/replay/arena.h"

namespace kvplan::validator {

Result<CellCounts> Arena::read_all(const std::vector<std::int64_t>& quanta) {
  if (quanta.empty()) return CellCounts{};
  views_.clear();
  for (const std::int64_t q : quanta)
    views_.push_back({q * header_.quantum_tokens, header_.quantum_tokens,
                      content_of(quantum(q).key, quantum(q).generation), 0, 0, 0, Use::kCached, 1});
  return backend_.recount(views_, {}, {});
}

Status Arena::take_for_own(Request& r, std::int64_t first, const std::vector<std::int64_t>& quanta) {
  if (quanta.empty()) return Done{};
  Pieces pieces;
  for (std::size_t i = 0; i < quanta.size(); ++i) {
    pieces.push_back(piece_of(r.table[static_cast<std::size_t>(first) + i]));
    pieces.push_back(piece_of(quanta[i]));
  }
  const auto swap = [&] {
    for (std::size_t i = 0; i < quanta.size(); ++i) {
      std::int64_t& entry = r.table[static_cast<std::size_t>(first) + i];
      Quantum& own = quantum(entry);
      own.holders.clear();
      release(own, entry);
      entry = quanta[i];
      quantum(entry).holders.push_back({&r, first + static_cast<std::int64_t>(i)});
    }
  };
  return change(pieces, swap, pieces);
}

}  // namespace kvplan::validator
