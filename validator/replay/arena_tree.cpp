// Pages that requests have from a tree.
#include "validator/replay/arena.h"

namespace kvplan::validator {

Result<CellCounts> Arena::read_all(const std::vector<std::int64_t>& alloc_units) {
  if (alloc_units.empty()) return CellCounts{};
  views_.clear();
  for (const std::int64_t q : alloc_units)
    views_.push_back({q * header_.alloc_unit_tokens, header_.alloc_unit_tokens,
                      content_of(alloc_unit(q).key, alloc_unit(q).generation), 0, 0, 0, Use::kCached, 1});
  return backend_.recount(views_, {}, {});
}

Status Arena::take_for_own(Request& r, std::int64_t first, const std::vector<std::int64_t>& alloc_units) {
  if (alloc_units.empty()) return Done{};
  Pieces pieces;
  for (std::size_t i = 0; i < alloc_units.size(); ++i) {
    pieces.push_back(piece_of(r.table[static_cast<std::size_t>(first) + i]));
    pieces.push_back(piece_of(alloc_units[i]));
  }
  const auto swap = [&] {
    for (std::size_t i = 0; i < alloc_units.size(); ++i) {
      std::int64_t& entry = r.table[static_cast<std::size_t>(first) + i];
      AllocUnit& own = alloc_unit(entry);
      own.holders.clear();
      release(own, entry);
      entry = alloc_units[i];
      alloc_unit(entry).holders.push_back({&r, first + static_cast<std::int64_t>(i)});
    }
  };
  return change(pieces, swap, pieces);
}

}  // namespace kvplan::validator
