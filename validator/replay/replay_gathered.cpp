// Requests with survivors that move together: when they must move, and what the log says about it.
#include <algorithm>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

/// Blocks of a table of the request, freed ones included.
std::int64_t Replay::Impl::blocks_of(const Request& r, std::int64_t table) const {
  return header_.tables == 1 ? static_cast<std::int64_t>(r.table.size())
                             : r.lengths[static_cast<std::size_t>(table)];
}

/// Checks that there are slots for the request's next tokens, after its existing ones.
Status Replay::Impl::check_gathered_room(const Request& r, std::int64_t tokens) {
  if (r.written + tokens > r.final_tokens()) return contradict(r.id, "writes more tokens than it will have");
  for (std::int64_t table = 0; table < header_.tables; ++table) {
    const std::int64_t blocks = r.table.empty() ? 0 : blocks_of(r, table);
    if (r.gathered->slots(table) + tokens > blocks * header_.alloc_unit_tokens)
      return contradict(r.id, "writes to slot " + std::to_string(r.gathered->slots(table) + tokens - 1) +
                                  " but has " + std::to_string(blocks) + " blocks");
  }
  return Done{};
}

/// Cells kept in the tracks [from, to).
std::int64_t Replay::Impl::cells_kept(const Request& r, std::int64_t from, std::int64_t to) const {
  std::int64_t cells = 0;
  for (std::int64_t track = from; track < to; ++track)
    cells += header_.track_units[static_cast<std::size_t>(track)] * r.gathered->kept(track);
  return cells;
}
std::int64_t Replay::Impl::cells_kept(const Request& r) const {
  return cells_kept(r, 0, static_cast<std::int64_t>(header_.track_units.size()));
}

/// Checks that a fact names valid tables. It names tables only if there are several.
bool Replay::Impl::names_tables(std::int32_t first, std::int32_t tables) const {
  if (header_.tables == 1) return first == 0 && tables == 0;
  return first >= 0 && tables >= 1 && std::int64_t{first} + tables <= header_.tables;
}

Status Replay::Impl::grant_tables(Request& r, const log::Grant& f) {
  if (!f.shared_keys.empty()) return contradict(r.id, "shares a content that is its own");
  r.lengths.resize(static_cast<std::size_t>(header_.tables), 0);
  if (f.alloc_units > arena_.free_alloc_units() / f.tables)
    return contradict(r.id, "is granted " + std::to_string(f.alloc_units) + " allocation units for each of " +
                                std::to_string(f.tables) + " tables; " +
                                std::to_string(arena_.free_alloc_units()) + " are free");
  std::vector<std::int64_t> entries;
  for (std::int64_t table = f.first_table; table < f.first_table + f.tables; ++table) {
    std::int64_t& length = r.lengths[static_cast<std::size_t>(table)];
    if (f.first_block != length)
      return contradict(r.id, "gets logical block " + std::to_string(f.first_block) + " of table " +
                                  std::to_string(table) + " but has " + std::to_string(length) +
                                  " blocks in it");
    for (std::int64_t b = length; b < length + f.alloc_units; ++b)
      entries.push_back(b * header_.tables + table);
    length += f.alloc_units;
  }
  return arena_.take_entries(r, entries);
}

Status Replay::Impl::on(const log::Compact& f) {
  Request* const r = running(f.request);
  if (r == nullptr || r->gathered == nullptr || !names_tables(f.first_table, f.tables) ||
      !in_ending_order(*r) || r->ends || r->owes_first_token)
    return contradict(f.request, "compacts out of order");
  for (std::int64_t t = f.first_table; t < f.first_table + std::max(f.tables, 1); ++t) {
    KVPLAN_TRY_DO(compact_table(*r, t, f));
    if (stopped()) return Done{};
  }
  return Done{};
}

Status Replay::Impl::compact_table(Request& r, std::int64_t table, const log::Compact& f) {
  if (!r.gathered->due(table, r.written))
    return contradict(r.id, "compacts although less than a block of tokens was evicted");
  const std::int64_t slots = r.gathered->slots_kept(table);
  const std::int64_t tracks = header_.tracks_of_table();
  const std::int64_t cells = cells_kept(r, table * tracks, (table + 1) * tracks);
  const std::int64_t released = blocks_of(r, table) - ceil_div(slots, header_.alloc_unit_tokens);
  const auto expect = [&](std::int64_t told, std::int64_t here, const char* what) {
    return told == here ? Status(Done{})
                        : contradict(r.id, "compacts: expected " + std::to_string(here) + what + ", found " +
                                               std::to_string(told));
  };
  KVPLAN_TRY_DO(expect(f.slots, slots, " slots"));
  if (!stopped()) KVPLAN_TRY_DO(expect(f.cells, cells, " kept cells"));
  if (!stopped()) KVPLAN_TRY_DO(expect(f.released, released, " freed blocks"));
  return stopped() ? Status(Done{}) : arena_.gather(r, table);
}

}  // namespace kvplan::validator
