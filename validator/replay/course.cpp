#include "validator/replay/course.h"

#include <algorithm>
#include <climits>
#include <set>

#include "simulator/io/log/events.h"

namespace kvplan::validator {
namespace {

constexpr std::int32_t kNever = INT32_MAX;

}  // namespace

Course::Course(const Shape& shape) : s_(shape), n_(shape.prompt) {
  gone_at_.assign(at(s_.tracks), std::vector<std::int32_t>(at(s_.final_tokens), kNever));
  going_.assign(at(s_.tracks), std::vector<std::vector<std::int32_t>>(at(s_.final_tokens - s_.prompt)));
  if (s_.prompt == s_.final_tokens) place();
}

std::string Course::add(std::span<const std::int32_t> numbers) {
  for (const std::int32_t number : numbers) {
    if (complete_) return "drops after its last token";
    if (left_ < 0) {
      left_ = number;
      latest_ = -1;
      if (left_ > n_) return "drops " + std::to_string(number) + " of " + std::to_string(n_) + " tokens";
    } else {
      if (number <= latest_ || number >= n_)
        return "drops token " + std::to_string(number) + " out of order when " + std::to_string(n_) +
               " are written";
      std::int32_t& gone = gone_at_[at(track_)][at(number)];
      if (gone != kNever) return "drops token " + std::to_string(number) + " twice";
      gone = static_cast<std::int32_t>(n_);
      going_[at(track_)][at(n_ - s_.prompt)].push_back(number);
      latest_ = number;
      --left_;
    }
    if (left_ > 0) continue;
    left_ = -1;
    if (++track_ < s_.tracks) continue;
    track_ = 0;
    if (++n_ == s_.final_tokens) place();
  }
  return {};
}

/// Token by token: what goes, what is left over, where the next one is written.
void Course::place() {
  const std::int64_t blocks = (s_.final_tokens + s_.quantum_tokens - 1) / s_.quantum_tokens;
  std::vector<std::set<std::int32_t>> free(at(s_.tracks));
  std::vector<std::int64_t> kept(at(blocks), 0), used(at(blocks), 0);  // cells of all tracks
  slot_.assign(at(s_.tracks), std::vector<std::int32_t>(at(s_.final_tokens)));
  writers_.assign(at(s_.tracks), std::vector<std::vector<std::int32_t>>(at(s_.final_tokens)));
  std::vector<std::int32_t> next(at(s_.tracks), 0);  // the lowest slot never used
  const auto write = [&](std::int64_t track, std::int64_t token) {
    auto& places = free[at(track)];
    std::int32_t slot = next[at(track)];
    if (s_.reuse && !places.empty()) {
      slot = *places.begin();
      places.erase(places.begin());
    } else {
      ++next[at(track)];
      ++used[at(slot / s_.quantum_tokens)];
    }
    ++kept[at(slot / s_.quantum_tokens)];
    slot_[at(track)][at(token)] = slot;
    writers_[at(track)][at(slot)].push_back(static_cast<std::int32_t>(token));
  };
  for (std::int64_t token = 0; token < s_.prompt; ++token)
    for (std::int64_t track = 0; track < s_.tracks; ++track) write(track, token);
  for (std::int64_t n = s_.prompt; n < s_.final_tokens; ++n) {
    auto& over = let_go_.emplace_back();
    for (std::int64_t track = 0; track < s_.tracks; ++track) {
      for (const std::int32_t token : going_[at(track)][at(n - s_.prompt)]) {
        const std::int32_t slot = slot_[at(track)][at(token)];
        free[at(track)].insert(slot);
        const std::int64_t block = slot / s_.quantum_tokens;
        if (--kept[at(block)] == 0 && used[at(block)] == s_.tracks * s_.quantum_tokens && s_.returns_quanta)
          over.push_back(static_cast<std::int32_t>(block));
      }
    }
    std::sort(over.rbegin(), over.rend());
    for (const std::int32_t block : over)
      for (auto& places : free)
        std::erase_if(places, [&](std::int32_t slot) { return slot / s_.quantum_tokens == block; });
    for (std::int64_t track = 0; track < s_.tracks; ++track) write(track, n);
  }
  complete_ = true;
}

Mark Course::mark(std::int64_t track, std::int64_t slot, std::int64_t n) const {
  Mark mark{-1, 0, 0};
  if (slot >= s_.final_tokens) return mark;
  const auto& writers = writers_[at(track)][at(slot)];
  const auto next = std::lower_bound(writers.begin(), writers.end(), static_cast<std::int32_t>(n));
  mark.awaited = next != writers.end() ? 1 : 0;
  if (next == writers.begin()) return mark;
  const std::int32_t token = *std::prev(next);
  mark.offset = token * s_.tracks + track;
  mark.kept = gone_at_[at(track)][at(token)] > n ? 1 : 0;
  return mark;
}

std::uint64_t Course::kept_digest(std::int64_t n) const {
  std::uint64_t sum = 0;
  for (std::int64_t track = 0; track < s_.tracks; ++track) {
    for (std::int64_t i = 0; i < s_.final_tokens; ++i) {
      const Mark m = mark(track, i, n);
      if (m.kept != 0) sum += event_log::kept_term(m.offset / s_.tracks, track, s_.tracks);
    }
  }
  return sum;
}

}  // namespace kvplan::validator
