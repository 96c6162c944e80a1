#include "validator/replay/course.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "simulator/io/log/events.h"

namespace kvplan::validator {

Course::Course(const Shape& shape) : s_(shape), told_(shape.prompt, shape.final_tokens, shape.tracks) {
  if (told_.complete()) place();
}

std::string Course::add(std::span<const std::int32_t> numbers) {
  std::string wrong = told_.add(numbers);
  if (wrong.empty() && told_.complete()) place();
  return wrong;
}

/// Computes for each token in turn what is dropped, which slots become free, and where the next token is written.
void Course::place() {
  using Lowest = std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>>;
  const std::int64_t q = s_.alloc_unit_tokens;
  const std::int64_t blocks = (s_.final_tokens + q - 1) / q;
  std::vector<Lowest> free(at(s_.tracks));  // may contain slots of blocks that were freed
  std::vector<std::int32_t> next(at(s_.tracks), 0);
  const std::int64_t each = s_.tracks / s_.tables;
  const auto entry_of = [&](std::int64_t t, std::int64_t slot) { return slot / q * s_.tables + t / each; };
  // By entry, cells of all tracks:
  std::vector<std::int64_t> kept(at(blocks * s_.tables), 0), used(at(blocks * s_.tables), 0);
  std::vector<bool> went(at(blocks * s_.tables), false);
  tracks_.resize(at(s_.tracks));
  for (Track& track : tracks_) track.slot.resize(at(s_.final_tokens));
  const auto write = [&](std::int64_t t, std::int64_t token) {
    Lowest& places = free[at(t)];
    while (!places.empty() && went[at(entry_of(t, places.top()))]) places.pop();
    std::int32_t slot = next[at(t)];
    if (s_.reuse && !places.empty()) {
      slot = places.top();
      places.pop();
    } else {
      ++next[at(t)];
      ++used[at(entry_of(t, slot))];
    }
    ++kept[at(entry_of(t, slot))];
    tracks_[at(t)].slot[at(token)] = slot;
  };
  for (std::int64_t token = 0; token < s_.prompt; ++token)
    for (std::int64_t t = 0; t < s_.tracks; ++t) write(t, token);
  for (std::int64_t n = s_.prompt; n < s_.final_tokens; ++n) {
    auto& over = freed_.emplace_back();
    for (std::int64_t t = 0; t < s_.tracks; ++t) {
      if (!told_.tokens(t, n).empty()) first_drop_ = std::min(first_drop_, n);
      for (const std::int32_t token : told_.tokens(t, n)) {
        const std::int32_t slot = tracks_[at(t)].slot[at(token)];
        if (s_.reuse) free[at(t)].push(slot);
        const std::int64_t entry = entry_of(t, slot);
        if (--kept[at(entry)] == 0 && used[at(entry)] == each * q && s_.returns_alloc_units)
          over.push_back(static_cast<std::int32_t>(entry));
      }
    }
    std::sort(over.begin(), over.end(), [&](std::int32_t a, std::int32_t b) {
      return a % s_.tables != b % s_.tables ? a % s_.tables < b % s_.tables : a > b;
    });
    for (const std::int32_t entry : over) went[at(entry)] = true;
    for (std::int64_t t = 0; t < s_.tracks; ++t) write(t, n);
  }
  if (!s_.reuse) return;
  for (Track& track : tracks_) sort_by_slot(track);
}

void Course::sort_by_slot(Track& track) const {
  track.first_of.assign(at(s_.final_tokens + 1), 0);
  for (const std::int32_t slot : track.slot) ++track.first_of[at(slot + 1)];
  for (std::size_t slot = 1; slot < track.first_of.size(); ++slot)
    track.first_of[slot] += track.first_of[slot - 1];
  track.written.resize(track.slot.size());
  std::vector<std::int32_t> end = track.first_of;
  for (std::size_t token = 0; token < track.slot.size(); ++token)
    track.written[at(end[at(track.slot[token])]++)] = static_cast<std::int32_t>(token);
}

std::int64_t Course::slots_written(std::int64_t n) const {
  std::int64_t slots = 0;
  for (const Track& track : tracks_)
    for (std::int64_t token = 0; token < n; ++token)
      slots = std::max<std::int64_t>(slots, track.slot[at(token)] + 1);
  return slots;
}

Course::Written Course::written(const Track& track, std::int64_t slot, std::int64_t n) const {
  if (!s_.reuse) return {slot < n ? slot : -1, slot >= n};  // every token in its own slot
  const auto first = track.written.begin() + track.first_of[at(slot)];
  const auto last = track.written.begin() + track.first_of[at(slot + 1)];
  const auto next = std::lower_bound(first, last, static_cast<std::int32_t>(n));
  return {next == first ? -1 : *std::prev(next), next != last};
}

void Course::marks(std::int64_t t, std::int64_t first, std::int64_t n, std::span<Mark> marks) const {
  const Track& track = tracks_[at(t)];
  const bool all_stay = s_.prompt == s_.final_tokens;
  const std::span<const std::int32_t> gone_at = all_stay ? std::span<const std::int32_t>() : told_.gone_at(t);
  for (std::int64_t i = 0; i < std::ssize(marks); ++i) {
    Mark& mark = marks[at(i)];
    mark = {-1, 0, 0};
    if (first + i >= s_.final_tokens) continue;
    const Written found = written(track, first + i, n);
    mark.awaited = found.awaited ? 1 : 0;
    if (found.token < 0) continue;
    mark.offset = found.token * s_.tracks + t;
    mark.kept = all_stay || gone_at[at(found.token)] > n ? 1 : 0;
  }
}

std::uint64_t Course::kept_digest(std::int64_t n) const {
  std::uint64_t sum = 0;
  std::vector<Mark> all(at(s_.final_tokens));
  for (std::int64_t t = 0; t < s_.tracks; ++t) {
    marks(t, 0, n, all);
    for (const Mark& m : all)
      if (m.kept != 0) sum += event_log::kept_term(m.offset / s_.tracks, t, s_.tracks);
  }
  return sum;
}

}  // namespace kvplan::validator
