// Compares the replay with what the simulator's log claims.
#include <algorithm>
#include <utility>

#include "validator/replay/replay_impl.h"

namespace kvplan::validator {

log::Totals Replay::Impl::totals(const CellCounts& cells) const {
  if (bytes_) return bytes_->totals(cells, refused_);
  std::int64_t units = follows_courses() ? 0 : 1;  // cells of a token, or layers of a block
  if (has_groups()) units = header_.block_layers();
  for (const std::int32_t u : header_.track_units) units += u;
  KVPLAN_CHECK(units > 0);  // the reader takes no course without tracks
  const std::int64_t bytes = header_.token_bytes / units;
  const std::int64_t alloc_units_bytes =
      arena_.places() * (header_.token_bytes / header_.tables) + header_.alloc_units * header_.entry_bytes;
  const std::int64_t padding = header_.capacity_bytes - alloc_units_bytes + cells.padding * bytes;
  const std::int64_t idle = cells.free * bytes + arena_.free_alloc_units() * header_.entry_bytes;
  const std::int64_t entries = header_.entry_bytes == 0 ? 0 : header_.alloc_units - arena_.free_alloc_units();
  return {cells.live * header_.metadata_bytes + entries * header_.entry_bytes,
          cells.live * (bytes - header_.metadata_bytes),
          cells.reserved * bytes,
          cells.hole * bytes,
          cells.tail * bytes,
          padding,
          cells.internal * bytes,
          cells.cached * bytes,
          refused_ ? idle : 0,
          refused_ ? 0 : idle};
}

Status Replay::Impl::scan() {
  KVPLAN_TRY(const CellCounts all, bytes_ ? bytes_->scan_all() : arena_.scan_all());
  ++report_.full_scans;
  if (all == counts()) return Done{};
  report_.byte_mismatches += 1 + all.wrong;
  note(all.wrong > 0 ? std::to_string(all.wrong) + " slots hold data that no request wrote there"
                     : "all of memory, recounted, differs from the sum of the changes");
  return Done{};
}

Status Replay::Impl::claim_totals(const log::Claims& claims, bool with_counts) {
  if (report_.moments++ % report_.full_scan_every == 0) KVPLAN_TRY_DO(scan());
  const log::Totals found = totals(counts());
  if (counts().wrong != 0) {
    ++report_.byte_mismatches;
    note(std::to_string(counts().wrong) + " slots hold data that no request wrote there");
  }
  for (std::size_t s = 0; s < log::kStates; ++s) {
    peak_claimed_[s] = std::max(peak_claimed_[s], claims.totals[s]);
    peak_found_[s] = std::max(peak_found_[s], found[s]);
    if (claims.totals[s] == found[s]) continue;
    ++report_.byte_mismatches;
    note(std::string(kStateNames[s]) + " claims " + std::to_string(claims.totals[s]) +
         " bytes predicted, memory has " + std::to_string(found[s]));
  }
  if (!with_counts) return Done{};
  const auto count = static_cast<std::int64_t>(running_.size());
  if (claims.running != count || claims.waiting != waiting_) {
    ++report_.count_mismatches;
    note(std::to_string(claims.running) + " running and " + std::to_string(claims.waiting) +
         " waiting requests are predicted, " + std::to_string(count) + " and " + std::to_string(waiting_) +
         " by the facts");
  }
  return Done{};
}

void Replay::Impl::claim_kept(const log::Record& record) {
  const auto* const preempt = std::get_if<log::Preempt>(&record.fact);
  const auto* const finish = std::get_if<log::Finish>(&record.fact);
  const Request* const r = preempt == nullptr && finish == nullptr
                               ? nullptr
                               : running(preempt != nullptr ? preempt->request : finish->request);
  const bool counted_due = r != nullptr && header_.counted;
  if (counted_due != record.claims.has_kept_cells) {
    ++report_.count_mismatches;
    return note(counted_due ? "no number of kept slots is predicted"
                            : "a number of kept slots is predicted at an event that must not have one");
  }
  if (counted_due && r->gathered != nullptr && record.claims.kept_cells != cells_kept(*r)) {
    ++report_.count_mismatches;
    note("request " + std::to_string(number(r->id)) + " keeps " + std::to_string(cells_kept(*r)) +
         " cells, not " + std::to_string(record.claims.kept_cells));
  }
  const bool due = r != nullptr && !header_.counted && (r->sliding || follows_courses());
  if (due != record.claims.has_kept) {
    ++report_.count_mismatches;
    return note(due ? "no kept tokens are predicted"
                    : "kept tokens are predicted at an event that must not have them");
  }
  if (!due) return;
  std::uint64_t kept = 0;
  if (r->sliding) {
    for (std::int64_t token = 0; token < r->written; ++token)
      if (token < r->sink || token >= r->begin) kept += log::kept_term(token, 0, 1);
  } else if (r->gathered != nullptr) {
    if (!r->gathered->told().complete()) return;  // the course fact itself has been refused
    kept = r->gathered->kept_digest();
  } else {
    if (r->course == nullptr || !r->course->complete()) return;  // the course fact itself has been refused
    kept = r->course->kept_digest(r->written);
  }
  if (kept == record.claims.kept_digest) return;
  ++report_.count_mismatches;
  note("request " + std::to_string(number(r->id)) + " keeps other tokens than predicted");
}

// ---- places ----

Status Replay::Impl::claim_places(const log::Record& record) {
  const auto& places = record.claims.places;
  const auto* const admit = std::get_if<log::Admit>(&record.fact);
  const auto* const grant = std::get_if<log::Grant>(&record.fact);
  if (bytes_ && grant != nullptr) {
    claim_bytes(requests_.at(grant->request), *grant, places);
    return Done{};
  }
  const auto* const move = std::get_if<log::Move>(&record.fact);
  std::size_t due = move != nullptr ? 1 : 0;
  if (admit != nullptr) due = admit->hit_keys.size();
  if (grant != nullptr && !header_.unnumbered)
    due = header_.returns_alloc_units ? static_cast<std::size_t>(grant->alloc_units) : 1;
  if (places.size() != due) {
    ++report_.place_mismatches;
    note("expected " + std::to_string(due) + " block ids or addresses, found " +
         std::to_string(places.size()));
    return Done{};
  }
  if (due == 0) return Done{};
  if (move != nullptr) {
    claim_move(requests_.at(move->request), *move, places.front());
    return Done{};
  }
  Request& r = requests_.at(admit != nullptr ? admit->request : grant->request);
  if (!header_.returns_alloc_units) {
    if (grant->first_block > 0 && places.front() != r.range_place) {
      ++report_.place_mismatches;
      note("request " + std::to_string(number(r.id)) + " grows in place, but its address changes");
    }
    taken_ranges_.erase(std::exchange(r.range_place, -1));
    claim_range(r, places.front());
    return Done{};
  }
  // Those of a grant are the latest blocks of the table.
  const std::size_t first = admit != nullptr ? 0 : r.table.size() - due;
  const std::vector<std::int64_t>& alloc_units = admit != nullptr ? taken_hits_ : r.table;
  for (std::size_t i = 0; i < due; ++i)
    claim_block(arena_.alloc_unit(alloc_units[first + i]), places[i], admit != nullptr);
  return Done{};
}

/// A block id means one allocation unit, from its grant until no request holds it and no lookup finds it.
void Replay::Impl::claim_block(AllocUnit& alloc_unit, std::int32_t id, bool hit) {
  const auto wrong = [&](const std::string& what) {
    ++report_.place_mismatches;
    note("block " + std::to_string(id) + " " + what);
  };
  const std::int64_t lowest = header_.null_block ? 1 : 0;
  if (hit) {
    if (alloc_unit.place != id)
      wrong("is reported as a hit, but its content is in block " + std::to_string(alloc_unit.place));
  } else if (id < lowest || id >= lowest + header_.alloc_units) {
    wrong("is allocated, but is not a block of the pool");
  } else if (!taken_ids_.insert(id).second) {
    wrong("is allocated, but is held or can be hit");
  } else {
    alloc_unit.place = id;
  }
}

/// The source of a copy stays allocated until its step ends.
void Replay::Impl::claim_move(Request& r, const log::Move& move, std::int32_t address) {
  const std::int64_t before = std::exchange(r.range_place, -1);
  if (move.slides) {
    taken_ranges_.erase(before);
  } else {
    read_ranges_.push_back(before);
  }
  claim_range(r, address);
}

/// Ranges must not overlap, and must be the mirror image of where they are in the replay.
void Replay::Impl::claim_range(Request& r, std::int32_t address) {
  const auto wrong = [&](const std::string& what) {
    ++report_.place_mismatches;
    note("slots [" + std::to_string(address) + ", " + std::to_string(address + r.range_cells) + ") " + what);
  };
  if (address < 0 || address > header_.alloc_units - r.range_cells)
    return wrong("are allocated, but do not exist");
  const auto above = taken_ranges_.lower_bound(address);
  const bool meets_above = above != taken_ranges_.end() && above->first < address + r.range_cells;
  const bool meets_below =
      above != taken_ranges_.begin() && std::prev(above)->first + std::prev(above)->second > address;
  if (meets_above || meets_below) return wrong("are allocated, but partly held");
  if (address != header_.alloc_units - r.range_first - r.range_cells)
    wrong("are not at the addresses that the log's placement rule gives");
  taken_ranges_.emplace(address, r.range_cells);
  r.range_place = address;
}

/// Pages: ids of allocation units that no request holds. Tensors: blocks of the address space that do not overlap.
void Replay::Impl::claim_bytes(Request& r, const log::Grant& grant, const std::vector<std::int32_t>& places) {
  if (header_.table_form == log::TableForm::kTensors) return claim_tensors(r, grant, places);
  const auto wrong = [&](const std::string& what) {
    ++report_.place_mismatches;
    note(what);
  };
  if (static_cast<std::int64_t>(places.size()) != grant.alloc_units)
    return wrong("expected " + std::to_string(grant.alloc_units) + " block ids or addresses, found " +
                 std::to_string(places.size()));
  for (const std::int32_t id : places) {
    if (id < 0 || id >= header_.alloc_units) {
      wrong("page " + std::to_string(id) + " is allocated, but is not a page of the pool");
    } else if (!taken_ids_.insert(id).second) {
      wrong("page " + std::to_string(id) + " is allocated, but is held");
    } else {
      byte_places_[r.id].push_back(id);
    }
  }
}

void Replay::Impl::claim_tensors(Request& r, const log::Grant& grant,
                                 const std::vector<std::int32_t>& places) {
  constexpr std::int64_t kAddressSpaces = 4;  // FORMAT.md
  const auto wrong = [&](const std::string& what) {
    ++report_.place_mismatches;
    note("request " + std::to_string(number(r.id)) + " " + what);
  };
  std::int64_t tensors = 0;
  for (const log::TokenRow& row : header_.rows) tensors += row.alloc_units;
  if (static_cast<std::int64_t>(places.size()) != 2 * tensors)
    return wrong("names " + std::to_string(places.size()) + " numbers for the blocks of " +
                 std::to_string(tensors) + " tensors");
  std::int64_t sum = 0;
  std::size_t at = 0;
  for (const log::TokenRow& row : header_.rows) {
    for (std::int64_t i = 0; i < row.alloc_units; ++i, at += 2) {
      const std::int64_t address = places[at];
      const std::int64_t length = places[at + 1];
      sum += length;
      const std::string block =
          "[" + std::to_string(address) + ", " + std::to_string(address + length) + ") ";
      if (Wide{length} * header_.odd_alloc_unit_bytes < Wide{grant.tensor_tokens} * row.bytes)
        wrong("has a block " + block + "that is shorter than its tensor");
      if (length < 1 || address < 0 || address + length > kAddressSpaces * header_.alloc_units) {
        wrong("has a block " + block + "outside the pool's addresses");
        continue;
      }
      const auto above = taken_ranges_.lower_bound(address);
      const bool meets_above = above != taken_ranges_.end() && above->first < address + length;
      const bool meets_below =
          above != taken_ranges_.begin() && std::prev(above)->first + std::prev(above)->second > address;
      if (meets_above || meets_below) {
        wrong("has a block " + block + "that is partly held");
        continue;
      }
      taken_ranges_.emplace(address, length);
      byte_places_[r.id].push_back(static_cast<std::int32_t>(address));
    }
  }
  if (sum != grant.alloc_units)
    wrong("has blocks of " + std::to_string(sum) + " quanta, not " + std::to_string(grant.alloc_units));
}

}  // namespace kvplan::validator
