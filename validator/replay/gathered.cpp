#include "validator/replay/gathered.h"

#include <algorithm>
#include <utility>

#include "simulator/io/log/events.h"

namespace kvplan::validator {

Gathered::Gathered(const Shape& shape)
    : s_(shape),
      told_(shape.prompt, shape.final_tokens, shape.tracks),
      slots_(at(shape.tables), 0),
      cells_(at(shape.tracks)),
      slot_of_(at(shape.tracks)) {
  if (!s_.counted)
    for (auto& slots : slot_of_) slots.resize(at(s_.final_tokens));
}

std::int64_t Gathered::most_kept(std::int64_t table, std::int64_t n) const {
  if (n < s_.prompt || n >= s_.final_tokens) return slots(table) + n - written_;  // nothing is dropped
  std::int64_t least_gone = n;
  for (std::int64_t t = first_track(table); t < first_track(table + 1); ++t)
    least_gone = std::min(least_gone, told_.gone(t, n));
  return n - least_gone;
}

Mark Gathered::mark(std::int64_t track, std::int64_t slot) const {
  const std::int64_t behind = slot - slots(table_of(track));
  if (behind >= 0) return {-1, 0, behind < s_.final_tokens - written_ ? 1 : 0};
  const Cell& cell = cells_[at(track)][at(slot)];
  return {cell.token * s_.tracks + track, cell.kept ? 1 : 0, 0};
}

std::int64_t Gathered::kept(std::int64_t track) const {
  const auto& cells = cells_[at(track)];
  return std::count_if(cells.begin(), cells.end(), [](const Cell& cell) { return cell.kept; });
}

std::uint64_t Gathered::kept_digest() const {
  std::uint64_t sum = 0;
  for (std::int64_t t = 0; t < s_.tracks; ++t)
    for (const Cell& cell : cells_[at(t)])
      if (cell.kept) sum += event_log::kept_term(cell.token, t, s_.tracks);
  return sum;
}

const std::vector<Gathered::Place>& Gathered::plan(std::int64_t tokens) {
  dropping_.clear();
  planned_ = tokens;
  for (std::int64_t t = 0; t < s_.tracks; ++t) {
    if (s_.counted) {
      plan_some(t, tokens);
      continue;
    }
    const std::int64_t behind = slots(table_of(t)) - written_;
    for (std::int64_t n = written_ + 1; n <= written_ + tokens; ++n) {
      if (n < s_.prompt || n >= s_.final_tokens) continue;
      for (const std::int32_t token : told_.tokens(t, n))
        dropping_.push_back({t, token < written_ ? slot_of_[at(t)][at(token)] : token + behind});
    }
  }
  return dropping_;
}

/// Chooses any of the kept tokens, each equally likely.
void Gathered::plan_some(std::int64_t track, std::int64_t tokens) {
  const auto gone = [&](std::int64_t n) {
    return n < s_.prompt ? 0 : told_.gone(track, std::min(n, s_.final_tokens - 1));
  };
  if (s_.prompt == s_.final_tokens || gone(written_ + tokens) == gone(written_)) return;
  std::vector<std::int64_t> left;
  const auto& cells = cells_[at(track)];
  const std::int64_t end = slots(table_of(track));
  for (std::int64_t slot = 0; slot < end; ++slot)
    if (cells[at(slot)].kept) left.push_back(slot);
  for (std::int64_t n = written_ + 1; n <= written_ + tokens; ++n) {
    left.push_back(end + n - 1 - written_);
    for (std::int64_t count = gone(n) - gone(n - 1); count > 0; --count) {
      const std::uint64_t drawn = mix(mix(s_.seed + static_cast<std::uint64_t>(track)) +
                                      static_cast<std::uint64_t>(n * s_.final_tokens + count));
      std::swap(left[drawn % left.size()], left.back());
      dropping_.push_back({track, left.back()});
      left.pop_back();
    }
  }
}

void Gathered::commit() {
  for (std::int64_t i = 0; i < planned_; ++i) {
    for (std::int64_t t = 0; t < s_.tracks; ++t) {
      cells_[at(t)].push_back({static_cast<std::int32_t>(written_), true});
      if (!s_.counted) slot_of_[at(t)][at(written_)] = static_cast<std::int32_t>(slots(table_of(t)));
    }
    ++written_;
    for (std::int64_t& slots : slots_) ++slots;
  }
  for (const Place& place : dropping_) cells_[at(place.track)][at(place.slot)].kept = false;
}

std::vector<Gathered::Extent> Gathered::gather(std::int64_t table) {
  std::vector<Extent> moves;
  const std::int64_t slots = slots_kept(table);
  for (std::int64_t t = first_track(table); t < first_track(table + 1); ++t) {
    auto& cells = cells_[at(t)];
    std::int64_t to = 0;
    for (std::int64_t from = 0; from < slots_[at(table)]; ++from) {
      if (!cells[at(from)].kept) continue;
      cells[at(to)] = cells[at(from)];
      if (!s_.counted) slot_of_[at(t)][at(cells[at(to)].token)] = static_cast<std::int32_t>(to);
      const bool goes_on = !moves.empty() && moves.back().track == t &&
                           moves.back().from + moves.back().cells == from &&
                           moves.back().to + moves.back().cells == to;
      if (goes_on) {
        ++moves.back().cells;
      } else if (from != to) {
        moves.push_back({t, from, to, 1});
      }
      ++to;
    }
    // Cells left after the move are still in memory, but no request owns them.
    for (std::int64_t slot = to; slot < slots; ++slot) cells[at(slot)].kept = false;
    cells.resize(at(slots));
  }
  slots_[at(table)] = slots;
  return moves;
}

}  // namespace kvplan::validator
